// What OpenAI's replies of both completion endpoints share: the opening fields, usage, timings, endings.
#pragma once

#include <string>
#include <string_view>

#include "inferens/generation.h"
#include "serve/api/generation_answer.h"
#include "serve/api/openai_call.h"
#include "serve/json_writer.h"

namespace inferens {

// What every chunk of a stream, and the whole body, says about the request.
struct ReplyFrame {
  std::string id;            // chatcmpl-…, cmpl-…
  std::string object;
  int64_t created = 0;
  std::string model;
  std::string fingerprint;
  std::string service_tier;  // empty: not said
  uint64_t seed = 0;
  bool stream = false;
  bool include_usage = false;
  bool obfuscate = false;
  bool groq = false;         // x_groq, and seconds in usage
};

ReplyFrame reply_frame(const HttpRequest& http, const OpenAiCall& call, const LoadedModel& model, std::string_view id_prefix,
                       std::string_view object);

// "id", "object", "created", "model", "system_fingerprint", "service_tier" inside an object that is open.
void write_frame(JsonWriter& json, const ReplyFrame& frame);
void write_usage(JsonWriter& json, const ReplyFrame& frame, const RunTotals& totals);
void write_timings(JsonWriter& json, const RunTotals& totals);
const char* finish_name(FinishReason reason);

// Streams: the pieces of JSON after `choices` was written, up to the event's end.
// `totals` is null but for the last chunk with choices; then timings and x_groq are told.
std::string end_chunk(std::string json, const ReplyFrame& frame, const RunTotals* totals);
// The chunk with usage and no choices, when it was asked for, and [DONE].
std::string end_stream(const ReplyFrame& frame, const RunTotals& totals);

// Characters that compress badly, so many that an event of `bytes` without them becomes whole blocks.
std::string obfuscation(size_t bytes);

// A logprob as OpenAI writes it: -9999 stands for what is too unlikely to have a number.
double told_logprob(float logprob);

}  // namespace inferens
