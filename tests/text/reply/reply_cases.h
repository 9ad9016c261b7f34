// Replies of models, and what reading them gave, in a form that tests compare and print.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply/json_scanner.h"
#include "text/reply/reply_parser.h"

namespace inferens::testing {

struct ReadReply {
  std::string content;
  std::string reasoning;
  struct Call {
    std::string name;
    std::string arguments;
    std::string id;
    bool operator==(const Call&) const = default;
  };
  std::vector<Call> calls;
  int32_t calls_ended = 0;
  bool operator==(const ReadReply&) const = default;

  void take(std::vector<ReplyDelta> deltas) {
    for (ReplyDelta& d : deltas) {
      switch (d.kind) {
        case ReplyDelta::Kind::kContent:
          content += d.text;
          break;
        case ReplyDelta::Kind::kReasoning:
          reasoning += d.text;
          break;
        case ReplyDelta::Kind::kCall:
          calls.push_back({std::move(d.text), "", std::move(d.id)});
          break;
        case ReplyDelta::Kind::kArguments:
          if (calls.empty()) ADD_FAILURE() << "arguments before a call";
          if (!calls.empty()) calls.back().arguments += d.text;
      }
    }
  }
};

inline void PrintTo(const ReadReply& r, std::ostream* out) {
  *out << "content [" << r.content << "] reasoning [" << r.reasoning << "]";
  for (const auto& c : r.calls) *out << " call " << c.name << " (" << c.arguments << ") " << c.id;
}

inline std::shared_ptr<const ToolSet> tool_set(const std::string& json) {
  auto set = ToolSet::parse(json);
  EXPECT_TRUE(set.ok()) << set.status().message();
  return set.ok() ? *set : nullptr;
}

// get_weather(city: string, days: integer) and now().
inline std::shared_ptr<const ToolSet> weather_tools() {
  return tool_set(R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":
      {"city":{"type":"string"},"days":{"type":"integer"}}}}},{"type":"function","function":{"name":"now"}}])");
}

inline ReplyFormat format_named(std::string_view tools, std::string_view reasoning = "none") {
  ReplyFormat format;
  format.tools = parse_tool_format(tools).value();
  format.reasoning = parse_reasoning_format(reasoning).value();
  return format;
}

// In pieces that end at `cuts`, and the rest.
inline ReadReply read_in_pieces(const ReplyFormat& format, std::string_view text, const std::vector<size_t>& cuts,
                                bool open, std::shared_ptr<const ToolSet> tools) {
  ReplyParser parser(format, open, std::move(tools));
  ReadReply reply;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    reply.take(parser.push(text.substr(begin, cut - begin)));
    begin = cut;
  }
  reply.take(parser.push(text.substr(begin)));
  reply.take(parser.finish());
  reply.calls_ended = parser.calls_ended();
  return reply;
}

inline ReadReply read_reply(const ReplyFormat& format, std::string_view text, bool open = false,
                            std::shared_ptr<const ToolSet> tools = weather_tools()) {
  return read_in_pieces(format, text, {}, open, std::move(tools));
}

}  // namespace inferens::testing
