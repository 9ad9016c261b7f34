#include "serve/api/responses_reply.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "serve/api/openai_reply.h"
#include "serve/api/token_logprobs.h"
#include "serve/sse.h"

namespace inferens {
namespace {

std::string message_id(const StoredResponse& r) { return "msg_" + r.id.substr(sizeof("resp_") - 1); }

void write_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions) {
  json.key("logprobs");
  write_token_logprobs(json, positions, NoTopLogprobs::kEmptyArray);
}

void write_part(JsonWriter& json, const StoredResponse& r) {
  json.begin_object().field("type", "output_text").field("text", r.text).key("annotations").begin_array().end_array();
  write_logprobs(json, r.tells_logprobs ? r.logprobs : std::vector<PositionLogprobs>());
  json.end_object();
}

void write_output_item(JsonWriter& json, const StoredResponse& r, std::string_view status, bool with_content) {
  json.begin_object().field("id", message_id(r)).field("type", "message").field("status", status).field("role", "assistant").key("content").begin_array();
  if (with_content) write_part(json, r);
  json.end_array().end_object();
}

void write_usage(JsonWriter& json, const TokenUsage& usage) {
  json.begin_object().field("input_tokens", usage.prompt_tokens).key("input_tokens_details").begin_object();
  json.field("cached_tokens", usage.cached_tokens).field("cache_write_tokens", 0).end_object().field("output_tokens", usage.completion_tokens);
  json.key("output_tokens_details").begin_object().field("reasoning_tokens", 0).end_object();
  json.field("total_tokens", usage.prompt_tokens + usage.completion_tokens).end_object();
}

const char* item_status(const StoredResponse& r) { return r.status == ResponseStatus::kCompleted ? "completed" : "incomplete"; }

// What both ways of answering do to the response.
class ResponseTranslator : public EventTranslator {
 public:
  ResponseTranslator(StoredResponse response, ResponseStore* store) : response_(std::move(response)), store_(store) {}
  ~ResponseTranslator() override {
    if (response_.is_over()) return;
    // The client left, or the server ends.
    response_.status = ResponseStatus::kCancelled;
    save();
  }
  ResponseTranslator(const ResponseTranslator&) = delete;
  ResponseTranslator& operator=(const ResponseTranslator&) = delete;

 protected:
  void see(const GenerationEvent& event) {
    if (event.kind == GenerationEvent::Kind::kFinished) {
      finish_ = event.finish;
      return;
    }
    if (response_.status == ResponseStatus::kQueued) {
      response_.status = ResponseStatus::kInProgress;
      save();
    }
    response_.text += event.text;
    response_.logprobs.insert(response_.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
  }
  void complete(const RunTotals& totals) {
    response_.usage = totals.usage;
    response_.status = finish_ == FinishReason::kLength ? ResponseStatus::kIncomplete : ResponseStatus::kCompleted;
    response_.completed = system_clock().unix_seconds();
    save();
  }
  // Told by a const member of the interface; the response that failed is no part of the translator's own way.
  void fail(const ApiError& error) const {
    response_.status = ResponseStatus::kFailed;
    response_.error = error;
    save();
  }
  void save() const {
    if (store_ == nullptr) return;
    store_->change(response_.id, [&](StoredResponse& stored) {
      if (!stored.is_over()) stored = response_;
    });
  }

  mutable StoredResponse response_;
  ResponseStore* store_;
  FinishReason finish_ = FinishReason::kStop;
};

class ResponseWhole final : public ResponseTranslator {
 public:
  using ResponseTranslator::ResponseTranslator;

  void event(RunEvent&& e, std::string&) override { see(e.event); }
  void end(const RunTotals& totals, std::string& out) override {
    complete(totals);
    JsonWriter json(out);
    write_response(json, response_);
  }
  std::string failure(const ApiError& error) const override {
    fail(error);
    return openai_error_body(error);
  }
  std::string heartbeat() const override { return {}; }
};

class ResponseStream final : public ResponseTranslator {
 public:
  ResponseStream(StoredResponse response, ResponseStore* store, bool obfuscate) : ResponseTranslator(std::move(response), store), obfuscate_(obfuscate) {}

  std::string opening() override {
    std::string out = with_response("response.created");
    out += with_response("response.in_progress");
    out += item_added();
    out += part_event("response.content_part.added");
    return out;
  }

  void event(RunEvent&& e, std::string& out) override {
    const bool tells = e.event.kind == GenerationEvent::Kind::kText && (!e.event.text.empty() || (response_.tells_logprobs && !e.event.logprobs.empty()));
    see(e.event);
    if (!tells) return;
    out += event_of("response.output_text.delta", [&](JsonWriter& json) {
      place(json);
      json.field("delta", e.event.text);
      write_logprobs(json, response_.tells_logprobs ? e.event.logprobs : std::vector<PositionLogprobs>());
    }, obfuscate_);
  }

