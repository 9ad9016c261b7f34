#include "serve/background_runs.h"

namespace inferens {

BackgroundRuns::~BackgroundRuns() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ready_.notify_one();
  }
  thread_.join();
}

void BackgroundRuns::wake() {
  const std::lock_guard lock(mutex_);
  news_ = true;
  ready_.notify_one();
}

void BackgroundRuns::add(const std::string& id, std::unique_ptr<Answer> answer) {
  answer->on_news([this] { wake(); });
  const std::lock_guard lock(mutex_);
  changes_.emplace_back(id, std::move(answer));
  ready_.notify_one();
}

void BackgroundRuns::drop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  changes_.emplace_back(id, nullptr);
  ready_.notify_one();
}

void BackgroundRuns::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    ready_.wait(lock, [&] { return stopping_ || news_ || !changes_.empty(); });
    news_ = false;
    auto changes = std::exchange(changes_, {});
    // Answers wake this thread from under locks of their own, so they are never called under ours.
    lock.unlock();
    for (auto& [id, answer] : changes) {
      if (answer) running_[id] = std::move(answer);
      else running_.erase(id);
    }
    std::erase_if(running_, [](auto& run) { return run.second->poll().ended; });
    lock.lock();
  }
  lock.unlock();
  running_.clear();
}

}  // namespace inferens
