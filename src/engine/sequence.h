// One choice of a request while the engine works on it: its tokens, its pages, its sampler and its text. Plain data of
// the engine thread; kv_cache.h, scheduler.h and engine_core.h act on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/grammar/grammar.h"
#include "engine/kv_cache.h"
#include "engine/output_stream.h"
#include "engine/sampler.h"
#include "inferens/generation.h"

namespace inferens {

struct Request;
struct KeyAccount;

enum class SequenceState {
  kForking,   // waits for the request's first choice to compute the prompt for all
  kWaiting,   // in a queue, holds no pages: new, or preempted
  kPrefill,   // has pages, and more than one token or its first token still to compute
  kDecode,    // every step computes its last token and samples the next
  kFinished,  // holds nothing
};

struct Sequence {
  Request* request = nullptr;
  int32_t index = 0;  // choice
  SequenceState state = SequenceState::kForking;
  std::vector<TokenId> tokens;  // prompt and output so far; those before kv.length have their K,V
  int32_t prompt_tokens = 0;
  KvState kv;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<GrammarState>
      grammar;  // where the output stands; null without a constraint, and before the first token
  OutputStream output;

  // The scheduler's notes.
  SchedulingClass queue_class = SchedulingClass::kChat;  // rises with age
  double deadline_ms = 0;                                // the order inside a key
  Nanos waiting_since = 0;                               // since when it is in queue_class's queue
  Nanos last_token = 0;
  uint64_t skip_step = 0;  // the step in which nothing more can be done for it
  uint64_t looked_up = 0;  // the tree's version at the last look for a longer prefix
  int32_t preemptions = 0;

  int32_t pending() const { return static_cast<int32_t>(tokens.size()) - kv.length; }
  int32_t output_tokens() const { return static_cast<int32_t>(tokens.size()) - prompt_tokens; }
  bool has_pages() const { return state == SequenceState::kPrefill || state == SequenceState::kDecode; }
};

}  // namespace inferens