  void end(const RunTotals& totals, std::string& out) override {
    complete(totals);
    out += event_of("response.output_text.done", [&](JsonWriter& json) {
      place(json);
      json.field("text", response_.text);
      write_logprobs(json, response_.tells_logprobs ? response_.logprobs : std::vector<PositionLogprobs>());
    });
    out += part_event("response.content_part.done");
    out += event_of("response.output_item.done", [&](JsonWriter& json) {
      json.field("output_index", 0).key("item");
      write_output_item(json, response_, item_status(response_), true);
    });
    out += with_response(response_.status == ResponseStatus::kCompleted ? "response.completed" : "response.incomplete");
  }

  std::string failure(const ApiError& error) const override {
    fail(error);
    return event_of("response.failed", [&](JsonWriter& json) {
      json.key("response");
      write_response(json, response_);
    });
  }
  std::string heartbeat() const override { return std::string(kSseHeartbeat); }

 private:
  template <class Write>
  std::string event_of(std::string_view type, Write&& write, bool obfuscate = false) const {
    std::string text;
    JsonWriter json(text);
    json.begin_object().field("type", type).field("sequence_number", sequence_++);
    write(json);
    if (obfuscate) json.field("obfuscation", obfuscation(text.size()));
    json.end_object();
    return sse_event(type, text);
  }
  void place(JsonWriter& json) const { json.field("item_id", message_id(response_)).field("output_index", 0).field("content_index", 0); }
  std::string with_response(std::string_view type) const {
    return event_of(type, [&](JsonWriter& json) {
      json.key("response");
      write_response(json, response_);
    });
  }
  std::string item_added() const {
    return event_of("response.output_item.added", [&](JsonWriter& json) {
      json.field("output_index", 0).key("item");
      write_output_item(json, response_, "in_progress", false);
    });
  }
  std::string part_event(std::string_view type) const {
    return event_of(type, [&](JsonWriter& json) {
      place(json);
      json.key("part");
      write_part(json, response_);
    });
  }

  bool obfuscate_;
  mutable int64_t sequence_ = 0;
};

}  // namespace

void write_response(JsonWriter& json, const StoredResponse& r) {
  json.begin_object().field("id", r.id).field("object", "response").field("created_at", r.created).field("status", response_status_name(r.status));
  r.status == ResponseStatus::kCompleted ? json.field("completed_at", r.completed) : json.null_field("completed_at");
  json.field("background", r.background).key("error");
  if (r.status == ResponseStatus::kFailed) {
    json.begin_object().field("code", r.error.http < 500 ? "invalid_prompt" : "server_error").field("message", repair_utf8(r.error.message)).end_object();
  } else {
    json.null();
  }
  json.key("incomplete_details");
  if (r.status == ResponseStatus::kIncomplete) {
    json.begin_object().field("reason", "max_output_tokens").end_object();
  } else {
    json.null();
  }
  json.field("model", r.model).key("output").begin_array();
  if (r.is_over() && !r.text.empty()) write_output_item(json, r, item_status(r), true);
  json.end_array();
  json.members(r.echo_json).key("usage");
  if (r.status == ResponseStatus::kCompleted || r.status == ResponseStatus::kIncomplete) {
    write_usage(json, r.usage);
  } else {
    json.null();
  }
  json.end_object();
}

void write_input_item(JsonWriter& json, const StoredResponse& r, size_t number) {
  const ChatMessage& message = r.input[number];
  const std::string id = "in_" + r.id.substr(sizeof("resp_") - 1) + "_" + std::to_string(number);
  if (message.role == "tool") {
    json.begin_object().field("id", "fco_" + id).field("type", "function_call_output").field("call_id", message.tool_call_id);
    json.field("output", message.content).field("status", "completed").end_object();
    return;
  }
  for (const ToolCall& call : message.tool_calls) {
    json.begin_object().field("id", "fc_" + id).field("type", "function_call").field("call_id", call.id).field("name", call.name);
    json.field("arguments", call.arguments_json).field("status", "completed").end_object();
  }
  if (!message.has_content) return;
  const bool said = message.role == "assistant";
  json.begin_object().field("id", "msg_" + id).field("type", "message").field("role", message.role).field("status", "completed").key("content").begin_array();
  json.begin_object().field("type", said ? "output_text" : "input_text").field("text", message.content);
  if (said) json.key("annotations").begin_array().end_array();
  json.end_object().end_array().end_object();
}

std::unique_ptr<EventTranslator> make_response_translator(StoredResponse response, ResponseStore* store, ResponseOptions options) {
  if (options.stream) return std::make_unique<ResponseStream>(std::move(response), store, options.obfuscate);
  return std::make_unique<ResponseWhole>(std::move(response), store);
}

}  // namespace inferens
