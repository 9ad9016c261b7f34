#include "text/reply/reply_parser.h"

#include <utility>

namespace inferens {

ReplyParser::ReplyParser(const ReplyFormat& format, bool reasoning_open, std::shared_ptr<const ToolSet> tools)
    : tools_(std::move(tools)) {
  if (format.tools == ToolFormat::kHarmony) {
    harmony_.emplace(tools_ != nullptr, writer_);
    return;
  }
  if (format.reasoning != nullptr) splitter_.emplace(*format.reasoning, reasoning_open);
  if (tools_ && format.tools != ToolFormat::kNone) calls_.emplace(tool_format_info(format.tools), *tools_, writer_);
}

bool ReplyParser::reasoning() const {
  if (harmony_) return harmony_->reasoning();
  return splitter_ && splitter_->reasoning();
}

void ReplyParser::push_rest() {
  if (calls_) {
    for (const char c : rest_) calls_->push(c);
  } else {
    writer_.content(rest_);
  }
  rest_.clear();
}

std::vector<ReplyDelta> ReplyParser::push(std::string_view text) {
  if (harmony_) {
    for (const char c : text) harmony_->push(c);
    return writer_.take();
  }
  if (!splitter_) rest_ = text;
  for (size_t i = 0; splitter_ && i < text.size(); ++i) {
    splitter_->push(text[i], writer_, rest_);
  }
  push_rest();
  return writer_.take();
}

std::vector<ReplyDelta> ReplyParser::finish() {
  if (harmony_) {
    harmony_->finish();
    return writer_.take();
  }
  if (splitter_) splitter_->finish(writer_, rest_);
  push_rest();
  if (calls_) calls_->finish();
  return writer_.take();
}

}  // namespace inferens
