// Answers that nobody waits for on a connection: one thread fetches their events until they have ended.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/http_message.h"

namespace inferens {

class BackgroundRuns {
 public:
  BackgroundRuns() : thread_([this] { loop(); }) {}
  ~BackgroundRuns();  // drops what still runs
  BackgroundRuns(const BackgroundRuns&) = delete;
  BackgroundRuns& operator=(const BackgroundRuns&) = delete;

  // Thread safe, both; they do not wait.
  void add(const std::string& id, std::unique_ptr<Answer> answer);
  void drop(const std::string& id);  // unknown ids are ignored

 private:
  void loop();
  void wake();

  std::mutex mutex_;  // guards the four below
  std::condition_variable ready_;
  std::vector<std::pair<std::string, std::unique_ptr<Answer>>> changes_;  // null: to be dropped
  bool news_ = false;
  bool stopping_ = false;
  std::map<std::string, std::unique_ptr<Answer>> running_;  // the thread's own
  std::thread thread_;
};

}  // namespace inferens
