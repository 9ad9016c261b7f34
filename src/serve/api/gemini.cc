// Gemini's models/NAME:verb and models, on /v1 and /v1beta.
#include <algorithm>

#include "serve/api/gemini_call.h"
#include "serve/api/gemini_embed.h"
#include "serve/api/gemini_reply.h"
#include "serve/api/generate.h"
#include "serve/api/messages.h"
#include "serve/api/openai_call.h"
#include "serve/cached_contents.h"
#include "serve/json_writer.h"
#include "serve/query.h"
#include "serve/sse.h"

namespace inferens {
namespace {

constexpr int64_t kPageSize = 50;

// What follows "models/" in the path, decoded.
std::string path_end(const HttpRequest& request) {
  constexpr std::string_view kModels = "/models/";
  return percent_decoded(request.path.substr(request.path.find(kModels) + kModels.size())).value_or("");
}

Refusal prompt_of(const Generator& generator, GeminiCall& call, GenerationRequest& request) {
  ChatPrompt prompt;
  if (!call.system.empty()) prompt.messages.push_back(text_message("system", call.system));
  prompt.messages.insert(prompt.messages.end(), call.contents.begin(), call.contents.end());
  if (Refusal r = check_messages_against(generator, prompt)) return r;
  request.prompt = std::move(prompt);
  return {};
}

// What a cachedContents object begins the prompt with.
Refusal use_cached(ApiContext& api, const HttpRequest& request, const std::string& model, GeminiCall& call) {
  if (call.cached_content.empty()) return {};
  std::optional<CachedContent> cached = api.cached_contents.find(call.cached_content, request.key_id, system_clock().unix_seconds());
  if (!cached) return ApiError{.http = 404, .code = "not_found", .param = "cachedContent", .message = "CachedContent '" + call.cached_content.substr(0, 128) + "' not found, or expired"};
  if (cached->model != model) return bad_field("cachedContent", "invalid_value", "'cachedContent' was made for the model '" + cached->model + "'");
  call.system = std::move(cached->system);
  call.contents.insert(call.contents.begin(), cached->contents.begin(), cached->contents.end());
  return {};
}

void generate_content(ApiContext& api, const HttpRequest& request, const std::string& model, GeminiForm form, const Respond& respond) {
  auto call = std::make_shared<GeminiCall>();
  Refusal r = parse_gemini_call(request.body, api.lenient, *call);
  if (!r) r = use_cached(api, request, model, *call);
  if (r) return respond(refuse(*r, request.error_form()));
  generate(api, request, model, [call, form, id = request.id](const ModelLease& lease, Generation& out) -> Refusal {
    GenerationRequest one = call->base;
    if (Refusal bad = prompt_of(*lease->generator, *call, one)) return bad;
    const StatusOr<std::vector<TokenId>> tokens = lease->generator->prompt_tokens(one);
    if (!tokens.ok()) return to_api_error(tokens.status());
    out.translator = make_gemini_translator({form, id, lease->name, static_cast<int32_t>(tokens->size()), call->logprobs});
    if (form == GeminiForm::kEvents) out.stream_type = kSseContentType;
    if (form == GeminiForm::kArray) out.stream_type = "application/json";
    out.requests.push_back(std::move(one));
    return {};
  }, respond);
}

// {contents} or {generateContentRequest: {…}}.
Refusal parse_count(const HttpRequest& request, bool lenient, GeminiCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(request.body)) return r;
  simdjson::dom::object inner;
  for (const char* name : {"generateContentRequest", "generate_content_request"}) {
    if (body.root()[name].get(inner) != simdjson::SUCCESS) continue;
    if (body.root().size() > 1) return bad_field(name, "invalid_value", std::string("'") + name + "' must stand alone");
    return parse_gemini_fields(inner, lenient, std::string(name) + ".", call);
  }
  return parse_gemini_fields(body.root(), lenient, "", call);
}

void count_tokens(ApiContext& api, const HttpRequest& request, const std::string& model, const Respond& respond) {
  auto call = std::make_shared<GeminiCall>();
  Refusal r = parse_count(request, api.lenient, *call);
  if (!r) r = use_cached(api, request, model, *call);
  if (r) return respond(refuse(*r, request.error_form()));
  with_model(api, request, model, [call, form = request.error_form()](const ModelLease& lease) {
    GenerationRequest one;
    if (Refusal bad = prompt_of(*lease->generator, *call, one)) return refuse(*bad, form);
    const StatusOr<std::vector<TokenId>> tokens = lease->generator->prompt_tokens(one);
    if (!tokens.ok()) return refuse(to_api_error(tokens.status()), form);
    const auto count = static_cast<int64_t>(tokens->size());
    HttpResponse response;
    JsonWriter json(response.body);
    json.begin_object().field("totalTokens", count).key("promptTokensDetails").begin_array().begin_object();
    json.field("modality", "TEXT").field("tokenCount", count).end_object().end_array().end_object();
    return whole(std::move(response));
  }, respond);
}

void write_model(JsonWriter& json, const ModelStatus& model, const std::vector<ModelLease>& loaded) {
  json.begin_object().field("name", "models/" + model.name).field("baseModelId", model.name).field("version", "001").field("displayName", model.name);
  // Limits are known once the model is in memory.
  const auto lease = std::find_if(loaded.begin(), loaded.end(), [&](const ModelLease& l) { return l->name == model.name; });
  if (lease != loaded.end()) {
    const int32_t context = (*lease)->generator->model_info().context;
    json.field("inputTokenLimit", context).field("outputTokenLimit", context);
  }
  json.key("supportedGenerationMethods").begin_array();
  for (const char* verb : {"generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents"}) json.string(verb);
  json.end_array().end_object();
}

}  // namespace

