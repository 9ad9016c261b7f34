// Pairs tokens with the text they made.
#include "engine/output_stream.h"

#include <utility>

namespace inferens {

OutputStream::OutputStream(const Tokenizer* tokenizer, const GenerationRequest& request, int32_t index)
    : index_(index) {
  if (!request.stop.empty()) matcher_.emplace(request.stop, request.include_stop_in_output);
  if (tokenizer != nullptr) detokenizer_ = std::make_unique<Detokenizer>(*tokenizer, request.skip_special_tokens);
}

// all: the choice ends, so tokens whose text is held by nothing any more go out too.
std::optional<GenerationEvent> OutputStream::emit(std::string text, bool all) {
  emitted_ += text.size();
  GenerationEvent event;
  event.kind = GenerationEvent::Kind::kText;
  event.index = index_;
  // A token that made no text of its own (the first bytes of a character, a hidden special token) goes with later text.
  if (!text.empty() || all || !detokenizer_) {
    while (!pending_.empty() && (pending_.front().end <= emitted_ || all)) {
      event.tokens.push_back(pending_.front().token);
      if (pending_.front().logprobs) event.logprobs.push_back(std::move(*pending_.front().logprobs));
      pending_.pop_front();
    }
  }
  if (text.empty() && event.tokens.empty()) return std::nullopt;
  event.text = std::move(text);
  return event;
}

std::optional<GenerationEvent> OutputStream::push(TokenId token, std::optional<PositionLogprobs> logprobs,
                                                  bool match_stops) {
  std::string text = detokenizer_ ? detokenizer_->push(token) : std::string();
  pending_.push_back({token, std::move(logprobs), decoded_, decoded_ + text.size()});
  decoded_ += text.size();
  if (!match_stops || !matcher_) return emit(std::move(text), false);
  StopMatcher::Result result = matcher_->push(text);
  if (result.stop < 0) return emit(std::move(result.text), false);
  stop_ = result.stop;
  // Tokens that lie wholly in the stop string are no part of the output; the one that begins before the cut is.
  const size_t cut = emitted_ + result.text.size();
  while (!pending_.empty() && pending_.back().begin >= cut) pending_.pop_back();
  return emit(std::move(result.text), true);
}

std::optional<GenerationEvent> OutputStream::finish() {
  std::string text = matcher_ ? matcher_->finish() : std::string();
  if (detokenizer_) text += detokenizer_->finish();
  return emit(std::move(text), true);
}

}  // namespace inferens
