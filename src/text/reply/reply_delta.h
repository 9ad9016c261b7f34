// What a model's answer is made of once its markers are taken apart: text, reasoning, and calls of tools, in the order
// in which they came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferens {

struct ReplyDelta {
  enum class Kind {
    kContent,
    kReasoning,
    kCall,       // a call begins
    kArguments,  // more of the last call's arguments: JSON, as the model wrote it
  };
  Kind kind = Kind::kContent;
  std::string text;  // kCall: the tool's name
  std::string id;    // kCall: the id that the model itself gave; mostly empty
};

// Collects deltas; pieces of one kind that follow each other become one.
class ReplyWriter {
 public:
  void content(std::string_view text) { add(ReplyDelta::Kind::kContent, text); }
  void reasoning(std::string_view text) { add(ReplyDelta::Kind::kReasoning, text); }
  void arguments(std::string_view json) { add(ReplyDelta::Kind::kArguments, json); }
  void begin_call(std::string name, std::string id = {}) {
    ++calls_begun_;
    deltas_.push_back({ReplyDelta::Kind::kCall, std::move(name), std::move(id)});
  }
  void end_call() { ++calls_ended_; }

  int32_t calls_begun() const { return calls_begun_; }
  int32_t calls_ended() const { return calls_ended_; }
  std::vector<ReplyDelta> take() { return std::exchange(deltas_, {}); }

 private:
  void add(ReplyDelta::Kind kind, std::string_view text) {
    if (text.empty()) return;
    if (deltas_.empty() || deltas_.back().kind != kind) deltas_.push_back({kind, {}, {}});
    deltas_.back().text += text;
  }

  std::vector<ReplyDelta> deltas_;
  int32_t calls_begun_ = 0;
  int32_t calls_ended_ = 0;
};

}  // namespace inferens
