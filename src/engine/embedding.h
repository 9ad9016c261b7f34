// Embeddings by a causal model: the final-norm hidden state of each text's last token, which has seen all the others.
// A job is one call's texts; they run as requests of the engine beside everything else, some at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "engine/request.h"
#include "engine/request_id.h"
#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

class Engine;

struct EmbeddingRequest {
  std::vector<std::variant<std::string, std::vector<TokenId>>> inputs;  // ≥ 1, each of ≥ 1 token
  bool add_special_tokens = true;                                       // to texts, as the tokenizer's own rules say
  bool normalize = true;                                                // to length 1
  SchedulingClass scheduling_class = SchedulingClass::kChat;
  int32_t priority = 0;
  std::string api_key_id;
  std::string cache_salt;
};

struct EmbeddingResult {
  std::vector<std::vector<float>> embeddings;  // [input][hidden_size]
  TokenUsage usage;                            // all inputs together; no completion
  RequestTimings timings;  // queued, ttft: until the first input ran and was done; total: until the last was
};

// Called once, on the engine's thread; must be quick.
using EmbeddingSink = std::function<void(StatusOr<EmbeddingResult>&&)>;

// A running job. Thread safe.
class EmbeddingJob : public std::enable_shared_from_this<EmbeddingJob> {
 public:
  // Submits the first inputs, each a checked request. Errors of Engine::submit: then the sink is never called.
  static StatusOr<std::shared_ptr<EmbeddingJob>> start(Engine& engine, std::vector<TokenizedRequest> inputs,
                                                       bool normalize, EmbeddingSink sink);
  // The sink gets `cancelled` once all memory is back, unless the job ended before. Does not wait.
  void cancel();

 private:
  EmbeddingJob(Engine& engine, std::vector<TokenizedRequest> inputs, bool normalize, EmbeddingSink sink);
  void take(size_t input, GenerationEvent&& event);
  // Under the lock.
  Status submit_next();
  void submit_while_room();
  void stop(Status why);
  void add_up(const GenerationEvent& done);

  std::mutex mutex_;  // guards all below
  Engine* engine_;    // null once the job ended
  std::vector<TokenizedRequest> inputs_;
  bool normalize_;
  EmbeddingSink sink_;
  EmbeddingResult result_;
  std::vector<RequestId> running_;  // [input] 0: not submitted, or ended
  size_t next_ = 0;                 // input
  size_t live_ = 0;                 // inputs submitted and not ended
  Status problem_;                  // the first
};

}  // namespace inferens
