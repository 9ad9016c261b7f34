// From a request to tokens on the caller's thread, then to the engine.
#include "engine/generator.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "engine/engine.h"
#include "engine/grammar/grammar_service.h"

namespace inferens {
namespace {

// The matcher's table grows by a kilobyte per byte of stop string.
constexpr size_t kMostStops = 64;
constexpr size_t kMostStopBytes = 1024;

Status check_stops(const GenerationRequest& request) {
  size_t bytes = 0;
  for (const std::string& stop : request.stop) {
    if (stop.empty()) return invalid_argument("stop holds an empty string, which would stop before the first token");
    bytes += stop.size();
  }
  if (request.stop.size() > kMostStops || bytes > kMostStopBytes) {
    return invalid_argument("stop has " + std::to_string(request.stop.size()) + " strings of " + std::to_string(bytes) +
                            " bytes together; at most " + std::to_string(kMostStops) + " and " +
                            std::to_string(kMostStopBytes) + " are taken");
  }
  return ok_status();
}

}  // namespace

StatusOr<std::unique_ptr<Generator>> Generator::make(Parts parts, const EngineOptions& options) {
  parts.info.vocab_size = parts.model->vocab_size();
  if (parts.info.trained_context == 0) parts.info.trained_context = parts.model->context_length();
  parts.info.hidden_size = parts.model->hidden_size();
  parts.info.has_chat_template = parts.chat_template != nullptr;
  StatusOr<std::unique_ptr<Engine>> engine = Engine::make(std::move(parts.model), parts.tokenizer, options);
  if (!engine.ok()) return engine.status();
  parts.info.context = (*engine)->context();
  parts.info.kv_bytes = (*engine)->kv_bytes();
  return std::unique_ptr<Generator>(new Generator(std::move(parts), std::move(*engine)));
}

Generator::Generator(Parts parts, std::unique_ptr<Engine> engine)
    : tokenizer_(std::move(parts.tokenizer)),
      chat_template_(std::move(parts.chat_template)),
      template_problem_(std::move(parts.template_problem)),
      info_(std::move(parts.info)),
      grammars_(std::make_unique<GrammarService>(tokenizer_, info_.vocab_size)),
      engine_(std::move(engine)) {}

Generator::~Generator() = default;

StatusOr<std::vector<TokenId>> Generator::prompt_tokens(const GenerationRequest& request) const {
  if (const auto* tokens = std::get_if<std::vector<TokenId>>(&request.prompt)) return *tokens;
  if (const auto* text = std::get_if<std::string>(&request.prompt)) {
    return tokenizer_->encode(*text, {.add_special = request.add_special_tokens, .parse_special = false});
  }
  if (chat_template_ == nullptr) {
    if (!template_problem_.ok()) return template_problem_.with_context("this model's chat template cannot be used");
    return failed_precondition("this model has no chat template; send a raw prompt or give a template");
  }
  StatusOr<std::vector<PromptPiece>> pieces =
      chat_template_->render(std::get<ChatPrompt>(request.prompt), engine_->clock());
  if (!pieces.ok()) return pieces.status();
  return tokenizer_->encode_pieces(*pieces, true);
}

StatusOr<RequestId> Generator::generate(GenerationRequest request, EventSink sink) {
  TokenizedRequest out;
  out.arrival = engine_->clock().now();
  if (Status status = check_stops(request); !status.ok()) return status;
  StatusOr<std::vector<TokenId>> prompt = prompt_tokens(request);
  if (!prompt.ok()) return prompt.status();
  out.prompt = std::move(*prompt);
  const auto length = static_cast<int64_t>(out.prompt.size());
  const int32_t context = engine_->context();
  const bool room = length < context || (length == context && request.max_tokens == 0);
  if (!room) {
    return invalid_argument("the prompt has " + std::to_string(length) +
                            " tokens and leaves no room for output; the context is " + std::to_string(context) +
                            " tokens");
  }
  out.max_tokens = request.max_tokens < 0 ? context - static_cast<int32_t>(length) : request.max_tokens;
  if (request.echo) {
    const auto* text = std::get_if<std::string>(&request.prompt);
    out.prompt_text = text != nullptr ? *text : tokenizer_->decode(out.prompt, request.skip_special_tokens);
  }
  if (request.sampling.dry_multiplier > 0) {
    for (const std::string& breaker : request.sampling.dry_sequence_breakers) {
      out.dry_breakers.push_back(tokenizer_->encode(breaker, {.add_special = false, .parse_special = false}));
    }
  }
  if (request.constraint) {
    if (request.ignore_eos) {
      return invalid_argument(
          "ignore_eos and a constraint of the output exclude each other: the grammar says where the end is");
    }
    GrammarService::Result grammar = grammars_->compile(*request.constraint);
    if (!grammar.ok()) return grammar.status();
    out.grammar = std::move(*grammar);
  }
  request.prompt = std::vector<TokenId>();
  out.params = std::move(request);
  return engine_->submit(std::move(out), std::move(sink));
}

void Generator::prepare(const OutputConstraint& constraint, std::function<void(Status)> done) const {
  grammars_->compile(constraint,
                     [done = std::move(done)](const GrammarService::Result& result) { done(result.status()); });
}

StatusOr<std::shared_ptr<EmbeddingJob>> Generator::embed(EmbeddingRequest request, EmbeddingSink sink) {
  if (request.inputs.empty()) return invalid_argument("there is no input to embed");
  TokenizedRequest one;
  one.embed = true;
  one.arrival = engine_->clock().now();
  one.params.scheduling_class = request.scheduling_class;
  one.params.priority = request.priority;
  one.params.api_key_id = std::move(request.api_key_id);
  one.params.cache_salt = std::move(request.cache_salt);
  std::vector<TokenizedRequest> inputs;
  for (auto& input : request.inputs) {
    if (auto* tokens = std::get_if<std::vector<TokenId>>(&input)) {
      one.prompt = std::move(*tokens);
    } else {
      one.prompt = tokenizer_->encode(std::get<std::string>(input),
                                      {.add_special = request.add_special_tokens, .parse_special = false});
    }
    if (Status status = engine_->check(one); !status.ok()) {
      return status.with_context("input " + std::to_string(inputs.size()));
    }
    inputs.push_back(one);
  }
  return EmbeddingJob::start(*engine_, std::move(inputs), request.normalize, std::move(sink));
}

Status Generator::generate_and_wait(GenerationRequest request, EventSink sink) {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Status result;
  const StatusOr<RequestId> id = generate(std::move(request), [&](GenerationEvent&& event) {
    const GenerationEvent::Kind kind = event.kind;
    const bool last = kind == GenerationEvent::Kind::kDone || kind == GenerationEvent::Kind::kError;
    Status error = kind == GenerationEvent::Kind::kError ? std::move(event.error) : ok_status();
    if (kind != GenerationEvent::Kind::kError) sink(std::move(event));
    if (!last) return;
    // Under the lock: the waiting thread may take all of this away as soon as it sees `done`.
    const std::lock_guard lock(mutex);
    result = std::move(error);
    done = true;
    ended.notify_one();
  });
  if (!id.ok()) return id.status();
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return done; });
  return result;
}

void Generator::cancel(RequestId id) {
  engine_->cancel(id);
}

EngineStats Generator::stats() const {
  return engine_->stats();
}

}  // namespace inferens
