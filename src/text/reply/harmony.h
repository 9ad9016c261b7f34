// The notation of gpt-oss: a reply is a row of messages, each with a header that names its channel and, for a call of a
// tool, whom it is for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/reply/marker_finder.h"
#include "text/reply/reply_delta.h"

namespace inferens {

std::span<const std::string_view> harmony_markers();

class HarmonyParser {
 public:
  // with_calls: else messages to tools are content, as they are. The writer outlives the parser.
  HarmonyParser(bool with_calls, ReplyWriter& writer) : with_calls_(with_calls), writer_(writer) {}

  void push(char c);
  void finish();
  bool reasoning() const { return place_ == Place::kReasoning || (place_ == Place::kHeader && !answered_); }

 private:
  enum class Place { kHeader, kReasoning, kContent, kCall };

  void in_header(char c);
  void open_message();
  void write(std::string_view text);
  void end_message();

  const bool with_calls_;
  ReplyWriter& writer_;
  Place place_ = Place::kHeader;
  std::string header_;
  std::string partial_;  // of a marker, inside a message
  bool headed_ = false;  // the reply began as the notation says
  bool reasoned_ = false;
  bool answered_ = false;  // content or a call began
  bool first_in_message_ = true;
};

}  // namespace inferens
