// A few threads for work that may take milliseconds (parsing, templates, tokenizing), so that neither the engine's nor the
// I/O thread has to.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace inferens {

class WorkQueue {
 public:
  explicit WorkQueue(int threads);
  ~WorkQueue() { stop(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Thread safe. `work` must not throw. After stop() it runs on the caller's thread.
  void run(std::function<void()> work);
  // Finishes what was put in and ends the threads.
  void stop();

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace inferens
