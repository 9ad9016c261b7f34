// How a family of models marks calls of tools and reasoning in its replies. Found by the chat template, which shows the
// model its own notation.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferens {

enum class ToolFormat {
  kNone,      // calls are not looked for
  kHermes,    // <tool_call>{"name","arguments"}</tool_call>, or <function=…> tags inside (Qwen3-Coder)
  kLlama3,    // {"name","parameters"} as the whole reply, <|python_tag|> before it or not
  kPythonic,  // [f(a=1)]
  kMistral,   // [TOOL_CALLS][{"name","arguments"}] or [TOOL_CALLS]name[ARGS]{…}
  kDeepSeek,  // <｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>
  kKimi,      // <|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>
  kGemma,     // ```tool_code with calls as Python writes them, or JSON
  kHarmony,   // <|channel|>commentary to=functions.name<|message|>{…} (gpt-oss); reasoning is a channel too
  kJson,      // JSON of that shape, with or without a fence around it
};

// The sign that a call begins.
struct CallOpening {
  enum class Body {
    kJson,
    kTagged,   // JSON, or function tags
    kMistral,  // JSON, or a name before the arguments
    kNamed,
    kList,   // of calls as Python writes them
    kLines,  // the same without a list's brackets
  };
  std::string_view open;
  Body body = Body::kJson;
  std::array<std::string_view, 2> close = {};  // what follows a call, in this order; empty: nothing
  std::string_view separator = {};             // kNamed
  bool uncertain = false;                      // other text begins like this too: the name must be that of a tool
  bool first_only = false;                     // only where nothing but calls was said before
  bool part_of_body = false;
};

struct ToolFormatInfo {
  ToolFormat format;
  std::string_view name;  // in flags
  std::span<const CallOpening> openings;
  std::span<const std::string_view> frames;  // markers around several calls, which say nothing
};
const ToolFormatInfo& tool_format_info(ToolFormat format);

struct ReasoningMarkers {
  std::string_view name;  // in flags
  std::string_view begin;
  std::string_view end;
};

struct ReplyFormat {
  ToolFormat tools = ToolFormat::kNone;
  const ReasoningMarkers* reasoning = nullptr;  // null: none; with kHarmony channels instead
  bool template_has_tools = false;              // else definitions and results are told to the model in words
  bool template_has_reasoning_switch = false;

  bool can_reason() const { return reasoning != nullptr || tools == ToolFormat::kHarmony; }
};

// What a template shows. Never kNone: a template without tools gets a notation of ours (generic_tools.h).
ReplyFormat detect_reply_format(std::string_view template_source);

// Names of flags: "auto" is not among them. nullopt: unknown.
std::optional<ToolFormat> parse_tool_format(std::string_view name);
std::string tool_format_names();
// "none" is null.
std::optional<const ReasoningMarkers*> parse_reasoning_format(std::string_view name);
std::string reasoning_format_names();

// What a model writes where its reasoning ends and its answer begins.
std::string reasoning_end_text(const ReplyFormat& format);

// All markers that a reader of this format must see, even where special tokens are left out of the text.
std::vector<std::string_view> visible_markers(const ReplyFormat& format, bool with_tools);

}  // namespace inferens
