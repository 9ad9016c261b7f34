// Requests in, steps, and the end of requests. What comes out of a step's logits is in engine_core_output.cc.
#include "engine/engine_core.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/checked.h"

namespace inferens {
namespace {

// A request's choices share the prompt but each has a sampler, a text stream and a record.
constexpr int32_t kMostChoices = 128;
// Each is copied for every token, and for every prompt token when the prompt's are asked for.
constexpr int32_t kMostLogprobs = 20;
constexpr double kOverBudget = 1.5;

std::string number(int64_t n) {
  return std::to_string(n);
}

}  // namespace

StatusOr<std::unique_ptr<EngineCore>> EngineCore::make(Model& model, const Tokenizer* tokenizer,
                                                       const EngineOptions& options) {
  const std::vector<KvGroup>& groups = model.kv_groups();
  if (options.context < 0 || options.context > model.context_length()) {
    return invalid_argument("context " + number(options.context) + " is not between 1 and the " +
                            number(model.context_length()) + " tokens that the model was made for");
  }
  const int32_t context = options.context == 0 ? model.context_length() : options.context;
  std::vector<int32_t> pages =
      options.pages.empty() ? split_kv_memory(groups, options.kv_bytes, context) : options.pages;
  if (pages.size() != groups.size() || std::any_of(pages.begin(), pages.end(), [](int32_t n) { return n < 1; })) {
    return invalid_argument(number(static_cast<int64_t>(options.kv_bytes)) +
                            " bytes of KV memory do not hold a single page of this model; give it more");
  }
  StatusOr<std::unique_ptr<KvPool>> memory = model.make_kv_pool(pages);
  if (!memory.ok()) return memory.status().with_context("KV memory");
  std::unique_ptr<EngineCore> core(new EngineCore(model, tokenizer, options));
  core->kv_ =
      std::make_unique<KvCache>(groups, pages, std::move(*memory), options.prefix_cache, options.prefix_time_to_live);
  const int32_t capacity = core->kv_->capacity_tokens();
  if (options.context > capacity) {
    return invalid_argument("a context of " + number(options.context) +
                            " tokens does not fit the KV memory, which holds " + number(capacity) +
                            "; give it more memory or a smaller context");
  }
  core->context_ = std::min(context, capacity);
  for (size_t g = 0; g < groups.size(); ++g) core->kv_bytes_ += static_cast<uint64_t>(pages[g]) * groups[g].page_bytes;
  core->scheduler_ = std::make_unique<Scheduler>(options.scheduler, *core->kv_, core->cost_);
  return core;
}

EngineCore::EngineCore(Model& model, const Tokenizer* tokenizer, const EngineOptions& options)
    : model_(model),
      tokenizer_(tokenizer),
      clock_(options.clock == nullptr ? system_clock() : *options.clock),
      options_(options),
      end_tokens_(static_cast<size_t>(div_up(model.vocab_size(), 32)), 0) {
  for (TokenId id = 0; tokenizer != nullptr && id < std::min(model.vocab_size(), tokenizer->vocab_size()); ++id) {
    if (tokenizer->is_end_of_generation(id)) end_tokens_[static_cast<size_t>(id / 32)] |= 1U << (id % 32);
  }
}

EngineCore::~EngineCore() {
  cancel_all();
}

Status EngineCore::check(const TokenizedRequest& request) const {
  const GenerationRequest& p = request.params;
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt == 0) return invalid_argument("the prompt has no tokens");
  if (prompt + request.max_tokens > context_) {
    const bool by_memory = context_ < (options_.context == 0 ? model_.context_length() : options_.context);
    return invalid_argument("the prompt has " + number(prompt) + " tokens" +
                            (request.embed ? ""
                                           : " and max_tokens is " + number(request.max_tokens) + ", together " +
                                                 number(prompt + request.max_tokens)) +
                            "; the context is " + number(context_) + " tokens" +
                            (by_memory ? " (what the KV memory holds)" : ""));
  }
  if (request.max_tokens < 0) return invalid_argument("max_tokens is below 0");
  for (const TokenId token : request.prompt) {
    if (token < 0 || token >= model_.vocab_size()) {
      return invalid_argument("prompt token " + number(token) + " is not in the vocabulary of " +
                              number(model_.vocab_size()));
    }
  }
  for (const TokenId token : p.stop_token_ids) {
    if (token < 0 || token >= model_.vocab_size()) {
      return invalid_argument("stop token " + number(token) + " is not in the vocabulary of " +
                              number(model_.vocab_size()));
    }
  }
  if (p.n < 1 || p.n > kMostChoices) {
    return invalid_argument("n is " + number(p.n) + "; it must be between 1 and " + number(kMostChoices));
  }
  if (request.embed && (p.n != 1 || request.max_tokens != 0)) {
    return invalid_argument("an embedding has one choice and no output");
  }
  if (p.min_tokens < 0 || p.min_tokens > request.max_tokens) {
    return invalid_argument("min_tokens is " + number(p.min_tokens) + "; it must be between 0 and max_tokens, " +
                            number(request.max_tokens));
  }
  for (const auto& [name, k] : {std::pair("logprobs", p.logprobs), std::pair("prompt_logprobs", p.prompt_logprobs)}) {
    if (k > kMostLogprobs) return invalid_argument(name + (" is " + number(k)) + "; at most " + number(kMostLogprobs));
  }
  return validate_sampling(p.sampling, model_.vocab_size());
}

std::string EngineCore::tree_salt(const std::string& api_key_id, const std::string& cache_salt) {
  return api_key_id + '\0' + cache_salt;
}

