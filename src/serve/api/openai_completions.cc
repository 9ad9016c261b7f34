// POST /v1/completions: the older endpoint, which continues text: prompt lists, token arrays, echo, logprobs,
// best_of, filling in.
#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "serve/api/endpoints.h"
#include "serve/api/openai_call.h"
#include "serve/api/openai_generation.h"
#include "serve/api/openai_reply.h"
#include "serve/fill_in.h"
#include "serve/sse.h"

namespace inferens {
namespace {

// Bytes that are no text by themselves get a spelling that loses nothing.
std::string token_text(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return bytes;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "\\x";
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

// Characters that begin in these bytes: one split over tokens counts for the token with its first byte.
int32_t characters(const std::string& bytes) {
  return static_cast<int32_t>(std::count_if(bytes.begin(), bytes.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// {tokens, token_logprobs, top_logprobs, text_offset}; `offset` is of the first token and moves on.
void write_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions, int32_t& offset) {
  json.begin_object().key("tokens").begin_array();
  for (const PositionLogprobs& p : positions) json.string(token_text(p.chosen.bytes));
  json.end_array().key("token_logprobs").begin_array();
  for (const PositionLogprobs& p : positions) p.rank == 0 ? json.null() : json.number(told_logprob(p.chosen.logprob));
  json.end_array().key("top_logprobs").begin_array();
  for (const PositionLogprobs& p : positions) {
    if (p.rank == 0) {
      json.null();
      continue;
    }
    json.begin_object();
    std::map<std::string, float> told;  // two tokens may look the same; the likelier one is told
    for (const TokenLogprob& t : p.top) told.emplace(token_text(t.bytes), t.logprob);
    told.emplace(token_text(p.chosen.bytes), p.chosen.logprob);
    for (const auto& [text, logprob] : told) json.field(text, told_logprob(logprob));
    json.end_object();
  }
  json.end_array().key("text_offset").begin_array();
  for (const PositionLogprobs& p : positions) {
    json.integer(offset);
    offset += characters(p.chosen.bytes);
  }
  json.end_array().end_object();
}

struct Options {
  int32_t n = 1;           // answers per prompt that are shown
  bool logprobs = false;
  bool echo = false;
  bool prompt_logprobs = false;
};

class CompletionStream final : public EventTranslator {
 public:
  CompletionStream(ReplyFrame frame, Options options) : frame_(std::move(frame)), options_(options) {}

  void event(RunEvent&& e, std::string& out) override {
    out += std::exchange(held_, {});
    if (e.event.kind == GenerationEvent::Kind::kPrompt) {
      // The same prompt opens every one of its answers.
      for (int32_t i = 0; i < options_.n && options_.echo; ++i) text(e.prompt * options_.n + i, e.event, out);
      return;
    }
    const int32_t index = e.prompt * options_.n + e.event.index;
    if (e.event.kind == GenerationEvent::Kind::kText) return text(index, e.event, out);
    held_ = chunk(index, "", nullptr, e.event.finish, nullptr);
    last_index_ = index;
    last_finish_ = e.event.finish;
  }

  void end(const RunTotals& totals, std::string& out) override {
    out += chunk(last_index_, "", nullptr, last_finish_, &totals);
    out += end_stream(frame_, totals);
  }

  std::string failure(const ApiError& error) const override { return sse_event(openai_error_body(error)); }
  std::string heartbeat() const override { return std::string(kSseHeartbeat); }

 private:
  void text(int32_t index, const GenerationEvent& event, std::string& out) {
    if (event.text.empty() && (!options_.logprobs || event.logprobs.empty())) return;
    out += chunk(index, event.text, options_.logprobs ? &event.logprobs : nullptr, FinishReason::kNone, nullptr);
  }

  std::string chunk(int32_t index, std::string_view piece, const std::vector<PositionLogprobs>* logprobs, FinishReason finish,
                    const RunTotals* totals) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_frame(json, frame_);
    json.key("choices").begin_array().begin_object().field("index", index).field("text", piece).key("logprobs");
    if (logprobs != nullptr) {
      write_logprobs(json, *logprobs, offsets_[index]);
    } else {
      json.null();
    }
    finish == FinishReason::kNone ? json.null_field("finish_reason") : json.field("finish_reason", finish_name(finish));
    json.end_object().end_array();
    return end_chunk(std::move(text), frame_, totals);
  }

  ReplyFrame frame_;
  Options options_;
  std::map<int32_t, int32_t> offsets_;  // characters so far, by choice
  std::string held_;
  int32_t last_index_ = 0;
  FinishReason last_finish_ = FinishReason::kStop;
};

class CompletionWhole final : public EventTranslator {
 public:
  CompletionWhole(ReplyFrame frame, Options options) : frame_(std::move(frame)), options_(options) {}

  void event(RunEvent&& e, std::string&) override {
    OnePrompt& prompt = prompts_[e.prompt];
    if (e.event.kind == GenerationEvent::Kind::kPrompt) {
      prompt.text = std::move(e.event.text);
      prompt.logprobs = std::move(e.event.logprobs);
      return;
    }
    Choice& choice = prompt.choices[e.event.index];
    choice.text += e.event.text;
    for (PositionLogprobs& p : e.event.logprobs) choice.logprobs.push_back(std::move(p));
    if (e.event.kind == GenerationEvent::Kind::kFinished) choice.finish = e.event.finish;
  }

  void end(const RunTotals& totals, std::string& out) override {
    JsonWriter json(out);
    json.begin_object();
    write_frame(json, frame_);
    json.key("choices").begin_array();
    for (auto& [number, prompt] : prompts_) {
      int32_t index = number * options_.n;
      for (const Choice* choice : best(prompt)) write_choice(json, index++, prompt, *choice);
    }
    json.end_array().key("usage");
    write_usage(json, frame_, totals);
    json.key("timings");
    write_timings(json, totals);
    json.end_object();
  }

  std::string failure(const ApiError& error) const override { return openai_error_body(error); }
  std::string heartbeat() const override { return {}; }

 private:
  struct Choice {
    std::string text;
    std::vector<PositionLogprobs> logprobs;
    FinishReason finish = FinishReason::kStop;

    double mean_logprob() const {
      double sum = 0;
      for (const PositionLogprobs& p : logprobs) sum += told_logprob(p.chosen.logprob);
      return logprobs.empty() ? 0 : sum / static_cast<double>(logprobs.size());
    }
  };
  struct OnePrompt {
    std::string text;
    std::vector<PositionLogprobs> logprobs;
    std::map<int32_t, Choice> choices;
  };

  // The n shown: all of them in order, or of more the best first.
  std::vector<const Choice*> best(const OnePrompt& prompt) const {
    std::vector<const Choice*> chosen;
    for (const auto& [index, choice] : prompt.choices) chosen.push_back(&choice);
    if (chosen.size() <= static_cast<size_t>(options_.n)) return chosen;
    std::stable_sort(chosen.begin(), chosen.end(), [](const Choice* a, const Choice* b) { return a->mean_logprob() > b->mean_logprob(); });
    chosen.resize(static_cast<size_t>(options_.n));
    return chosen;
  }

  void write_choice(JsonWriter& json, int32_t index, const OnePrompt& prompt, const Choice& choice) const {
    json.begin_object().field("index", index).field("text", options_.echo ? prompt.text + choice.text : choice.text).key("logprobs");
    if (options_.logprobs) {
      std::vector<PositionLogprobs> all;
      if (options_.echo) all = prompt.logprobs;
      all.insert(all.end(), choice.logprobs.begin(), choice.logprobs.end());
      int32_t offset = 0;
      write_logprobs(json, all, offset);
    } else {
      json.null();
    }
    json.field("finish_reason", finish_name(choice.finish));
    if (options_.prompt_logprobs) {
      json.key("prompt_logprobs");
      write_prompt_logprobs(json, prompt.logprobs);
    }
    json.end_object();
  }

  ReplyFrame frame_;
  Options options_;
  std::map<int32_t, OnePrompt> prompts_;
};

Refusal fill_in(OpenAiCall& call, const Tokenizer& tokenizer) {
  if (call.base.echo) return bad_field("suffix", "invalid_value", "'suffix' goes without 'echo': the prompt is not in front of the answer's place");
  std::vector<TokenId> stops;
  for (Prompt& prompt : call.prompts) {
    const auto* const text = std::get_if<std::string>(&prompt);
    if (text == nullptr) return bad_field("suffix", "invalid_value", "'suffix' needs prompts of text");
    std::optional<FillInPrompt> filled = fill_in_prompt(tokenizer, *text, call.suffix, call.base.add_special_tokens);
    if (!filled) return unsupported_field("suffix", "this model was not trained to fill in, as its vocabulary has no tokens for it");
    prompt = std::move(filled->tokens);
    stops = std::move(filled->stops);
  }
  if (!call.base.ignore_eos) call.base.stop_token_ids.insert(call.base.stop_token_ids.end(), stops.begin(), stops.end());
  return {};
}

// A prompt without text opens a document: with BOS, or for models that have none with EOS, which then parts documents.
void open_empty(OpenAiCall& call, const Tokenizer& tokenizer) {
  const std::optional<TokenId> opening = tokenizer.bos() ? tokenizer.bos() : tokenizer.eos();
  for (Prompt& prompt : call.prompts) {
    const auto* const text = std::get_if<std::string>(&prompt);
    if (text != nullptr && text->empty() && opening) prompt = std::vector<TokenId>{*opening};
  }
}

Refusal check_against_model(OpenAiCall& call, const LoadedModel& model) {
  const Tokenizer& tokenizer = model.generator->tokenizer();
  if (!call.suffix.empty()) return fill_in(call, tokenizer);
  open_empty(call, tokenizer);
  return {};
}

}  // namespace

void openai_completions(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<OpenAiCall>();
  if (Refusal r = parse_completion_call(request, api.lenient, *call)) return respond(refuse(*r));
  const auto translate = [](const HttpRequest& http, const OpenAiCall& c, const LoadedModel& model) -> std::unique_ptr<EventTranslator> {
    ReplyFrame frame = reply_frame(http, c, model, "cmpl-", "text_completion");
    const Options options{c.base.n, c.base.logprobs >= 0, c.base.echo, c.prompt_logprobs_asked};
    if (c.stream) return std::make_unique<CompletionStream>(std::move(frame), options);
    return std::make_unique<CompletionWhole>(std::move(frame), options);
  };
  generate_answer(api, request, std::move(call), check_against_model, translate, respond);
}

}  // namespace inferens
