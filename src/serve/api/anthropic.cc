// Anthropic's POST /v1/messages and /v1/messages/count_tokens, GET /v1/models and /v1/models/{id}.
#include <algorithm>

#include "engine/engine.h"
#include "serve/api/anthropic_call.h"
#include "serve/api/generate.h"
#include "serve/api/openai_call.h"
#include "serve/json_writer.h"
#include "serve/query.h"
#include "serve/sse.h"
#include "serve/time_text.h"

namespace inferens {
namespace {

constexpr int32_t kPageTokens = 64;  // prefixes are kept by whole pages
constexpr Nanos kOneHour = 3600 * 1'000'000'000LL;
constexpr std::string_view kPing = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

// A prefix of the prompt to be kept for a time.
struct PinnedPrefix {
  std::vector<TokenId> tokens;
  Nanos ttl = 0;
};

struct Frame {
  std::string id;
  std::string model;
  std::string api_key_id;
  int32_t prompt_tokens = 0;
  std::vector<PinnedPrefix> pins;  // in order of the prompt
};

struct Usage {
  int32_t input = 0;
  int32_t output = 0;
  int32_t cache_read = 0;
  int32_t created_5m = 0;
  int32_t created_1h = 0;
};

// Prompt tokens are counted once each: found in the cache, put there on the client's word, or neither.
Usage usage_of(const Frame& frame, const TokenUsage& counted) {
  Usage usage;
  usage.output = counted.completion_tokens;
  usage.cache_read = counted.cached_tokens;
  int32_t covered = counted.cached_tokens;
  for (const PinnedPrefix& pin : frame.pins) {
    const auto kept = static_cast<int32_t>(pin.tokens.size()) / kPageTokens * kPageTokens;
    if (kept <= covered) continue;
    (pin.ttl >= kOneHour ? usage.created_1h : usage.created_5m) += kept - covered;
    covered = kept;
  }
  usage.input = std::max(0, counted.prompt_tokens - covered);
  return usage;
}

void write_usage(JsonWriter& json, const Usage& usage) {
  json.key("usage").begin_object().field("input_tokens", usage.input).field("cache_creation_input_tokens", usage.created_5m + usage.created_1h);
  json.field("cache_read_input_tokens", usage.cache_read).key("cache_creation").begin_object();
  json.field("ephemeral_5m_input_tokens", usage.created_5m).field("ephemeral_1h_input_tokens", usage.created_1h).end_object();
  json.field("output_tokens", usage.output).null_field("server_tool_use").field("service_tier", "standard").end_object();
}

void write_stop(JsonWriter& json, FinishReason finish, const std::string& sequence) {
  const bool by_sequence = finish == FinishReason::kStop && !sequence.empty();
  json.field("stop_reason", finish == FinishReason::kLength ? "max_tokens" : by_sequence ? "stop_sequence" : "end_turn");
  by_sequence ? json.field("stop_sequence", sequence) : json.null_field("stop_sequence");
}

void open_message(JsonWriter& json, const Frame& frame) {
  json.begin_object().field("id", frame.id).field("type", "message").field("role", "assistant").field("model", frame.model);
}

// What both ways of answering remember of the events.
class MessageTranslator : public EventTranslator {
 public:
  MessageTranslator(Frame frame, ModelLease model) : frame_(std::move(frame)), model_(std::move(model)) {}

 protected:
  void see(const GenerationEvent& event) {
    if (event.kind != GenerationEvent::Kind::kFinished) return;
    finish_ = event.finish;
    stop_sequence_ = event.stop_reason;
    // The prompt is computed and its pages are known now; they must stay when this answer lets go of them.
    for (const PinnedPrefix& pin : frame_.pins) model_->generator->engine().pin_prefix(frame_.api_key_id, "", pin.tokens, pin.ttl);
  }

  Frame frame_;
  ModelLease model_;
  FinishReason finish_ = FinishReason::kStop;
  std::string stop_sequence_;
};

class MessageStream final : public MessageTranslator {
 public:
  using MessageTranslator::MessageTranslator;