void gemini_act(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  const std::string target = path_end(request);
  // Names may hold colons themselves.
  const size_t colon = target.rfind(':');
  const std::string verb = colon == std::string::npos ? "" : target.substr(colon + 1);
  const std::string model = target.substr(0, std::min(colon, target.size()));
  const std::string alt = query_value(request.query, "alt").value_or("");
  if (verb == "generateContent") return generate_content(api, request, model, GeminiForm::kWhole, respond);
  if (verb == "streamGenerateContent") return generate_content(api, request, model, alt == "sse" ? GeminiForm::kEvents : GeminiForm::kArray, respond);
  if (verb == "countTokens") return count_tokens(api, request, model, respond);
  if (verb == "embedContent" || verb == "batchEmbedContents") return gemini_embed(api, request, model, verb == "batchEmbedContents", respond);
  respond(refuse({.http = 404, .code = "not_found", .message = "models have no method of this name here; they have generateContent, streamGenerateContent, countTokens, embedContent and batchEmbedContents"}, request.error_form()));
}

void gemini_list_models(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  const std::string after = query_value(request.query, "pageToken").value_or("");
  int64_t size = kPageSize;
  if (Refusal r = take_query_number(request.query, "pageSize", 1, 1000, size)) return respond(refuse(*r, request.error_form()));
  const std::vector<ModelLease> loaded = api.registry.loaded();
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().key("models").begin_array();
  std::string last;
  int64_t written = 0;
  bool more = false;
  for (const ModelStatus& model : api.registry.models()) {
    if (!after.empty() && model.name <= after) continue;
    more = written == size;
    if (more) break;
    write_model(json, model, loaded);
    last = model.name;
    ++written;
  }
  json.end_array();
  if (more) json.field("nextPageToken", last);
  json.end_object();
  respond(whole(std::move(response)));
}

void gemini_show_model(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  const std::string name = path_end(request);
  for (const ModelStatus& model : api.registry.models()) {
    if (model.name != name) continue;
    HttpResponse response;
    JsonWriter json(response.body);
    write_model(json, model, api.registry.loaded());
    return respond(whole(std::move(response)));
  }
  respond(refuse(model_not_found(name), request.error_form()));
}

}  // namespace inferens
