#include "serve/task_threads.h"

#include <utility>

namespace inferens {

void TaskFeed::wake_locked() {
  if (wake_) wake_();
}

void TaskFeed::write(std::string piece) {
  const std::lock_guard lock(mutex_);
  pending_ += piece;
  wake_locked();
}

void TaskFeed::end(std::optional<HttpResponse> response) {
  const std::lock_guard lock(mutex_);
  response_ = std::move(response);
  ended_ = true;
  wake_locked();
}

class TaskAnswer final : public Answer {
 public:
  TaskAnswer(std::shared_ptr<TaskFeed> feed, HttpResponse head, ErrorForm form) : feed_(std::move(feed)), head_(std::move(head)), form_(std::move(form)) {}
  ~TaskAnswer() override {
    feed_->cancelled_ = true;
    on_news({});
  }
  TaskAnswer(const TaskAnswer&) = delete;
  TaskAnswer& operator=(const TaskAnswer&) = delete;

  News poll() override {
    News news;
    if (head_.streams && !std::exchange(head_sent_, true)) news.response = head_;
    const std::lock_guard lock(feed_->mutex_);
    news.piece = std::exchange(feed_->pending_, {});
    news.ended = feed_->ended_;
    if (news.ended && !head_.streams) news.response = std::move(feed_->response_);
    return news;
  }
  void on_news(std::function<void()> wake) override {
    const std::lock_guard lock(feed_->mutex_);
    feed_->wake_ = std::move(wake);
  }
  std::string failure(const ApiError& error) const override { return error_body(error, form_) + "\n"; }

 private:
  std::shared_ptr<TaskFeed> feed_;
  HttpResponse head_;
  ErrorForm form_;
  bool head_sent_ = false;
};

TaskThreads::~TaskThreads() {
  const std::lock_guard lock(mutex_);
  for (Running& r : running_) r.feed->cancelled_ = true;
  for (Running& r : running_) r.thread.join();
}

std::unique_ptr<Answer> TaskThreads::start(Task task, HttpResponse head, const ErrorForm& form) {
  const std::lock_guard lock(mutex_);
  std::erase_if(running_, [](Running& r) {
    if (*r.done) r.thread.join();
    return !r.thread.joinable();
  });
  if (running_.size() >= kMost) {
    return refuse({.http = 503, .type = "server_error", .code = "server_is_overloaded", .message = "too many such requests run already; try again later", .retry_after = 5}, form);
  }
  auto feed = std::make_shared<TaskFeed>();
  auto done = std::make_shared<std::atomic<bool>>(false);
  auto answer = std::make_unique<TaskAnswer>(feed, std::move(head), form);
  running_.push_back({feed, done, std::thread([task = std::move(task), feed, done] {
                        task(*feed);
                        *done = true;
                      })});
  return answer;
}

}  // namespace inferens
