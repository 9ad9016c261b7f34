// Ollama's POST /api/generate and /api/chat: call to engine request, events to lines of JSON or one object.
#include "serve/api/generate.h"
#include "serve/api/messages.h"
#include "serve/api/ollama_call.h"
#include "serve/api/ollama_reply.h"
#include "serve/api/openai_call.h"
#include "serve/api/openai_reply.h"
#include "serve/api/token_logprobs.h"

namespace inferens {
namespace {

struct Frame {
  std::string model;  // as the client called it
  bool chat = false;
  bool stream = true;
  bool logprobs = false;
  Nanos load_time = 0;
  std::vector<TokenId> context;  // generate: the prompt's tokens, for the client to go on from; empty: raw mode
};

// The text of a line: "response" or "message".
void write_text(JsonWriter& json, const Frame& frame, std::string_view text) {
  if (!frame.chat) {
    json.field("response", text);
    return;
  }
  json.key("message").begin_object().field("role", "assistant").field("content", text).end_object();
}

void write_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions) {
  json.key("logprobs");
  write_token_logprobs(json, positions, NoTopLogprobs::kLeftOut);
}

class OllamaTranslator final : public EventTranslator {
 public:
  explicit OllamaTranslator(Frame frame) : frame_(std::move(frame)) {}

  void event(RunEvent&& e, std::string& out) override {
    GenerationEvent& event = e.event;
    if (event.kind == GenerationEvent::Kind::kPrompt) return;
    tokens_.insert(tokens_.end(), event.tokens.begin(), event.tokens.end());
    if (event.kind == GenerationEvent::Kind::kFinished) {
      finish_ = event.finish;
      return;
    }
    if (!frame_.stream) {
      text_ += event.text;
      for (PositionLogprobs& p : event.logprobs) logprobs_.push_back(std::move(p));
      return;
    }
    if (event.text.empty() && (!frame_.logprobs || event.logprobs.empty())) return;
    JsonWriter json(out);
    json.begin_object();
    write_ollama_frame(json, frame_.model);
    write_text(json, frame_, event.text);
    json.field("done", false);
    if (frame_.logprobs) write_logprobs(json, event.logprobs);
    json.end_object();
    out += '\n';
  }

  void end(const RunTotals& totals, std::string& out) override {
    JsonWriter json(out);
    json.begin_object();
    write_ollama_frame(json, frame_.model);
    write_text(json, frame_, text_);
    json.field("done", true).field("done_reason", finish_name(finish_));
    if (frame_.logprobs && !frame_.stream) write_logprobs(json, logprobs_);
    if (!frame_.context.empty()) {
      json.key("context").begin_array();
      for (const TokenId token : frame_.context) json.integer(token);
      for (const TokenId token : tokens_) json.integer(token);
      json.end_array();
    }
    write_duration(json, "total_duration", frame_.load_time + totals.timings.total);
    write_duration(json, "load_duration", frame_.load_time);
    json.field("prompt_eval_count", totals.usage.prompt_tokens);
    write_duration(json, "prompt_eval_duration", totals.timings.prefill);
    json.field("eval_count", totals.usage.completion_tokens);
    write_duration(json, "eval_duration", totals.timings.decode);
    json.end_object();
    if (frame_.stream) out += '\n';
  }

  std::string failure(const ApiError& error) const override { return error_body(error, {Dialect::kOllama, {}}) + "\n"; }
  std::string heartbeat() const override { return {}; }  // its clients take an empty line for a broken one

