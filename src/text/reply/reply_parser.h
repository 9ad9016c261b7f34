// The text of one reply, in pieces as it is generated, to content, reasoning and calls of tools. The joined deltas
// depend on the text only, never on where it was cut into pieces; pieces of whole UTF-8 give deltas of whole UTF-8.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply/harmony.h"
#include "text/reply/reasoning_splitter.h"
#include "text/reply/reply_delta.h"
#include "text/reply/reply_format.h"
#include "text/reply/tool_call_parser.h"
#include "text/reply/tool_set.h"

namespace inferens {

class ReplyParser {
 public:
  // reasoning_open: the prompt ended inside of the reasoning. tools: null: calls are not looked for.
  ReplyParser(const ReplyFormat& format, bool reasoning_open, std::shared_ptr<const ToolSet> tools);
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  std::vector<ReplyDelta> push(std::string_view text);
  // The reply has ended: what was held back.
  std::vector<ReplyDelta> finish();

  bool reasoning() const;  // the next byte may belong to the reasoning
  int32_t calls_ended() const { return writer_.calls_ended(); }

 private:
  void push_rest();

  std::shared_ptr<const ToolSet> tools_;
  ReplyWriter writer_;
  std::optional<HarmonyParser> harmony_;
  std::optional<ReasoningSplitter> splitter_;
  std::optional<ToolCallParser> calls_;
  std::string rest_;
};

}  // namespace inferens
