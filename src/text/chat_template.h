// Chat messages to a prompt, by the model's own Jinja template. What the template itself says may hold special tokens; what
// came from messages never does: the result is pieces that carry the difference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "inferens/generation.h"
#include "inferens/status.h"
#include "text/tokenizer.h"

namespace inferens {

class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // Parses `source`. An error names line and reason; the caller keeps raw prompts working and reports it.
  static StatusOr<std::unique_ptr<ChatTemplate>> parse(const std::string& source, const std::string& bos_token,
                                                       const std::string& eos_token);
  // Renders. raise_exception's text comes back as invalid_argument, word for word. continue_final_message leaves the last
  // message open. Thread safe.
  virtual StatusOr<std::vector<PromptPiece>> render(const ChatPrompt& prompt, const Clock& clock) const = 0;
  virtual const std::string& source() const = 0;
};

}  // namespace inferens
