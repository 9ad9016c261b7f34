// Finds calls of tools in the text of a reply, as a format marks them. What is no call, in the end, comes back as
// content.
#pragma once

#include <memory>
#include <string>

#include "text/reply/call_body.h"
#include "text/reply/reply_format.h"

namespace inferens {

class ToolCallParser {
 public:
  // All outlive the parser.
  ToolCallParser(const ToolFormatInfo& format, const ToolSet& tools, ReplyWriter& writer)
      : format_(format), tools_(tools), writer_(writer) {}

  void push(char c);
  void finish();

 private:
  enum class Match { kNone, kBeginning, kOpening, kFrame, kClose };

  Match match(const CallOpening*& opening) const;
  bool at_start() const { return !said_ || after_call_; }
  void in_text(char c);
  void release(char c);
  void in_opening(char c);
  void begin_body(const CallOpening& opening);
  std::unique_ptr<CallBody> body_for(char c) const;
  void in_body(char c);
  void give_up();
  void end_call();

  const ToolFormatInfo& format_;
  const ToolSet& tools_;
  ReplyWriter& writer_;

  std::string blanks_;   // that belong to what follows: nothing, if that is a call
  std::string partial_;  // the beginning of a marker
  bool said_ = false;    // content was written
  bool after_call_ = false;
  size_t closed_ = 0;                     // closing markers of the last call that came
  const CallOpening* opening_ = nullptr;  // of the call that is read, and after it of the last one
  bool reading_ = false;
  std::string before_;  // text before the body that comes back if there is no call
  std::unique_ptr<CallBody> body_;
  int32_t calls_before_ = 0;
};

}  // namespace inferens