  std::string opening() override {
    // What of the prompt was cached is known at the end, and told in message_delta.
    std::string text;
    JsonWriter json(text);
    json.begin_object().field("type", "message_start").key("message");
    open_message(json, frame_);
    json.key("content").begin_array().end_array().null_field("stop_reason").null_field("stop_sequence").null_field("stop_details");
    write_usage(json, {.input = frame_.prompt_tokens});
    json.end_object().end_object();
    return sse_event("message_start", text);
  }

  void event(RunEvent&& e, std::string& out) override {
    see(e.event);
    if (e.event.kind != GenerationEvent::Kind::kText || e.event.text.empty()) return;
    if (!std::exchange(block_open_, true)) {
      out += sse_event("content_block_start", R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
    }
    std::string text;
    JsonWriter json(text);
    json.begin_object().field("type", "content_block_delta").field("index", 0).key("delta").begin_object();
    json.field("type", "text_delta").field("text", e.event.text).end_object().end_object();
    out += sse_event("content_block_delta", text);
  }

  void end(const RunTotals& totals, std::string& out) override {
    if (block_open_) out += sse_event("content_block_stop", R"({"type":"content_block_stop","index":0})");
    std::string text;
    JsonWriter json(text);
    json.begin_object().field("type", "message_delta").key("delta").begin_object();
    write_stop(json, finish_, stop_sequence_);
    json.null_field("stop_details").end_object();
    write_usage(json, usage_of(frame_, totals.usage));
    json.end_object();
    out += sse_event("message_delta", text) + sse_event("message_stop", R"({"type":"message_stop"})");
  }

  std::string failure(const ApiError& error) const override { return sse_event("error", error_body(error, {Dialect::kAnthropic, frame_.id.substr(sizeof("msg_") - 1)})); }
  std::string heartbeat() const override { return std::string(kPing); }

 private:
  bool block_open_ = false;
};

class MessageWhole final : public MessageTranslator {
 public:
  using MessageTranslator::MessageTranslator;

  void event(RunEvent&& e, std::string&) override {
    see(e.event);
    if (e.event.kind == GenerationEvent::Kind::kText) text_ += e.event.text;
  }

  void end(const RunTotals& totals, std::string& out) override {
    JsonWriter json(out);
    open_message(json, frame_);
    json.key("content").begin_array();
    if (!text_.empty()) json.begin_object().field("type", "text").field("text", text_).null_field("citations").end_object();
    json.end_array();
    write_stop(json, finish_, stop_sequence_);
    json.null_field("stop_details");
    write_usage(json, usage_of(frame_, totals.usage));
    json.end_object();
  }

  std::string failure(const ApiError& error) const override { return error_body(error, {Dialect::kAnthropic, {}}); }
  std::string heartbeat() const override { return {}; }

