#include "store/http.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "store/http_exchange.h"

namespace inferens {
namespace {

constexpr int kMaxWaitSeconds = 60;

void wait_before(int attempt, std::optional<int> retry_after_s, const HttpOptions& options) {
  auto wait = std::chrono::milliseconds(int64_t{options.backoff_ms} << std::min(attempt, 5));
  if (retry_after_s) wait = std::max<std::chrono::milliseconds>(wait, std::chrono::seconds(std::clamp(*retry_after_s, 0, kMaxWaitSeconds)));
  std::this_thread::sleep_for(wait);
}

Status refuse_encoding(const HttpHead& head) {
  if (head.content_encoding.empty() || head.content_encoding == "identity") return ok_status();
  return data_loss("the server sends the file compressed (" + head.content_encoding.substr(0, 32) + "), which was not asked for");
}

// Decides at the head of a response how its body meets the bytes that are there.
class Download {
 public:
  Download(uint64_t expected_bytes, const std::string& what, IncomingFile& file, Progress& progress)
      : total_(expected_bytes), known_(expected_bytes > 0), what_(what), file_(file), progress_(progress) {}

  Status on_head(const HttpHead& head) {
    if (head.status == 416) {  // behind the end: what is there belongs to other content
      restart_needed_ = true;
      return ok_status();
    }
    if (head.status != 200 && head.status != 206) return ok_status();
    if (Status s = refuse_encoding(head); !s.ok()) return s;
    if (head.status == 200 && file_.size() > 0) {
      if (Status s = file_.restart(); !s.ok()) return s;
    }
    if (head.status == 206 && head.range_start.value_or(0) != file_.size()) return data_loss("the server sends another range of '" + what_ + "' than was asked for");
    uint64_t announced = head.status == 206 ? head.range_total.value_or(0) : head.content_length.value_or(0);
    if (known_ && announced != 0 && announced != total_) {
      return data_loss("'" + what_ + "' should have " + std::to_string(total_) + " bytes and the server announces " + std::to_string(announced));
    }
    if (!known_) total_ = announced;
    if (Status s = file_.set_validator(head.etag); !s.ok()) return s;
    if (total_ > 0) {
      if (Status s = file_.reserve(total_ - std::min(total_, file_.size())); !s.ok()) return s;
    }
    progress_.begin(what_, total_, file_.size());
    started_ = true;
    return ok_status();
  }

  Status on_body(std::span<const std::byte> bytes) {
    if (progress_.cancelled()) return cancelled("the pull was ended by its user; pull again, it goes on where it is");
    if (total_ > 0 && file_.size() + bytes.size() > total_) return data_loss("the server sends more than the " + std::to_string(total_) + " bytes of '" + what_ + "'");
    // Without an announced length the disk is asked as the file grows.
    if (total_ == 0) {
      if (Status s = file_.reserve(bytes.size()); !s.ok()) return s;
    }
    if (Status s = file_.append(bytes); !s.ok()) return s;
    progress_.advance(file_.size());
    return ok_status();
  }

  void end() {
    if (started_) progress_.end();
    started_ = false;
  }
  bool is_complete() const { return total_ > 0 && file_.size() == total_; }
  uint64_t total() const { return total_; }
  bool take_restart_needed() { return std::exchange(restart_needed_, false); }

 private:
  uint64_t total_;
  bool known_;
  const std::string& what_;
  IncomingFile& file_;
  Progress& progress_;
  bool started_ = false;
  bool restart_needed_ = false;
};

}  // namespace

StatusOr<HttpText> http_get_text(const HttpGet& request, size_t max_bytes, const HttpOptions& options) {
  AddressPolicy policy;
  for (int attempt = 0;; ++attempt) {
    HttpText text;
    HttpHandlers handlers;
    handlers.on_head = [&](const HttpHead& head) {
      text.link = head.link;
      return head.status < 300 ? refuse_encoding(head) : ok_status();
    };
    handlers.on_body = [&](std::span<const std::byte> bytes) {
      if (text.body.size() + bytes.size() > max_bytes) return data_loss("the server's answer is longer than " + std::to_string(max_bytes) + " bytes, which no such answer is");
      text.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return ok_status();
    };
    HttpOutcome outcome = http_exchange(request, 0, "", options, policy, handlers);
    if (outcome.status.ok()) return text;
    if (!outcome.may_retry || attempt + 1 >= options.attempts) return outcome.status;
    wait_before(attempt, outcome.retry_after_s, options);
  }
}

Status http_download(const HttpGet& request, uint64_t expected_bytes, const std::string& what, IncomingFile& file, const HttpOptions& options,
                     Progress& progress) {
  if (expected_bytes > 0 && file.size() == expected_bytes) return ok_status();
  if (expected_bytes > 0 && file.size() > expected_bytes) {
    if (Status s = file.restart(); !s.ok()) return s;
  }
  AddressPolicy policy;
  Download download(expected_bytes, what, file, progress);
  HttpHandlers handlers{[&](const HttpHead& head) { return download.on_head(head); }, [&](std::span<const std::byte> bytes) { return download.on_body(bytes); }};
  uint64_t most = file.size();
  for (int attempt = 0;; ++attempt) {
    // Without a hash to check at the end, half a file is only gone on with when the server can prove that it is the same.
    std::string validator = file.validator();
    if (file.size() > 0 && validator.empty() && expected_bytes == 0) {
      if (Status s = file.restart(); !s.ok()) return s;
    }
    uint64_t before = file.size();
    HttpOutcome outcome = http_exchange(request, before, validator, options, policy, handlers);
    download.end();
    if (outcome.status.ok()) {
      if (download.total() == 0 || download.is_complete()) return ok_status();
      outcome = {unavailable("the server ended '" + what + "' at " + std::to_string(file.size()) + " of " + std::to_string(download.total()) + " bytes; pull again, it goes on there"), true, {}};
    }
    if (download.take_restart_needed()) {
      if (Status s = file.restart(); !s.ok()) return s;
      outcome.may_retry = true;
    }
    if (!outcome.may_retry) return outcome.status;
    if (file.size() > most) attempt = 0;
    most = std::max(most, file.size());
    if (attempt + 1 >= options.attempts) return outcome.status;
    progress.note(outcome.status.message());
    wait_before(attempt, outcome.retry_after_s, options);
  }
}

}  // namespace inferens
