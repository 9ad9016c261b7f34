// POST /v1/chat/completions: call to engine requests, events to chat chunks or one chat completion.
#include <map>

#include "serve/api/endpoints.h"
#include "serve/api/openai_call.h"
#include "serve/api/openai_generation.h"
#include "serve/api/openai_reply.h"
#include "serve/api/token_logprobs.h"
#include "serve/sse.h"

namespace inferens {
namespace {

void write_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions) {
  json.begin_object().key("content");
  write_token_logprobs(json, positions, NoTopLogprobs::kEmptyArray);
  json.null_field("refusal").end_object();
}

class ChatStream final : public EventTranslator {
 public:
  ChatStream(ReplyFrame frame, bool logprobs) : frame_(std::move(frame)), logprobs_(logprobs) {}

  void event(RunEvent&& e, std::string& out) override {
    const int32_t index = e.event.index;
    out += std::exchange(held_, {});
    if (!started_[index]) {
      started_[index] = true;
      out += chunk(index, R"({"role":"assistant","content":""})", nullptr, FinishReason::kNone, nullptr);
    }
    if (e.event.kind == GenerationEvent::Kind::kText && (!e.event.text.empty() || logprobs_)) {
      std::string delta;
      JsonWriter(delta).begin_object().field("content", e.event.text).end_object();
      out += chunk(index, delta, logprobs_ ? &e.event.logprobs : nullptr, FinishReason::kNone, nullptr);
    }
    if (e.event.kind != GenerationEvent::Kind::kFinished) return;
    // Held until it is known whether it is the last: that one tells the timings.
    held_ = chunk(index, "{}", nullptr, e.event.finish, nullptr);
    last_index_ = index;
    last_finish_ = e.event.finish;
  }

  void end(const RunTotals& totals, std::string& out) override {
    out += chunk(last_index_, "{}", nullptr, last_finish_, &totals);
    out += end_stream(frame_, totals);
  }

  std::string failure(const ApiError& error) const override { return sse_event(openai_error_body(error)); }
  std::string heartbeat() const override { return std::string(kSseHeartbeat); }

 private:
  std::string chunk(int32_t index, std::string_view delta, const std::vector<PositionLogprobs>* logprobs, FinishReason finish,
                    const RunTotals* totals) const {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_frame(json, frame_);
    json.key("choices").begin_array().begin_object().field("index", index).key("delta").raw(delta).key("logprobs");
    if (logprobs != nullptr) {
      write_logprobs(json, *logprobs);
    } else {
      json.null();
    }
    finish == FinishReason::kNone ? json.null_field("finish_reason") : json.field("finish_reason", finish_name(finish));
    json.end_object().end_array();
    return end_chunk(std::move(text), frame_, totals);
  }

  ReplyFrame frame_;
  bool logprobs_;
  std::map<int32_t, bool> started_;
  std::string held_;
  int32_t last_index_ = 0;
  FinishReason last_finish_ = FinishReason::kStop;
};

class ChatWhole final : public EventTranslator {
 public:
  ChatWhole(ReplyFrame frame, bool logprobs) : frame_(std::move(frame)), logprobs_(logprobs) {}

  void event(RunEvent&& e, std::string&) override {
    if (e.event.kind == GenerationEvent::Kind::kPrompt) {
      prompt_logprobs_ = std::move(e.event.logprobs);
      return;
    }
    Choice& choice = choices_[e.event.index];
    choice.text += e.event.text;
    for (PositionLogprobs& p : e.event.logprobs) choice.logprobs.push_back(std::move(p));
    if (e.event.kind == GenerationEvent::Kind::kFinished) choice.finish = e.event.finish;
  }

  void end(const RunTotals& totals, std::string& out) override {
    JsonWriter json(out);
    json.begin_object();
    write_frame(json, frame_);
    json.key("choices").begin_array();
    for (const auto& [index, choice] : choices_) {
      json.begin_object().field("index", index).key("message").begin_object().field("role", "assistant").field("content", choice.text);
      json.null_field("refusal").key("annotations").begin_array().end_array().end_object().key("logprobs");
      if (logprobs_) {
        write_logprobs(json, choice.logprobs);
      } else {
        json.null();
      }
      json.field("finish_reason", finish_name(choice.finish)).end_object();
    }
    json.end_array().key("usage");
    write_usage(json, frame_, totals);
    json.key("timings");
    write_timings(json, totals);
    if (!prompt_logprobs_.empty()) {
      json.key("prompt_logprobs");
      write_prompt_logprobs(json, prompt_logprobs_);
    }
    if (frame_.groq) {
      json.key("x_groq").begin_object().field("id", "req_" + frame_.id).field("seed", static_cast<int64_t>(frame_.seed)).end_object();
    }
    json.end_object();
  }

  std::string failure(const ApiError& error) const override { return openai_error_body(error); }
  std::string heartbeat() const override { return {}; }

 private:
  struct Choice {
    std::string text;
    std::vector<PositionLogprobs> logprobs;
    FinishReason finish = FinishReason::kStop;
  };
  ReplyFrame frame_;
  bool logprobs_;
  std::map<int32_t, Choice> choices_;
  std::vector<PositionLogprobs> prompt_logprobs_;
};

Refusal check_against_model(OpenAiCall& call, const LoadedModel& model) {
  auto& chat = std::get<ChatPrompt>(call.prompts.front());
  if (!call.reasoning_effort.empty()) {
    const ChatTemplate* const chat_template = model.generator->chat_template();
    if (chat_template == nullptr || chat_template->source().find("reasoning_effort") == std::string::npos) {
      return unsupported_field("reasoning_effort", "this model's chat template does not know it; only none");
    }
    JsonWriter(chat.template_kwargs_json).begin_object().field("reasoning_effort", call.reasoning_effort).end_object();
  }
  return check_messages_against(*model.generator, chat);
}

}  // namespace

void openai_chat(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<OpenAiCall>();
  if (Refusal r = parse_chat_call(request, api.lenient, *call)) return respond(refuse(*r));
  const auto translate = [](const HttpRequest& http, const OpenAiCall& c, const LoadedModel& model) -> std::unique_ptr<EventTranslator> {
    ReplyFrame frame = reply_frame(http, c, model, "chatcmpl-", c.stream ? "chat.completion.chunk" : "chat.completion");
    frame.service_tier = c.flex ? "flex" : "default";
    if (c.stream) return std::make_unique<ChatStream>(std::move(frame), c.logprobs);
    return std::make_unique<ChatWhole>(std::move(frame), c.logprobs);
  };
  generate_answer(api, request, std::move(call), check_against_model, translate, respond);
}

}  // namespace inferens