 private:
  std::string text_;
};

// The tokens up to a cache point: those that the prompt cut there has in common with the whole one.
PinnedPrefix prefix_at(const Generator& generator, const AnthropicCall& call, const CachePoint& point, const std::vector<TokenId>& all) {
  GenerationRequest cut;
  ChatPrompt prompt;
  prompt.messages.assign(call.messages.begin(), call.messages.begin() + static_cast<ptrdiff_t>(point.message) + 1);
  prompt.messages.back().content.resize(point.length);
  prompt.add_generation_prompt = false;
  cut.prompt = std::move(prompt);
  PinnedPrefix pin{.tokens = {}, .ttl = point.ttl};
  // Some templates refuse a prompt that ends there; such a point keeps nothing.
  const StatusOr<std::vector<TokenId>> tokens = generator.prompt_tokens(cut);
  if (!tokens.ok()) return pin;
  const auto end = std::mismatch(tokens->begin(), tokens->end(), all.begin(), all.end()).second;
  pin.tokens.assign(all.begin(), end);
  return pin;
}

Refusal prepare(const HttpRequest& http, AnthropicCall& call, const ModelLease& model, Generation& out) {
  const Generator& generator = *model->generator;
  GenerationRequest request = call.base;
  ChatPrompt prompt = anthropic_prompt(call.messages);
  if (Refusal r = check_messages_against(generator, prompt)) return r;
  request.prompt = std::move(prompt);
  const StatusOr<std::vector<TokenId>> tokens = generator.prompt_tokens(request);
  if (!tokens.ok()) return to_api_error(tokens.status());
  Frame frame{.id = "msg_" + http.id, .model = model->name, .api_key_id = http.key_id, .prompt_tokens = static_cast<int32_t>(tokens->size()), .pins = {}};
  for (const CachePoint& point : call.points) frame.pins.push_back(prefix_at(generator, call, point, *tokens));
  out.requests.push_back(std::move(request));
  if (call.stream) {
    out.stream_type = kSseContentType;
    out.translator = std::make_unique<MessageStream>(std::move(frame), model);
  } else {
    out.translator = std::make_unique<MessageWhole>(std::move(frame), model);
  }
  return {};
}

std::unique_ptr<Answer> counted(const AnthropicCall& call, const Generator& generator, const ErrorForm& form) {
  GenerationRequest request;
  ChatPrompt prompt = anthropic_prompt(call.messages);
  if (Refusal r = check_messages_against(generator, prompt)) return refuse(*r, form);
  request.prompt = std::move(prompt);
  const StatusOr<std::vector<TokenId>> tokens = generator.prompt_tokens(request);
  if (!tokens.ok()) return refuse(to_api_error(tokens.status()), form);
  HttpResponse response;
  JsonWriter(response.body).begin_object().field("input_tokens", static_cast<int64_t>(tokens->size())).end_object();
  return whole(std::move(response));
}

void write_model(JsonWriter& json, const ModelStatus& model) {
  json.begin_object().field("type", "model").field("id", model.name).field("display_name", model.name);
  json.field("created_at", rfc3339(model.created)).field("lifecycle", "active").end_object();
}

}  // namespace

void anthropic_messages(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<AnthropicCall>();
  if (Refusal r = parse_anthropic_call(request, anthropic_message_tables(), api.lenient, *call)) return respond(refuse(*r, request.error_form()));
  generate(api, request, call->model, [call, http = without_body(request)](const ModelLease& model, Generation& out) { return prepare(http, *call, model, out); }, respond);
}

void anthropic_count_tokens(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<AnthropicCall>();
  if (Refusal r = parse_anthropic_call(request, anthropic_count_tables(), api.lenient, *call)) return respond(refuse(*r, request.error_form()));
  with_model(api, request, call->model, [call, form = request.error_form()](const ModelLease& model) { return counted(*call, *model->generator, form); }, respond);
}

void anthropic_list_models(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  const std::vector<ModelStatus> all = api.registry.models();
  const std::string after = query_value(request.query, "after_id").value_or("");
  const std::string before = query_value(request.query, "before_id").value_or("");
  int64_t limit = 20;
  if (Refusal r = take_query_number(request.query, "limit", 1, 1000, limit)) return respond(refuse(*r, request.error_form()));
  std::vector<ModelStatus> page;
  for (const ModelStatus& model : all) {
    if ((after.empty() || model.name > after) && (before.empty() || model.name < before)) page.push_back(model);
  }
  const bool more = page.size() > static_cast<size_t>(limit);
  if (more && before.empty()) page.resize(static_cast<size_t>(limit));
  if (more && !before.empty()) page.erase(page.begin(), page.end() - limit);
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().key("data").begin_array();
  for (const ModelStatus& model : page) write_model(json, model);
  json.end_array().field("has_more", more);
  page.empty() ? json.null_field("first_id").null_field("last_id") : json.field("first_id", page.front().name).field("last_id", page.back().name);
  json.end_object();
  respond(whole(std::move(response)));
}

void anthropic_show_model(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  const std::string name = percent_decoded(request.path.substr(sizeof("/v1/models/") - 1)).value_or("");
  for (const ModelStatus& model : api.registry.models()) {
    if (model.name != name) continue;
    HttpResponse response;
    JsonWriter json(response.body);
    write_model(json, model);
    return respond(whole(std::move(response)));
  }
  respond(refuse(model_not_found(name), request.error_form()));
}

}  // namespace inferens
