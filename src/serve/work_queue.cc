#include "serve/work_queue.h"

#include <utility>

namespace inferens {

WorkQueue::WorkQueue(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

void WorkQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkQueue::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) queue_.push_back(std::exchange(work, nullptr));
  }
  if (work) return work();
  ready_.notify_one();
}

void WorkQueue::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
    }
    lock.lock();
  }
}

}  // namespace inferens
