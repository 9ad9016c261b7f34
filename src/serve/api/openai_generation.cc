#include "serve/api/openai_generation.h"

#include "base/utf8.h"
#include "serve/api/generate.h"
#include "serve/api/openai_reply.h"
#include "serve/sse.h"

namespace inferens {
namespace {

void write_ranked(JsonWriter& json, const TokenLogprob& token, int32_t rank) {
  json.key(std::to_string(token.token)).begin_object().field("logprob", told_logprob(token.logprob)).field("rank", rank);
  json.field("decoded_token", repair_utf8(token.bytes)).end_object();
}

}  // namespace

void generate_answer(ApiContext& api, const HttpRequest& request, std::shared_ptr<OpenAiCall> call, CheckCall check,
                     MakeTranslator translator, const Respond& respond) {
  const std::string name = call->model;
  generate(api, request, name, [http = without_body(request), call, check, translator](const ModelLease& model, Generation& out) -> Refusal {
    if (check != nullptr) {
      if (Refusal r = check(*call, *model)) return r;
    }
    out.translator = translator(http, *call, *model);
    if (call->stream) out.stream_type = kSseContentType;
    out.requests = engine_requests(*call);
    return {};
  }, respond);
}

void write_prompt_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions) {
  json.begin_array();
  for (const PositionLogprobs& p : positions) {
    if (p.rank == 0) {
      json.null();
      continue;
    }
    json.begin_object();
    int32_t rank = 0;
    bool chosen_among_top = false;
    for (const TokenLogprob& t : p.top) {
      write_ranked(json, t, ++rank);
      chosen_among_top |= t.token == p.chosen.token;
    }
    if (!chosen_among_top) write_ranked(json, p.chosen, p.rank);
    json.end_object();
  }
  json.end_array();
}

}  // namespace inferens
