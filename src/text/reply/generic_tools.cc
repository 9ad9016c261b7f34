#include "text/reply/generic_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace inferens {
namespace {

constexpr std::string_view kBefore =
    "You can call these tools. Each line describes one of them, with its parameters as a JSON Schema:\n";
constexpr std::string_view kBehind =
    "\nTo call a tool, answer with one line for each call and nothing else:\n"
    "<tool_call>{\"name\": \"the tool's name\", \"arguments\": {\"parameter\": \"value\"}}</tool_call>\n"
    "The results come back to you inside of <tool_response> tags. Answer as usual when no tool is needed.";

std::string in_words(const std::string& tools_json) {
  std::string lines;
  const auto tools = nlohmann::ordered_json::parse(tools_json, nullptr, false);
  if (!tools.is_array()) return {};  // what it must be is checked where calls are read
  for (const auto& tool : tools) {
    const auto function = tool.is_object() && tool.contains("function") ? tool["function"] : tool;
    lines += function.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return std::string(kBefore) + lines + std::string(kBehind);
}

std::string call_in_words(const ToolCall& call) {
  const bool json = nlohmann::json::accept(call.arguments_json);
  const std::string name = nlohmann::json(call.name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string arguments = json ? call.arguments_json : nlohmann::json(call.arguments_json).dump();
  return "<tool_call>{\"name\": " + name + ", \"arguments\": " + arguments + "}</tool_call>";
}

void add_line(std::string& text, const std::string& line) {
  text += (text.empty() ? "" : "\n") + line;
}

void put_in_front(std::vector<ChatMessage>& messages, const std::string& words, bool knows_system) {
  const auto wanted = [&](const ChatMessage& m) { return m.role == (knows_system ? "system" : "user"); };
  const bool first_is_system = !messages.empty() && messages.front().role == "system";
  if (knows_system && !first_is_system) {
    messages.insert(messages.begin(), ChatMessage());
    messages.front().role = "system";
    messages.front().content = words;
    return;
  }
  const auto found = std::find_if(messages.begin(), messages.end(), wanted);
  if (found == messages.end()) return;
  found->content = knows_system ? found->content + "\n\n" + words : words + "\n\n" + found->content;
}

}  // namespace

ChatPrompt tell_tools_in_words(const ChatPrompt& prompt, bool knows_system) {
  ChatPrompt told = prompt;
  told.messages.clear();
  bool results_open = false;  // results that follow each other are one message, as the turns of a chat alternate
  for (const ChatMessage& message : prompt.messages) {
    if (message.role == "tool" || message.role == "function") {
      if (!results_open) {
        told.messages.emplace_back();
        told.messages.back().role = "user";
      }
      results_open = true;
      add_line(told.messages.back().content, "<tool_response>" + message.content + "</tool_response>");
      continue;
    }
    if (results_open && message.role == "user") {
      add_line(told.messages.back().content, message.content);
      results_open = false;
      continue;
    }
    results_open = false;
    ChatMessage& copy = told.messages.emplace_back(message);
    copy.tool_calls.clear();
    for (const ToolCall& call : message.tool_calls) add_line(copy.content, call_in_words(call));
    copy.has_content |= !message.tool_calls.empty();
  }
  if (!prompt.tools_json.empty()) put_in_front(told.messages, in_words(prompt.tools_json), knows_system);
  told.tools_json.clear();
  return told;
}

}  // namespace inferens
