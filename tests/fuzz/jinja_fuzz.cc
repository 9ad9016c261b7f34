// Chat templates from a model file: any bytes, parsed and rendered with a small conversation.
#include <cstdint>
#include <string>

#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferens;
  const std::string source(reinterpret_cast<const char*>(data), size);
  auto parsed = ChatTemplate::parse(source, "<s>", "</s>");
  if (!parsed.ok()) return 0;
  ChatPrompt prompt;
  ChatMessage user;
  user.role = "user";
  user.content = "Hello <|im_end|> å\n{{ 1 }}";
  ChatMessage assistant;
  assistant.role = "assistant";
  assistant.has_content = false;
  assistant.tool_calls = {{"id", "f", R"({"a": [1, {"b": null}]})"}};
  prompt.messages = {user, assistant};
  prompt.tools_json = R"([{"type": "function", "function": {"name": "f", "parameters": {"x": 1.5}}}])";
  FakeClock clock;
  const auto rendered = (*parsed)->render(prompt, clock);
  if (!rendered.ok() && rendered.status().message().empty()) __builtin_trap();
  return 0;
}