void EngineCore::submit(TokenizedRequest spec, EventSink sink) {
  auto owned = std::make_unique<Request>();
  Request& request = *owned;
  request.spec = std::move(spec);
  request.sink = std::move(sink);
  const GenerationRequest& params = request.params();
  request.salt = tree_salt(params.api_key_id, params.cache_salt);
  request.computed.assign(request.spec.prompt.size(), false);
  request.unfinished = params.n;
  if (params.min_tokens > 0) {
    request.not_ending = end_tokens_;
    for (const TokenId id : params.stop_token_ids) request.not_ending[static_cast<size_t>(id / 32)] |= 1U << (id % 32);
    for (uint32_t& word : request.not_ending) word = ~word;
  }
  for (int32_t i = 0; i < params.n; ++i) {
    auto sequence = std::make_unique<Sequence>();
    sequence->request = &request;
    sequence->index = i;
    sequence->prompt_tokens = static_cast<int32_t>(request.spec.prompt.size());
    sequence->output = OutputStream(tokenizer_, params, i);
    sequence->kv.reset(kv_->groups());
    request.choices.push_back(std::move(sequence));
  }
  request.choices.front()->tokens = request.spec.prompt;
  ++counters_.requests;
  const RequestId id = request.spec.id;
  requests_.emplace(id, std::move(owned));
  scheduler_->add(request, clock_.now());
}

void EngineCore::cancel(RequestId id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  now_ = clock_.now();
  Request& request = *found->second;
  for (const auto& choice : request.choices) {
    if (choice->state != SequenceState::kFinished) finish_choice(*choice, FinishReason::kCancelled);
  }
  ended_.clear();
}

void EngineCore::cancel_all() {
  while (!requests_.empty()) cancel(requests_.begin()->first);
}

int32_t EngineCore::pin_prefix(const std::string& salt, std::span<const TokenId> tokens, Nanos until) {
  return kv_->tree().pin(salt, tokens, until);
}

bool EngineCore::step() {
  const Nanos begin = clock_.now();
  now_ = begin;
  kv_->tree().expire(begin);
  scheduler_->plan(begin, plan_);
  if (plan_.spans.empty()) return false;
  batch_.build(plan_, model_);
  batch_.run(model_, kv_->memory());
  now_ = clock_.now();
  const double ms = to_ms(now_ - begin);
  cost_.observe(plan_.load, ms);
  ++counters_.steps;
  counters_.step_ms += ms;
  if (ms > kOverBudget * plan_.budget_ms) ++counters_.over_budget_steps;
  for (size_t i = 0; i < plan_.spans.size(); ++i) complete(i);
  ended_.clear();
  for (const RequestId id : std::exchange(deaf_, {})) cancel(id);
  assert(check_invariants().ok());
  return true;
}

void EngineCore::bury(Request& request) {
  scheduler_->remove(request);
  const auto found = requests_.find(request.spec.id);
  ended_.push_back(std::move(found->second));  // spans of this step may still point to it
  requests_.erase(found);
}

void EngineCore::end_request(Request& request) {
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  done.usage.prompt_tokens = static_cast<int32_t>(request.spec.prompt.size());
  const auto computed = std::count(request.computed.begin(), request.computed.end(), true);
  done.usage.cached_tokens = request.covered - static_cast<int32_t>(computed);
  for (const auto& choice : request.choices) {
    if (!choice->tokens.empty()) done.usage.completion_tokens += choice->output_tokens();
  }
  done.timings = timings(request);
  counters_.prompt_tokens += done.usage.prompt_tokens;
  counters_.cached_tokens += done.usage.cached_tokens;
  send(request, std::move(done));
  bury(request);
}

void EngineCore::fail(Request& request, Status status) {
  for (const auto& choice : request.choices) {
    if (choice->state != SequenceState::kFinished) scheduler_->finish(*choice, false, now_);
  }
  ++counters_.ended_error;
  GenerationEvent event;
  event.kind = GenerationEvent::Kind::kError;
  event.error = std::move(status);
  send(request, std::move(event));
  bury(request);
}

void EngineCore::fill_stats(EngineStats& stats) const {
  stats = counters_;
  stats.queued_requests = scheduler_->queued_requests();
  stats.queued_tokens = scheduler_->queued_tokens();
  stats.live_requests = static_cast<int32_t>(requests_.size());
  stats.waiting_sequences = scheduler_->waiting();
  stats.running_sequences = static_cast<int32_t>(scheduler_->running().size());
  stats.pages.resize(kv_->groups());
  for (size_t g = 0; g < kv_->groups(); ++g) {
    stats.pages[g] = {kv_->pool(g).size(), kv_->pool(g).free_count(), kv_->available(g) - kv_->pool(g).free_count()};
  }
  const double token_ms = cost_.added_ms({1, 0, 0});
  stats.retry_after_seconds = std::max(1.0, static_cast<double>(stats.queued_tokens) * token_ms * 1e-3);
  stats.scheduler = scheduler_->stats();
  stats.prefix = kv_->tree().stats();
}

Status EngineCore::check_invariants() const {
  std::vector<const KvState*> states;
  for (const auto& [id, request] : requests_) {
    for (const auto& choice : request->choices) {
      const bool listed = std::count(scheduler_->running().begin(), scheduler_->running().end(), choice.get()) == 1;
      if (listed != choice->has_pages())
        return internal_error("a sequence's state and the list of running ones disagree");
      if (!choice->has_pages() && !choice->kv.pages.empty() && choice->kv.length != 0) {
        return internal_error("a sequence that waits holds pages");
      }
      states.push_back(&choice->kv);
    }
  }
  return kv_->check(states);
}

}  // namespace inferens
