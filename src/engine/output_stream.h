// From sampled tokens of one choice to its events: text of whole characters, stop strings held back and found, and the
// tokens with their logprobs beside the text they made. Costs under a microsecond a token, so the engine thread does it
// itself and stops exactly at the token that completed a stop string.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "engine/stop_matcher.h"
#include "inferens/generation.h"
#include "text/tokenizer.h"

namespace inferens {

class OutputStream {
 public:
  OutputStream() = default;
  // tokenizer: outlives the stream; null gives events without text (token in, token out).
  OutputStream(const Tokenizer* tokenizer, const GenerationRequest& request, int32_t index);

  // Takes a token. match_stops: false while the request's min_tokens are not reached. Returns an event when something
  // became certain. After stopped() nothing more is taken.
  std::optional<GenerationEvent> push(TokenId token, std::optional<PositionLogprobs> logprobs, bool match_stops);
  bool stopped() const { return stop_ >= 0; }
  int32_t stop() const { return stop_; }  // index in the request's stop strings
  // What is still held, when the choice ended for another reason.
  std::optional<GenerationEvent> finish();

 private:
  struct Pending {
    TokenId token;
    std::optional<PositionLogprobs> logprobs;
    size_t begin;  // bytes of decoded text before this token
    size_t end;    // and with it
  };
  std::optional<GenerationEvent> emit(std::string text, bool all);

  std::unique_ptr<Detokenizer> detokenizer_;
  std::optional<StopMatcher> matcher_;
  int32_t index_ = 0;
  std::deque<Pending> pending_;
  size_t decoded_ = 0;  // bytes out of the detokenizer
  size_t emitted_ = 0;  // bytes in events
  int32_t stop_ = -1;
};

}  // namespace inferens
