// Gemini's cachedContents, on /v1 and /v1beta: made by computing their tokens once, and pinned until they expire.
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "engine/engine.h"
#include "serve/api/gemini_call.h"
#include "serve/api/generate.h"
#include "serve/api/messages.h"
#include "serve/api/openai_call.h"
#include "serve/cached_contents.h"
#include "serve/json_writer.h"
#include "serve/query.h"
#include "serve/time_text.h"

namespace inferens {
namespace {

constexpr std::string_view kCollection = "cachedContents";
constexpr int64_t kDefaultTtl = 3600;
constexpr int64_t kLongestTtl = 30 * 86'400;

struct CacheCall {
  CachedContent content;
  std::optional<int64_t> ttl;      // seconds
  std::optional<int64_t> expires;  // Unix seconds
};
using CacheField = Field<CacheCall>;

Refusal take_model(Json value, CacheCall& call) {
  constexpr std::string_view kPrefix = "models/";
  call.content.model = text_of(value);
  if (call.content.model.starts_with(kPrefix)) call.content.model.erase(0, kPrefix.size());
  return {};
}

// "300s", "1.5s"
Refusal take_ttl(Json value, CacheCall& call) {
  const std::string_view text = text_of(value);
  double seconds = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  if (end.ec != std::errc() || std::string_view(end.ptr, text.data() + text.size()) != "s" || seconds <= 0 || seconds > static_cast<double>(kLongestTtl)) {
    return bad_field("", "invalid_value", "'ttl' must be a duration in seconds such as \"300s\", of at most 30 days");
  }
  call.ttl = static_cast<int64_t>(std::ceil(seconds));
  return {};
}

Refusal take_expiry(Json value, CacheCall& call) {
  call.expires = parse_rfc3339(text_of(value));
  if (call.expires) return {};
  return bad_field("", "invalid_value", "'expireTime' must be a time such as \"2026-12-01T09:30:00Z\"");
}

constexpr CacheField kUpdateFields[] = {
    {{.name = "ttl", .kinds = kString}, take_ttl},
    {{.name = "expireTime", .kinds = kString}, take_expiry},
};
constexpr CacheField kCreateFields[] = {
    {{.name = "model", .kinds = kString, .required = true}, take_model},
    {{.name = "contents", .kinds = kArray | kObject}, [](Json v, CacheCall& c) -> Refusal { return take_gemini_contents(v, "contents", c.content.contents); }},
    {{.name = "systemInstruction", .kinds = kObject | kString}, [](Json v, CacheCall& c) -> Refusal { return take_gemini_text(v, "systemInstruction", c.content.system); }},
    {{.name = "displayName", .kinds = kString}, [](Json v, CacheCall& c) -> Refusal { c.content.display_name = text_of(v); return {}; }},
    {{.name = "tools", .treatment = Treatment::kRefuse, .note = "tool calls are not offered yet", .harmless = "[]"}},
    {{.name = "toolConfig", .treatment = Treatment::kRefuse, .note = "tool calls are not offered yet", .harmless = "{}"}},
};

Refusal parse(const ApiContext& api, const HttpRequest& request, std::span<const std::span<const CacheField>> tables, CacheCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(request.body)) return r;
  if (Refusal r = parse_fields<CacheCall>(body.root(), tables, "", api.lenient, call, camel_case)) return r;
  if (call.ttl && call.expires) return bad_field("ttl", "invalid_value", "'ttl' and 'expireTime' say the same thing; give one of them");
  const int64_t now = system_clock().unix_seconds();
  call.content.expires = call.expires.value_or(now + call.ttl.value_or(kDefaultTtl));
  if (call.content.expires > now && call.content.expires <= now + kLongestTtl) return {};
  return bad_field("expireTime", "invalid_value", "'expireTime' must lie ahead, by at most 30 days");
}

void write_content(JsonWriter& json, const CachedContent& content) {
  json.begin_object().field("name", content.name).field("model", "models/" + content.model);
  if (!content.display_name.empty()) json.field("displayName", content.display_name);
  json.field("createTime", rfc3339(content.created)).field("updateTime", rfc3339(content.updated)).field("expireTime", rfc3339(content.expires));
  json.key("usageMetadata").begin_object().field("totalTokenCount", static_cast<int64_t>(content.tokens.size())).end_object().end_object();
}

void pin(Generator& generator, const CachedContent& content, int64_t now) {
  generator.engine().pin_prefix(content.key_id, "", content.tokens, (content.expires - now) * 1'000'000'000);
}

// Waits until the tokens are computed, and keeps them then.
class CacheFill final : public EventTranslator {
 public:
  CacheFill(CachedContents& contents, CachedContent content, ModelLease model) : contents_(contents), content_(std::move(content)), model_(std::move(model)) {}
  ~CacheFill() override {
    if (!ended_) contents_.erase(content_.name, content_.key_id);
  }
  CacheFill(const CacheFill&) = delete;
  CacheFill& operator=(const CacheFill&) = delete;

  void event(RunEvent&&, std::string&) override { pin(*model_->generator, content_, system_clock().unix_seconds()); }
  void end(const RunTotals&, std::string& out) override {
    ended_ = true;
    JsonWriter json(out);
    write_content(json, content_);
  }
  std::string failure(const ApiError& error) const override { return error_body(error, {Dialect::kGemini, {}}); }
  std::string heartbeat() const override { return {}; }

 private:
  CachedContents& contents_;
  CachedContent content_;
  ModelLease model_;
  bool ended_ = false;
};

Refusal prepare(ApiContext& api, const HttpRequest& http, CachedContent content, const ModelLease& model, Generation& out) {
  ChatPrompt prompt;
  if (!content.system.empty()) prompt.messages.push_back(text_message("system", content.system));
  prompt.messages.insert(prompt.messages.end(), content.contents.begin(), content.contents.end());
  if (prompt.messages.empty()) return bad_field("contents", "missing_required_parameter", "give 'contents' or 'systemInstruction'");
  if (Refusal r = check_messages_against(*model->generator, prompt)) return r;
  prompt.add_generation_prompt = false;
  GenerationRequest request;
  request.max_tokens = 0;
  request.prompt = std::move(prompt);
  StatusOr<std::vector<TokenId>> tokens = model->generator->prompt_tokens(request);
  if (!tokens.ok()) return to_api_error(tokens.status());
  const int64_t now = system_clock().unix_seconds();
  content.name = std::string(kCollection) + "/" + http.id;
  content.key_id = http.key_id;
  content.model = model->name;
  content.tokens = std::move(*tokens);
  content.created = content.updated = now;
  if (const Status kept = api.cached_contents.put(content, now); !kept.ok()) return to_api_error(kept);
  out.requests.push_back(std::move(request));
  out.translator = std::make_unique<CacheFill>(api.cached_contents, std::move(content), model);
  return {};
}

// "cachedContents/ID" of the path.
std::string name_of(const HttpRequest& request) { return request.path.substr(request.path.find(kCollection)); }

std::unique_ptr<Answer> not_there(const std::string& name, const ErrorForm& form) {
  return refuse({.http = 404, .code = "not_found", .message = "CachedContent '" + repair_utf8(name.substr(0, 128)) + "' not found, or expired"}, form);
}

std::unique_ptr<Answer> told(const CachedContent& content) {
  HttpResponse response;
  JsonWriter json(response.body);
  write_content(json, content);
  return whole(std::move(response));
}

}  // namespace

void gemini_create_cache(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  static constexpr std::span<const CacheField> kTables[] = {kCreateFields, kUpdateFields};
  auto call = std::make_shared<CacheCall>();
  if (Refusal r = parse(api, request, kTables, *call)) return respond(refuse(*r, request.error_form()));
  generate(api, request, call->content.model, [&api, call, http = without_body(request)](const ModelLease& model, Generation& out) { return prepare(api, http, call->content, model, out); }, respond);
}

void gemini_list_caches(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().key("cachedContents").begin_array();
  for (const CachedContent& content : api.cached_contents.list(request.key_id, system_clock().unix_seconds())) write_content(json, content);
  json.end_array().end_object();
  respond(whole(std::move(response)));
}

void gemini_show_cache(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  const std::optional<CachedContent> content = api.cached_contents.find(name_of(request), request.key_id, system_clock().unix_seconds());
  respond(content ? told(*content) : not_there(name_of(request), request.error_form()));
}

void gemini_update_cache(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  static constexpr std::span<const CacheField> kTables[] = {kUpdateFields};
  CacheCall call;
  if (Refusal r = parse(api, request, kTables, call)) return respond(refuse(*r, request.error_form()));
  const int64_t now = system_clock().unix_seconds();
  const std::string name = name_of(request);
  api.cached_contents.set_expiry(name, request.key_id, call.content.expires, now);
  const std::optional<CachedContent> content = api.cached_contents.find(name, request.key_id, now);
  if (!content) return respond(not_there(name, request.error_form()));
  for (const ModelLease& model : api.registry.loaded()) {
    if (model->name == content->model) pin(*model->generator, *content, now);
  }
  respond(told(*content));
}

void gemini_delete_cache(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  if (!api.cached_contents.erase(name_of(request), request.key_id)) return respond(not_there(name_of(request), request.error_form()));
  HttpResponse response;
  response.body = "{}";
  respond(whole(std::move(response)));
}

}  // namespace inferens
