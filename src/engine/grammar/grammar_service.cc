#include "engine/grammar/grammar_service.h"

#include <sys/resource.h>

#include <utility>

#include "engine/grammar/grammar_check.h"

namespace inferens {
namespace {

// Beside a busy engine a compile gets about a seventh of one CPU: it ends, and steps are hardly longer.
constexpr int kNice = 8;
// An entry of the cache keeps its source, its hash table's node and its list's.
constexpr size_t kEntryOverhead = 256;

}  // namespace

GrammarService::GrammarService(std::shared_ptr<const Tokenizer> tokenizer, int32_t vocab_size,
                               const GrammarOptions& options)
    : tokenizer_(std::move(tokenizer)), vocab_size_(vocab_size), options_(options) {}

GrammarService::~GrammarService() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const std::shared_ptr<Job>& job : queue_) {
    for (const auto& done : job->waiting) done(cancelled("the model is being unloaded"));
  }
}

std::optional<GrammarService::Result> GrammarService::find(const std::string& key) {
  const auto found = entry_of_.find(key);
  if (found == entry_of_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->result;
}

void GrammarService::keep(const std::string& key, const Result& result) {
  const size_t bytes = (result.ok() ? (*result)->bytes() : 0) + 2 * key.size() + kEntryOverhead;
  if (bytes > options_.cache_bytes) return;
  entries_.push_front({key, result, bytes});
  entry_of_[key] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > options_.cache_bytes) {
    bytes_ -= entries_.back().bytes;
    entry_of_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::optional<GrammarService::Result> GrammarService::find_or_queue(const std::string& key,
                                                                    std::function<void(Result)>& done) {
  const std::lock_guard lock(mutex_);
  if (std::optional<Result> known = find(key)) return known;
  if (const auto running = jobs_.find(key); running != jobs_.end()) {
    running->second->waiting.push_back(std::move(done));
    return std::nullopt;
  }
  if (stopping_ || queue_.size() >= options_.most_waiting) {
    return resource_exhausted(std::to_string(queue_.size()) + " grammars wait to be compiled; retry later");
  }
  auto job = std::make_shared<Job>();
  job->key = key;
  job->waiting.push_back(std::move(done));
  jobs_.emplace(key, job);
  queue_.push_back(std::move(job));
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  ready_.notify_one();
  return std::nullopt;
}

void GrammarService::compile(const OutputConstraint& constraint, std::function<void(Result)> done) {
  const StatusOr<std::string> source = check_constraint(constraint);
  if (!source.ok()) return done(source.status());
  if (std::optional<Result> known = find_or_queue(*source, done)) done(std::move(*known));
}

GrammarService::Result GrammarService::compile(const OutputConstraint& constraint) {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Result> result;
  compile(constraint, [&](Result r) {
    const std::lock_guard lock(mutex);
    result = std::move(r);
    ended.notify_one();
  });
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return result.has_value(); });
  return std::move(*result);
}

size_t GrammarService::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

GrammarService::Result GrammarService::run(const std::string& source) {
  if (vocabulary_ == nullptr) {
    StatusOr<std::shared_ptr<const GrammarVocabulary>> made = GrammarVocabulary::make(*tokenizer_, vocab_size_);
    if (!made.ok()) return made.status();
    vocabulary_ = std::move(*made);
  }
  Result result = Grammar::compile(vocabulary_, source, options_.budget);
  return result.ok() ? result : Result(result.status().with_context("grammar"));
}

void GrammarService::loop() {
  setpriority(PRIO_PROCESS, 0, kNice);  // of this thread alone, on Linux
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const Result result = run(job->key);
    lock.lock();
    keep(job->key, result);
    jobs_.erase(job->key);
    const std::vector<std::function<void(Result)>> waiting = std::move(job->waiting);
    lock.unlock();
    for (const auto& done : waiting) done(result);
    lock.lock();
  }
}

}  // namespace inferens
