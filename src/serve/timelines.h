// What happened to the last requests, for GET /v1/requests/{id}/timeline. Kept in memory only, and for a while only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "serve/http_message.h"
#include "serve/request_recorder.h"

namespace inferens {

class Timelines {
 public:
  // Requests that are remembered.
  static constexpr size_t kKept = 1024;

  // Watches a request's generations for `prompts` prompts, and passes everything on to `next`.
  std::shared_ptr<RequestRecorder> recorder(const HttpRequest& request, const std::string& model, const Clock& clock, size_t prompts,
                                            std::shared_ptr<RequestRecorder> next);
  // The timeline as JSON. nullopt: unknown, forgotten, or of another key.
  std::optional<std::string> json(const std::string& id, const HttpRequest& asker) const;

  struct Record;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Record>> records_;
  std::deque<std::string> order_;
};

}  // namespace inferens
