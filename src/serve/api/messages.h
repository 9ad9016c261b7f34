// Small things about chat messages that several dialects need.
#pragma once

#include <string>
#include <utility>

#include "inferens/generation.h"

namespace inferens {

inline ChatMessage text_message(std::string role, std::string content) {
  ChatMessage message;
  message.role = std::move(role);
  message.content = std::move(content);
  return message;
}

}  // namespace inferens
