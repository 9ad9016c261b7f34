// From a step's logits to tokens, events and finished choices.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "engine/engine_core.h"

namespace inferens {
namespace {

// Every choice has its own seed, and the first one the request's, so that it does not depend on n.
uint64_t choice_seed(uint64_t seed, int32_t index) {
  if (index == 0) return seed;
  const auto bits = philox4x32(seed, static_cast<uint64_t>(index), 0x63686f696365);  // "choice"
  return uint64_t{bits[0]} << 32 | bits[1];
}

}  // namespace

void EngineCore::complete(size_t span) {
  const PlannedSpan& planned = plan_.spans[span];
  Sequence& sequence = *planned.sequence;
  if (sequence.state == SequenceState::kFinished) return;  // its request failed in another span of this step
  Request& request = *sequence.request;
  if (!batch_.status(span).ok()) return fail(request, batch_.status(span));
  const int32_t position = sequence.kv.length;
  sequence.kv.length += planned.tokens;
  const bool complete = sequence.pending() == 0;
  const bool prefill = sequence.state == SequenceState::kPrefill;
  if (prefill) note_prefill(sequence, position, planned.tokens);
  // Texts are embedded once: keeping them would only push the beginnings of chats out.
  const bool keep = !request.spec.embed && (prefill || sequence.kv.length % kPageTokens == 0);
  if (keep) publish(sequence);
  kv_->slide(sequence.kv, now_);
  if (request.needs_prompt_logits(sequence)) take_prompt_logprobs(sequence, span);
  if (!complete) return;
  if (prefill) scheduler_->prefill_done(sequence);
  if (request.spec.embed) return finish_embedding(sequence, batch_.hidden(span));
  const int32_t rows = batch_.rows(span);
  const std::span<const float> logits =
      rows == 0 ? std::span<const float>() : batch_.logits(span, static_cast<size_t>(rows - 1));
  if (prefill && sequence.output_tokens() == 0) {
    first_tokens(sequence, logits);
  } else {
    sample(sequence, logits);
  }
}

void EngineCore::note_prefill(Sequence& sequence, int32_t position, int32_t tokens) {
  Request& request = *sequence.request;
  counters_.prefill_tokens += tokens;
  if (sequence.preemptions > 0) counters_.recomputed_tokens += tokens;
  const auto prompt = static_cast<int32_t>(request.spec.prompt.size());
  for (int32_t p = position; p < std::min(position + tokens, prompt); ++p)
    request.computed[static_cast<size_t>(p)] = true;
  request.covered = std::max(request.covered, std::min(position + tokens, prompt));
}

void EngineCore::publish(Sequence& sequence) {
  const std::span<const TokenId> tokens(sequence.tokens.data(), static_cast<size_t>(sequence.kv.length));
  kv_->publish(sequence.kv, sequence.request->salt, tokens, now_);
}

void EngineCore::take_prompt_logprobs(Sequence& sequence, size_t span) {
  Request& request = *sequence.request;
  const std::vector<TokenId>& prompt = request.spec.prompt;
  std::vector<PositionLogprobs>& out = request.prompt_logprobs;
  if (out.empty()) {
    out.emplace_back();  // nothing comes before the first token, so it has no probability
    out.back().chosen.token = prompt.front();
    set_bytes(out.back());
  }
  for (size_t row = 0; out.size() < prompt.size() && out.size() < static_cast<size_t>(sequence.kv.length) + 1; ++row) {
    out.push_back(top_logprobs(batch_.logits(span, row), prompt[out.size()], request.params().prompt_logprobs));
    set_bytes(out.back());
  }
}

// The prompt is computed: its last row gives the first token of every choice.
void EngineCore::first_tokens(Sequence& first, std::span<const float> logits) {
  Request& request = *first.request;
  send_prompt(request);
  if (request.spec.max_tokens == 0) {
    for (const auto& choice : request.choices) finish_choice(*choice, FinishReason::kLength);
    return;
  }
  for (size_t i = 1; i < request.choices.size(); ++i) request.choices[i]->tokens = first.tokens;
  scheduler_->fork(request, now_);
  request.first_token = now_;
  for (const auto& choice : request.choices) {
    // The record goes with its last choice or at an error; ended_ keeps it until the step is over.
    if (choice->state != SequenceState::kFinished) sample(*choice, logits);
  }
}

StatusOr<std::span<const uint32_t>> EngineCore::allowed_tokens(Sequence& sequence) {
  const Request& request = *sequence.request;
  const GenerationRequest& params = request.params();
  const bool may_end = sequence.output_tokens() >= params.min_tokens;
  if (request.spec.grammar == nullptr) {
    return may_end ? std::span<const uint32_t>() : std::span<const uint32_t>(request.not_ending);
  }
  if (sequence.grammar == nullptr) {
    std::vector<TokenId> stops = params.stop_token_ids;
    for (TokenId id = 0; id < model_.vocab_size(); ++id) {
      if ((end_tokens_[static_cast<size_t>(id / 32)] >> (id % 32) & 1U) != 0) stops.push_back(id);
    }
    StatusOr<std::unique_ptr<GrammarState>> state = GrammarState::make(request.spec.grammar, std::move(stops));
    if (!state.ok()) return state.status();
    sequence.grammar = std::move(*state);
  }
  allowed_.resize(end_tokens_.size());
  if (Status status = sequence.grammar->fill(allowed_); !status.ok()) return status;
  const auto any = [](uint32_t word) { return word != 0; };
  if (!std::any_of(allowed_.begin(), allowed_.end(), any) && !sequence.grammar->complete()) {
    return failed_precondition("the grammar leads nowhere from here: no token of this model goes on with it");
  }
  if (may_end) return std::span<const uint32_t>(allowed_);
  // Where the grammar leaves nothing but the end, the end is what the request asked for, min_tokens or not.
  bool goes_on = false;
  for (size_t i = 0; i < allowed_.size(); ++i) goes_on |= (allowed_[i] & request.not_ending[i]) != 0;
  for (size_t i = 0; goes_on && i < allowed_.size(); ++i) allowed_[i] &= request.not_ending[i];
  return std::span<const uint32_t>(allowed_);
}

void EngineCore::sample(Sequence& sequence, std::span<const float> logits) {
  Request& request = *sequence.request;
  const GenerationRequest& params = request.params();
  if (sequence.sampler == nullptr) {
    SamplingParams sampling = params.sampling;
    sampling.seed = choice_seed(sampling.seed, sequence.index);
    sequence.sampler = Sampler::make(sampling, model_.vocab_size(), request.spec.dry_breakers);
    sequence.sampler->accept_prompt(request.spec.prompt);
  }
  const bool may_end = sequence.output_tokens() >= params.min_tokens;
  const StatusOr<std::span<const uint32_t>> allowed = allowed_tokens(sequence);
  if (!allowed.ok()) return fail(request, allowed.status());
  const bool over = sequence.grammar != nullptr && sequence.grammar->complete() &&
                    std::all_of(allowed->begin(), allowed->end(), [](uint32_t word) { return word == 0; });
  if (over) return finish_choice(sequence, FinishReason::kStop);  // of a model without a token that ends
  const StatusOr<SampledToken> sampled =
      sequence.sampler->sample(logits, *allowed, static_cast<int64_t>(sequence.tokens.size()));
  if (!sampled.ok()) return fail(request, sampled.status());
  const TokenId token = sampled->token;
  sequence.sampler->accept(token);
  sequence.tokens.push_back(token);
  sequence.last_token = now_;
  request.last_token = now_;
  ++counters_.generated_tokens;
  const bool ends = ends_choice(request, token);
  if (ends && !params.include_stop_in_output) return finish_choice(sequence, FinishReason::kStop, {}, {token});
  if (sequence.grammar != nullptr && !ends) {
    if (Status status = sequence.grammar->accept(token); !status.ok()) return fail(request, status);
  }
  std::optional<PositionLogprobs> logprobs;
  if (params.logprobs >= 0) {
    logprobs = top_logprobs(logits, token, params.logprobs);
    set_bytes(*logprobs);
  }
  std::optional<GenerationEvent> event = sequence.output.push(token, std::move(logprobs), may_end);
  if (event) send(request, std::move(*event));
  if (sequence.output.stopped()) {
    return finish_choice(sequence, FinishReason::kStop, params.stop[static_cast<size_t>(sequence.output.stop())]);
  }
  if (ends) return finish_choice(sequence, FinishReason::kStop, {}, {token});
  if (static_cast<int32_t>(sequence.tokens.size()) == request.length_limit())
    finish_choice(sequence, FinishReason::kLength);
}

void EngineCore::finish_embedding(Sequence& sequence, std::span<const float> hidden) {
  Request& request = *sequence.request;
  if (!std::all_of(hidden.begin(), hidden.end(), [](float x) { return std::isfinite(x); })) {
    return fail(request, internal_error("the model gave an embedding that is not a number"));
  }
  request.first_token = request.last_token = now_;
  GenerationEvent event;
  event.finish = FinishReason::kStop;
  event.embedding.assign(hidden.begin(), hidden.end());
  end_choice(sequence, std::move(event));
}

bool EngineCore::ends_choice(const Request& request, TokenId token) const {
  const GenerationRequest& params = request.params();
  const bool end_of_generation = (end_tokens_[static_cast<size_t>(token / 32)] >> (token % 32) & 1U) != 0;
  if (end_of_generation && !params.ignore_eos) return true;
  return std::find(params.stop_token_ids.begin(), params.stop_token_ids.end(), token) != params.stop_token_ids.end();
}

void EngineCore::finish_choice(Sequence& sequence, FinishReason reason, std::string stop_reason,
                               std::vector<TokenId> stop_token) {
  GenerationEvent event;
  event.finish = reason;
  event.stop_reason = std::move(stop_reason);
  event.tokens = std::move(stop_token);
  end_choice(sequence, std::move(event));
}

void EngineCore::end_choice(Sequence& sequence, GenerationEvent&& finished) {
  Request& request = *sequence.request;
  if (!sequence.output.stopped()) {
    if (std::optional<GenerationEvent> rest = sequence.output.finish()) send(request, std::move(*rest));
  }
  scheduler_->finish(sequence, !request.spec.embed, now_);
  if (finished.finish == FinishReason::kStop) ++counters_.ended_stop;
  if (finished.finish == FinishReason::kLength) ++counters_.ended_length;
  if (finished.finish == FinishReason::kCancelled) ++counters_.ended_cancelled;
  finished.kind = GenerationEvent::Kind::kFinished;
  finished.index = sequence.index;
  send(request, std::move(finished));
  if (--request.unfinished == 0) end_request(request);
}

void EngineCore::send_prompt(Request& request) {
  const GenerationRequest& params = request.params();
  if (!params.echo && params.prompt_logprobs < 0) return;
  GenerationEvent event;
  event.kind = GenerationEvent::Kind::kPrompt;
  event.tokens = request.spec.prompt;
  if (params.echo) event.text = std::move(request.spec.prompt_text);
  event.logprobs = request.prompt_logprobs;
  send(request, std::move(event));
}

// A sink that throws ends its own request and nothing else.
void EngineCore::send(Request& request, GenerationEvent&& event) {
  if (!request.sink) return;
  try {
    request.sink(std::move(event));
  } catch (...) {
    request.sink = nullptr;
    deaf_.push_back(request.spec.id);
  }
}

void EngineCore::set_bytes(PositionLogprobs& logprobs) const {
  if (tokenizer_ == nullptr) return;
  const auto set = [&](TokenLogprob& t) {
    t.bytes = t.token < tokenizer_->vocab_size() ? tokenizer_->token_bytes(t.token) : "";
  };
  set(logprobs.chosen);
  for (TokenLogprob& t : logprobs.top) set(t);
}

RequestTimings EngineCore::timings(const Request& request) const {
  RequestTimings t;
  const Nanos arrival = request.spec.arrival;
  t.total = now_ - arrival;
  t.queued = (request.first_scheduled < 0 ? now_ : request.first_scheduled) - arrival;
  if (request.first_token < 0) return t;
  t.prefill = request.first_token - request.first_scheduled;
  t.ttft = request.first_token - arrival;
  t.decode = request.last_token - request.first_token;
  return t;
}

}  // namespace inferens
