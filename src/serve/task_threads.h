// Long work that answers a stream, such as a pull: a thread of its own for each, so that requests never wait for it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve/http_message.h"

namespace inferens {

// Where a task writes to. Thread safe.
class TaskFeed {
 public:
  void write(std::string piece);
  // The last call: of a whole answer its response, of a stream only its end.
  void end(std::optional<HttpResponse> response = {});
  bool cancelled() const { return cancelled_; }  // the client or the server is gone

 private:
  friend class TaskAnswer;
  friend class TaskThreads;
  void wake_locked();

  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // guards all below
  std::string pending_;
  std::optional<HttpResponse> response_;
  bool ended_ = false;
  std::function<void()> wake_;
};

using Task = std::function<void(TaskFeed& feed)>;

class TaskThreads {
 public:
  ~TaskThreads();  // cancels and waits

  // The answer of a started task. `head` streams (then it is sent at once), or is replaced by what the task ends with.
  // Refused when too many run. `task` must not throw.
  std::unique_ptr<Answer> start(Task task, HttpResponse head, const ErrorForm& form);

 private:
  static constexpr size_t kMost = 8;

  struct Running {
    std::shared_ptr<TaskFeed> feed;
    std::shared_ptr<std::atomic<bool>> done;
    std::thread thread;
  };
  std::mutex mutex_;
  std::vector<Running> running_;
};

}  // namespace inferens
