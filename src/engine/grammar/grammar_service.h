// Who compiles grammars: one low-priority thread beside the engine's, so that a slow or hostile grammar delays nobody
// who has none. Every compile has a budget of memory and CPU time; what came of it, good or bad, is kept, and the least
// recently used goes first.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/work_budget.h"
#include "engine/grammar/grammar.h"
#include "inferens/generation.h"
#include "inferens/status.h"
#include "text/tokenizer.h"

namespace inferens {

struct GrammarOptions {
  WorkBudget::Limits budget = {.bytes = int64_t{512} << 20, .cpu_time = 20'000'000'000};  // of one compile
  size_t cache_bytes = size_t{256} << 20;
  size_t most_waiting = 256;  // compiles that may queue
};

class GrammarService {
 public:
  using Result = StatusOr<std::shared_ptr<const Grammar>>;

  GrammarService(std::shared_ptr<const Tokenizer> tokenizer, int32_t vocab_size, const GrammarOptions& options = {});
  ~GrammarService();  // what waits is told that it is cancelled
  GrammarService(const GrammarService&) = delete;
  GrammarService& operator=(const GrammarService&) = delete;

  // All thread safe. `done` is called once: at once when the constraint is refused or known already, else from the
  // compiling thread; it must be quick. invalid_argument: the constraint, or its compile needs more than the budget;
  // resource_exhausted: too many wait.
  void compile(const OutputConstraint& constraint, std::function<void(Result)> done);
  // The same, waiting.
  Result compile(const OutputConstraint& constraint);

  size_t cached_bytes() const;

 private:
  struct Job {
    std::string key;  // the source as the library takes it
    std::vector<std::function<void(Result)>> waiting;
  };
  struct Entry {
    std::string key;
    Result result;
    size_t bytes = 0;
  };

  void loop();
  Result run(const std::string& source);
  void keep(const std::string& key, const Result& result);
  std::optional<Result> find(const std::string& key);
  // What is known already; else `done` is moved to the job that will know.
  std::optional<Result> find_or_queue(const std::string& key, std::function<void(Result)>& done);

  const std::shared_ptr<const Tokenizer> tokenizer_;
  const int32_t vocab_size_;
  const GrammarOptions options_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;  // of the compiling thread, made when first needed

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable ready_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::unordered_map<std::string, std::shared_ptr<Job>> jobs_;  // queued or running
  std::list<Entry> entries_;                                    // last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> entry_of_;
  size_t bytes_ = 0;
  bool stopping_ = false;

  std::thread thread_;  // started by the first compile
};

}  // namespace inferens
