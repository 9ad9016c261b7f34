// A request inside the engine: what was asked, where the events go, its choices and its clock marks. A record lives
// from submit until its last event was sent, which is also the acknowledgement of a cancellation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/grammar/grammar.h"
#include "engine/request_id.h"
#include "engine/sequence.h"
#include "inferens/generation.h"

namespace inferens {

// What the front hands to the engine: everything checked that can be checked without the engine's state.
struct TokenizedRequest {
  RequestId id = 0;
  GenerationRequest params;     // params.prompt is not looked at
  std::vector<TokenId> prompt;  // ≥ 1
  std::string prompt_text;      // for echo
  int32_t max_tokens = 0;       // ≥ 0, with the prompt inside the context
  bool embed = false;           // the prompt's last hidden state is wanted, and no output (n = 1, max_tokens = 0)
  std::vector<std::vector<TokenId>> dry_breakers;
  std::shared_ptr<const Grammar> grammar;  // of params.constraint; null without one
  Nanos arrival = 0;                       // when the front got it: tokenizing counts into TTFT
};

struct Request {
  TokenizedRequest spec;
  EventSink sink;
  std::string salt;  // of the prefix tree
  std::vector<std::unique_ptr<Sequence>> choices;
  int32_t unfinished = 0;      // choices
  std::vector<bool> computed;  // [prompt position] true once this request computed it
  int32_t covered = 0;         // prompt positions that had K,V at some time: those not computed were cached
  std::vector<PositionLogprobs> prompt_logprobs;
  std::vector<uint32_t> not_ending;  // token mask of the first min_tokens tokens; empty without min_tokens
  Nanos first_scheduled = -1;
  Nanos first_token = -1;
  Nanos last_token = -1;
  KeyAccount* account = nullptr;  // of its API key, in the scheduler

  const GenerationRequest& params() const { return spec.params; }
  // Its logits are wanted at every prompt position that has none yet: nothing can be taken from the prefix tree.
  bool needs_prompt_logits(const Sequence& s) const {
    return spec.params.prompt_logprobs >= 0 && s.index == 0 && prompt_logprobs.size() < spec.prompt.size();
  }
  int32_t length_limit() const { return static_cast<int32_t>(spec.prompt.size()) + spec.max_tokens; }
};

}  // namespace inferens
