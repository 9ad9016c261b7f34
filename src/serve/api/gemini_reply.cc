#include "serve/api/gemini_reply.h"

#include <map>

#include "base/utf8.h"
#include "serve/api/openai_reply.h"
#include "serve/json_writer.h"
#include "serve/sse.h"

namespace inferens {
namespace {

struct Candidate {
  std::string text;
  std::vector<PositionLogprobs> logprobs;
  FinishReason finish = FinishReason::kNone;
};

const char* finish_reason(FinishReason reason) { return reason == FinishReason::kLength ? "MAX_TOKENS" : "STOP"; }

void write_token(JsonWriter& json, const TokenLogprob& token) {
  json.begin_object().field("token", repair_utf8(token.bytes)).field("tokenId", token.token).field("logProbability", told_logprob(token.logprob)).end_object();
}

void write_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions) {
  double sum = 0;
  for (const PositionLogprobs& p : positions) sum += told_logprob(p.chosen.logprob);
  json.field("avgLogprobs", positions.empty() ? 0 : sum / static_cast<double>(positions.size()));
  json.key("logprobsResult").begin_object().key("chosenCandidates").begin_array();
  for (const PositionLogprobs& p : positions) write_token(json, p.chosen);
  json.end_array().key("topCandidates").begin_array();
  for (const PositionLogprobs& p : positions) {
    json.begin_object().key("candidates").begin_array();
    for (const TokenLogprob& t : p.top) write_token(json, t);
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void write_candidate(JsonWriter& json, int32_t index, const Candidate& candidate, bool logprobs) {
  json.begin_object().key("content").begin_object().key("parts").begin_array();
  json.begin_object().field("text", candidate.text).end_object();
  json.end_array().field("role", "model").end_object();
  if (candidate.finish != FinishReason::kNone) json.field("finishReason", finish_reason(candidate.finish));
  json.field("index", index);
  if (logprobs && !candidate.logprobs.empty()) write_logprobs(json, candidate.logprobs);
  json.end_object();
}

void write_usage(JsonWriter& json, const TokenUsage& usage) {
  json.key("usageMetadata").begin_object().field("promptTokenCount", usage.prompt_tokens);
  if (usage.cached_tokens > 0) json.field("cachedContentTokenCount", usage.cached_tokens);
  json.field("candidatesTokenCount", usage.completion_tokens).field("totalTokenCount", usage.prompt_tokens + usage.completion_tokens);
  json.key("promptTokensDetails").begin_array().begin_object().field("modality", "TEXT").field("tokenCount", usage.prompt_tokens);
  json.end_object().end_array().end_object();
}

void write_response(JsonWriter& json, const GeminiFrame& frame, const std::map<int32_t, Candidate>& candidates, const TokenUsage& usage) {
  json.begin_object().key("candidates").begin_array();
  for (const auto& [index, candidate] : candidates) write_candidate(json, index, candidate, frame.logprobs);
  json.end_array();
  write_usage(json, usage);
  json.field("modelVersion", frame.model).field("responseId", frame.response_id).end_object();
}

class GeminiStream final : public EventTranslator {
 public:
  explicit GeminiStream(GeminiFrame frame) : frame_(std::move(frame)) { usage_.prompt_tokens = frame_.prompt_tokens; }

  void event(RunEvent&& e, std::string& out) override {
    if (e.event.kind == GenerationEvent::Kind::kPrompt) return;
    usage_.completion_tokens += static_cast<int32_t>(e.event.tokens.size());
    Candidate candidate{std::move(e.event.text), std::move(e.event.logprobs), FinishReason::kNone};
    if (e.event.kind == GenerationEvent::Kind::kFinished) {
      // The last words of all candidates come with the count of tokens, which is known at the end.
      candidate.finish = e.event.finish;
      finished_[e.event.index] = std::move(candidate);
      return;
    }
    if (!candidate.text.empty() || (frame_.logprobs && !candidate.logprobs.empty())) chunk({{e.event.index, std::move(candidate)}}, usage_, out);
  }

  void end(const RunTotals& totals, std::string& out) override {
    chunk(finished_, totals.usage, out);
    if (frame_.form == GeminiForm::kArray) out += "\n]";
  }

  std::string failure(const ApiError& error) const override {
    const std::string body = error_body(error, {Dialect::kGemini, {}});
    if (frame_.form == GeminiForm::kEvents) return sse_event(body);
    return (first_ ? "[" : "\n,\n") + body + "\n]";
  }
  std::string heartbeat() const override { return {}; }  // its clients take anything but data for JSON

 private:
  void chunk(const std::map<int32_t, Candidate>& candidates, const TokenUsage& usage, std::string& out) {
    std::string text;
    JsonWriter json(text);
    write_response(json, frame_, candidates, usage);
    if (frame_.form == GeminiForm::kEvents) {
      out += sse_event(text);
      return;
    }
    out += std::exchange(first_, false) ? "[" : "\n,\n";
    out += text;
  }

  GeminiFrame frame_;
  TokenUsage usage_;
  std::map<int32_t, Candidate> finished_;
  bool first_ = true;
};

class GeminiWhole final : public EventTranslator {
 public:
  explicit GeminiWhole(GeminiFrame frame) : frame_(std::move(frame)) {}

  void event(RunEvent&& e, std::string&) override {
    if (e.event.kind == GenerationEvent::Kind::kPrompt) return;
    Candidate& candidate = candidates_[e.event.index];
    candidate.text += e.event.text;
    for (PositionLogprobs& p : e.event.logprobs) candidate.logprobs.push_back(std::move(p));
    if (e.event.kind == GenerationEvent::Kind::kFinished) candidate.finish = e.event.finish;
  }
  void end(const RunTotals& totals, std::string& out) override {
    JsonWriter json(out);
    write_response(json, frame_, candidates_, totals.usage);
  }
  std::string failure(const ApiError& error) const override { return error_body(error, {Dialect::kGemini, {}}); }
  std::string heartbeat() const override { return {}; }

 private:
  GeminiFrame frame_;
  std::map<int32_t, Candidate> candidates_;
};

}  // namespace

std::unique_ptr<EventTranslator> make_gemini_translator(GeminiFrame frame) {
  if (frame.form == GeminiForm::kWhole) return std::make_unique<GeminiWhole>(std::move(frame));
  return std::make_unique<GeminiStream>(std::move(frame));
}

}  // namespace inferens
