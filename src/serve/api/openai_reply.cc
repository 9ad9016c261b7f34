#include "serve/api/openai_reply.h"

#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "serve/sse.h"

namespace inferens {
namespace {

constexpr double kVeryUnlikely = -9999.0;
// With obfuscation every chunk's length is a multiple of this, so that lengths tell little of the text.
constexpr size_t kObfuscationBlock = 64;

double rate(int64_t tokens, int64_t nanos) { return tokens > 0 && nanos > 0 ? static_cast<double>(tokens) / to_seconds(nanos) : 0; }

void write_groq(JsonWriter& json, const ReplyFrame& frame, const RunTotals& totals) {
  json.key("x_groq").begin_object().field("id", "req_" + frame.id).field("seed", static_cast<int64_t>(frame.seed)).key("usage");
  write_usage(json, frame, totals);
  json.end_object();
}

}  // namespace

ReplyFrame reply_frame(const HttpRequest& http, const OpenAiCall& call, const LoadedModel& model, std::string_view id_prefix,
                       std::string_view object) {
  ReplyFrame frame;
  frame.id = std::string(id_prefix) + http.id;
  frame.object = object;
  frame.created = system_clock().unix_seconds();
  frame.model = model.name;
  frame.fingerprint = model.fingerprint;
  frame.seed = call.base.sampling.seed;
  frame.stream = call.stream;
  frame.include_usage = call.include_usage;
  frame.obfuscate = call.obfuscate;
  frame.groq = http.groq;
  return frame;
}

void write_frame(JsonWriter& json, const ReplyFrame& frame) {
  json.field("id", frame.id).field("object", frame.object).field("created", frame.created).field("model", frame.model);
  json.field("system_fingerprint", frame.fingerprint);
  if (!frame.service_tier.empty()) json.field("service_tier", frame.service_tier);
}

void write_usage(JsonWriter& json, const ReplyFrame& frame, const RunTotals& totals) {
  const TokenUsage& usage = totals.usage;
  json.begin_object().field("prompt_tokens", usage.prompt_tokens).field("completion_tokens", usage.completion_tokens);
  json.field("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  json.key("prompt_tokens_details").begin_object().field("cached_tokens", usage.cached_tokens).end_object();
  json.key("completion_tokens_details").begin_object().field("reasoning_tokens", 0);
  json.field("accepted_prediction_tokens", 0).field("rejected_prediction_tokens", 0).end_object();
  if (frame.groq) {
    json.field("queue_time", to_seconds(totals.timings.queued)).field("prompt_time", to_seconds(totals.timings.prefill));
    json.field("completion_time", to_seconds(totals.timings.decode));
    json.field("total_time", to_seconds(totals.timings.prefill + totals.timings.decode));
  }
  json.end_object();
}

void write_timings(JsonWriter& json, const RunTotals& totals) {
  const RequestTimings& t = totals.timings;
  const int32_t computed = totals.usage.prompt_tokens - totals.usage.cached_tokens;
  json.begin_object().field("queue_ms", to_ms(t.queued)).field("prefill_ms", to_ms(t.prefill)).field("ttft_ms", to_ms(t.ttft));
  json.field("decode_ms", to_ms(t.decode)).field("total_ms", to_ms(t.total));
  json.field("prompt_tokens", totals.usage.prompt_tokens).field("cached_tokens", totals.usage.cached_tokens);
  json.field("completion_tokens", totals.usage.completion_tokens);
  json.field("prefill_tokens_per_second", rate(computed, t.prefill));
  json.field("output_tokens_per_second", rate(totals.usage.completion_tokens - 1, t.decode)).end_object();
}

const char* finish_name(FinishReason reason) { return reason == FinishReason::kLength ? "length" : "stop"; }

std::string end_chunk(std::string text, const ReplyFrame& frame, const RunTotals* totals) {
  const auto add = [&](const auto& write) {
    text += ',';
    JsonWriter json(text);
    write(json);
  };
  if (frame.include_usage) text += ",\"usage\":null";
  if (totals != nullptr) {
    add([&](JsonWriter& json) {
      json.key("timings");
      write_timings(json, *totals);
    });
    if (frame.groq) add([&](JsonWriter& json) { write_groq(json, frame, *totals); });
  }
  if (frame.obfuscate) {
    const size_t bare = text.size() + sizeof(",\"obfuscation\":\"\"}") - 1;
    text += ",\"obfuscation\":\"" + obfuscation(bare) + "\"";
  }
  text += '}';
  return sse_event(text);
}

std::string end_stream(const ReplyFrame& frame, const RunTotals& totals) {
  std::string out;
  if (frame.include_usage) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_frame(json, frame);
    json.key("choices").begin_array().end_array().key("usage");
    write_usage(json, frame, totals);
    json.key("timings");
    write_timings(json, totals);
    json.end_object();
    out += sse_event(text);
  }
  return out.append(kSseDone);
}

std::string obfuscation(size_t bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const size_t length = kObfuscationBlock - bytes % kObfuscationBlock;
  std::string text(length, ' ');
  for (size_t i = 0; i < length; ++i) text[i] = kLetters[philox4x32(length, i, 0x6f62)[0] % kLetters.size()];
  return text;
}

double told_logprob(float logprob) { return std::isfinite(logprob) ? std::max<double>(logprob, kVeryUnlikely) : kVeryUnlikely; }

}  // namespace inferens
