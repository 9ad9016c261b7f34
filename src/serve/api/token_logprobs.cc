#include "serve/api/token_logprobs.h"

#include "base/utf8.h"
#include "serve/api/openai_reply.h"

namespace inferens {
namespace {

void write_token(JsonWriter& json, const TokenLogprob& token) {
  json.field("token", repair_utf8(token.bytes)).field("logprob", told_logprob(token.logprob)).key("bytes").begin_array();
  for (const char c : token.bytes) json.integer(static_cast<unsigned char>(c));
  json.end_array();
}

}  // namespace

void write_token_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions, NoTopLogprobs none) {
  json.begin_array();
  for (const PositionLogprobs& p : positions) {
    json.begin_object();
    write_token(json, p.chosen);
    if (!p.top.empty() || none == NoTopLogprobs::kEmptyArray) {
      json.key("top_logprobs").begin_array();
      for (const TokenLogprob& t : p.top) {
        json.begin_object();
        write_token(json, t);
        json.end_object();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace inferens