 private:
  Frame frame_;
  std::string text_;
  std::vector<PositionLogprobs> logprobs_;
  std::vector<TokenId> tokens_;
  FinishReason finish_ = FinishReason::kStop;
};

// The settings' system text and messages stand before the request's own; its own system text replaces theirs.
Refusal assemble_messages(const OllamaSettings& settings, bool chat, OllamaCall& call) {
  std::vector<ChatMessage> all;
  const bool own_system = call.system || (!call.messages.empty() && call.messages.front().role == "system");
  const std::string system = call.system.value_or(own_system ? "" : settings.system);
  if (!system.empty()) all.push_back(text_message("system", system));
  if (!settings.messages_json.empty()) {
    simdjson::dom::parser parser;
    Json messages;
    if (parser.parse(settings.messages_json).get(messages) == simdjson::SUCCESS && messages.is_array()) {
      if (Refusal r = take_ollama_messages(messages, "the model's messages", all)) return r;
    }
  }
  for (ChatMessage& m : call.messages) all.push_back(std::move(m));
  if (!chat) all.push_back(text_message("user", call.prompt));
  call.messages = std::move(all);
  return {};
}

// Tokens of an earlier answer, with the new prompt's behind them.
Refusal prepend_context(const Generator& generator, OllamaCall& call, GenerationRequest& request) {
  const Tokenizer& tokenizer = generator.tokenizer();
  for (const TokenId token : call.context) {
    if (token >= tokenizer.vocab_size()) return bad_field("context", "invalid_value", "'context' has token " + std::to_string(token) + ", which the model does not have");
  }
  StatusOr<std::vector<TokenId>> prompt = generator.prompt_tokens(request);
  if (!prompt.ok()) return to_api_error(prompt.status());
  const bool second_bos = !prompt->empty() && tokenizer.bos() && prompt->front() == *tokenizer.bos() && call.context.front() == *tokenizer.bos();
  std::vector<TokenId> all = call.context;
  all.insert(all.end(), prompt->begin() + (second_bos ? 1 : 0), prompt->end());
  request.prompt = std::move(all);
  return {};
}

Refusal apply_num_ctx(const Generator& generator, int32_t num_ctx, GenerationRequest& request) {
  const StatusOr<std::vector<TokenId>> prompt = generator.prompt_tokens(request);
  if (!prompt.ok()) return to_api_error(prompt.status());
  const auto length = static_cast<int64_t>(prompt->size());
  if (length >= num_ctx) {
    return bad_field("options.num_ctx", "context_length_exceeded", "the prompt has " + std::to_string(length) + " tokens and leaves no room for an answer in num_ctx " + std::to_string(num_ctx));
  }
  const auto room = static_cast<int32_t>(std::min<int64_t>(num_ctx, generator.model_info().context) - length);
  // A prompt beyond the model's own context is refused by the engine, which names both numbers.
  if (room > 0) request.max_tokens = request.max_tokens < 0 ? room : std::min(request.max_tokens, room);
  return {};
}

Refusal prepare(ApiContext& api, OllamaCall& call, const OllamaSettings& settings, Frame& frame, const ModelLease& model, Generation& out) {
  const Generator& generator = *model->generator;
  keep_model(api, model->name, call.keep_alive);
  GenerationRequest request = call.base;
  const bool no_template = generator.chat_template() == nullptr && generator.template_problem().ok();
  if (call.raw || (!frame.chat && no_template && !call.system)) {
    request.prompt = call.prompt;
  } else {
    if (Refusal r = assemble_messages(settings, frame.chat, call)) return r;
    ChatPrompt chat;
    chat.messages = std::move(call.messages);
    if (Refusal r = check_messages_against(generator, chat)) return r;
    request.prompt = std::move(chat);
  }
  if (!call.context.empty()) {
    if (Refusal r = prepend_context(generator, call, request)) return r;
  }
  if (call.num_ctx) {
    if (Refusal r = apply_num_ctx(generator, *call.num_ctx, request)) return r;
  }
  if (!frame.chat && !call.raw) {
    StatusOr<std::vector<TokenId>> tokens = generator.prompt_tokens(request);
    if (tokens.ok()) frame.context = std::move(*tokens);
  }
  out.requests.push_back(std::move(request));
  if (call.stream) out.stream_type = kNdjsonContentType;
  out.translator = std::make_unique<OllamaTranslator>(std::move(frame));
  return {};
}

// Without a prompt a request only brings the model in, or with keep_alive 0 out.
std::unique_ptr<Answer> only_load(ApiContext& api, const OllamaCall& call, const Frame& frame, const std::string& model) {
  const bool unload = call.keep_alive == 0;
  if (unload) {
    if (const Status status = api.registry.stop(model); !status.ok()) return refuse(to_api_error(status), {Dialect::kOllama, {}});
  } else {
    keep_model(api, model, call.keep_alive);
  }
  HttpResponse response;
  if (frame.stream) response.content_type = kNdjsonContentType;
  JsonWriter json(response.body);
  json.begin_object();
  write_ollama_frame(json, frame.model);
  write_text(json, frame, "");
  json.field("done", true).field("done_reason", unload ? "unload" : "load").end_object();
  if (frame.stream) response.body += '\n';
  return whole(std::move(response));
}

void answer(ApiContext& api, const HttpRequest& request, const Respond& respond, bool chat) {
  auto call = std::make_shared<OllamaCall>();
  const OllamaTables tables = chat ? ollama_chat_tables() : ollama_generate_tables();
  if (Refusal r = parse_ollama_call(request, tables, {}, api.lenient, *call)) return respond(refuse(*r, request.error_form()));
  const std::string model = ollama_model_name(api, call->model);
  OllamaSettings settings = ollama_settings(api, model);
  if (!settings.parameters_json.empty()) {
    *call = OllamaCall();
    if (Refusal r = parse_ollama_call(request, tables, settings, api.lenient, *call)) return respond(refuse(*r, request.error_form()));
  }
  const Frame frame{.model = call->model, .chat = chat, .stream = call->stream, .logprobs = call->logprobs, .load_time = 0, .context = {}};
  const bool empty = chat ? call->messages.empty() : call->prompt.empty() && call->context.empty();
  if (empty && call->keep_alive == 0 && api.registry.knows(model)) return respond(only_load(api, *call, frame, model));
  if (empty) {
    return with_model(api, request, model, [&api, call, frame](const ModelLease& lease) { return only_load(api, *call, frame, lease->name); }, respond);
  }
  const Nanos asked = system_clock().now();
  generate(api, request, model, [&api, call, settings = std::move(settings), frame, asked](const ModelLease& lease, Generation& out) {
    Frame loaded = frame;
    loaded.load_time = system_clock().now() - asked;
    return prepare(api, *call, settings, loaded, lease, out);
  }, respond);
}

}  // namespace

void ollama_generate(ApiContext& api, const HttpRequest& request, const Respond& respond) { answer(api, request, respond, false); }
void ollama_chat(ApiContext& api, const HttpRequest& request, const Respond& respond) { answer(api, request, respond, true); }

}  // namespace inferens
