// How fast a model is on this machine: prefill of a prompt, and decode of some sequences together, each at some depth of
// context. Works on the Model itself: no server, scheduler or tokenizer is in the figures. Every figure is checked: a
// decoded row must give the tokens that it gives alone, a prompt the same logits however it is cut.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/statistics.h"
#include "inferens/status.h"
#include "model/model.h"

namespace inferens {

struct SpeedOptions {
  std::vector<int32_t> prompt_tokens = {512, 2048};      // prefill: one figure for each; may be empty
  std::vector<int32_t> sequences = {1, 2, 4, 8, 16, 20};  // decode: one figure for each; may be empty
  std::vector<int32_t> depths = {0};                     // tokens already in the context; each of the above for each
  int32_t output_tokens = 64;                            // decoded by every sequence; 0: no decode
  int32_t decode_context = 128;                          // tokens of context before decode, besides the depth, ≥ 1
  int32_t chunk = 512;                                   // tokens per prefill step at most
  int32_t repetitions = 5;
  uint64_t seed = 1;                                     // of the token ids, which are random
  std::function<void(const std::string&)> progress;      // called with what is measured next
};

struct PrefillSpeed {
  int32_t prompt_tokens = 0;
  int32_t depth = 0;
  Summary tokens_per_second;  // one sample per repetition; of the last token the logits and the argmax are included
};

struct DecodeSpeed {
  int32_t sequences = 0;
  int32_t context = 0;        // of every sequence before its first decoded token
  int32_t output_tokens = 0;  // by every sequence
  Summary tokens_per_second;  // of all sequences together, argmax included; one sample per repetition
  Summary step_seconds;       // of all steps of all repetitions
  int64_t kv_bytes_per_step = 0;  // keys and values read, at the mean context
};

struct SpeedResults {
  std::vector<PrefillSpeed> prefill;
  std::vector<DecodeSpeed> decode;
};

// Errors: a setting out of range or beyond the model's context (invalid_argument), memory for keys and values
// (resource_exhausted), what the model says, and internal_error when the model's answers contradict each other. The
// caller is the model's only user meanwhile.
StatusOr<SpeedResults> measure_speed(Model& model, const SpeedOptions& options, const Clock& clock = system_clock());

// Bytes of keys and values that these options need.
int64_t speed_kv_bytes(const Model& model, const SpeedOptions& options);

}  // namespace inferens
