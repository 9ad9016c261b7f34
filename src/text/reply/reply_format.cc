#include "text/reply/reply_format.h"

#include <algorithm>
#include <iterator>

#include "text/reply/harmony.h"

namespace inferens {
namespace {

using Body = CallOpening::Body;

// JSON that was meant as a call although the model forgot how calls are marked. Small models do, coders above all.
constexpr CallOpening kFencedJson = {.open = "```json", .body = Body::kJson, .close = {"```"}, .uncertain = true};
constexpr CallOpening kPlainFence = {.open = "```\n", .body = Body::kJson, .close = {"```"}, .uncertain = true};
constexpr CallOpening kBareObject = {
    .open = "{", .body = Body::kJson, .uncertain = true, .first_only = true, .part_of_body = true};
constexpr CallOpening kBareArray = {
    .open = "[", .body = Body::kJson, .uncertain = true, .first_only = true, .part_of_body = true};

constexpr CallOpening kHermesOpenings[] = {
    {.open = "<tool_call>", .body = Body::kTagged, .close = {"</tool_call>"}},
    {.open = "<seed:tool_call>", .body = Body::kTagged, .close = {"</seed:tool_call>"}},
    {.open = "<function_call>", .body = Body::kJson, .close = {"</function_call>"}, .uncertain = true},
    {.open = "<tools>", .body = Body::kJson, .close = {"</tools>"}, .uncertain = true},
    {.open = "<function=", .body = Body::kTagged, .close = {"</tool_call>"}, .uncertain = true, .part_of_body = true},
    kFencedJson,
    kPlainFence,
    kBareObject,
    kBareArray,
};
constexpr CallOpening kLlama3Openings[] = {
    {.open = "<|python_tag|>", .body = Body::kJson, .close = {";"}},
    {.open = "{", .body = Body::kJson, .close = {";"}, .uncertain = true, .first_only = true, .part_of_body = true},
    kFencedJson,
    kBareArray,
};
constexpr CallOpening kPythonicOpenings[] = {
    {.open = "<|tool_call_start|>", .body = Body::kList, .close = {"<|tool_call_end|>"}},
    {.open = "<|python_start|>", .body = Body::kList, .close = {"<|python_end|>"}},
    {.open = "[", .body = Body::kList, .uncertain = true, .first_only = true, .part_of_body = true},
};
constexpr CallOpening kMistralOpenings[] = {
    {.open = "[TOOL_CALLS]", .body = Body::kMistral, .separator = "[ARGS]"},
    {.open = "[{", .body = Body::kJson, .uncertain = true, .first_only = true, .part_of_body = true},
};
constexpr CallOpening kDeepSeekOpenings[] = {
    {.open = "<｜tool▁call▁begin｜>",
     .body = Body::kNamed,
     .close = {"```", "<｜tool▁call▁end｜>"},
     .separator = "<｜tool▁sep｜>"},
};
constexpr std::string_view kDeepSeekFrames[] = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"};
constexpr CallOpening kKimiOpenings[] = {
    {.open = "<|tool_call_begin|>",
     .body = Body::kNamed,
     .close = {"<|tool_call_end|>"},
     .separator = "<|tool_call_argument_begin|>"},
};
constexpr std::string_view kKimiFrames[] = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"};
constexpr CallOpening kGemmaOpenings[] = {
    {.open = "```tool_code", .body = Body::kLines, .close = {"```"}},
    {.open = "```tool_call", .body = Body::kJson, .close = {"```"}},
    {.open = "```python", .body = Body::kLines, .close = {"```"}, .uncertain = true},
    kFencedJson,
    kBareObject,
    {.open = "[", .body = Body::kList, .uncertain = true, .first_only = true, .part_of_body = true},
};
constexpr CallOpening kJsonOpenings[] = {
    {.open = "<tool_call>", .body = Body::kTagged, .close = {"</tool_call>"}},
    {.open = "<tool_calls>", .body = Body::kJson, .close = {"</tool_calls>"}},
    {.open = "<TOOLCALL>", .body = Body::kJson, .close = {"</TOOLCALL>"}},
    {.open = "<|START_ACTION|>", .body = Body::kJson, .close = {"<|END_ACTION|>"}},
    {.open = "<|tool_call|>", .body = Body::kJson, .close = {"<|/tool_call|>"}},
    {.open = "```tool_code", .body = Body::kLines, .close = {"```"}, .uncertain = true},
    {.open = "```tool_call", .body = Body::kJson, .close = {"```"}, .uncertain = true},
    kFencedJson,
    kPlainFence,
    kBareObject,
    kBareArray,
};

constexpr ToolFormatInfo kFormats[] = {
    {ToolFormat::kNone, "none", {}, {}},
    {ToolFormat::kHermes, "hermes", kHermesOpenings, {}},
    {ToolFormat::kLlama3, "llama3", kLlama3Openings, {}},
    {ToolFormat::kPythonic, "pythonic", kPythonicOpenings, {}},
    {ToolFormat::kMistral, "mistral", kMistralOpenings, {}},
    {ToolFormat::kDeepSeek, "deepseek", kDeepSeekOpenings, kDeepSeekFrames},
    {ToolFormat::kKimi, "kimi", kKimiOpenings, kKimiFrames},
    {ToolFormat::kGemma, "gemma", kGemmaOpenings, {}},
    {ToolFormat::kHarmony, "harmony", {}, {}},
    {ToolFormat::kJson, "json", kJsonOpenings, {}},
};

constexpr ReasoningMarkers kReasoning[] = {
    {"think", "<think>", "</think>"},
    {"think-brackets", "[THINK]", "[/THINK]"},
    {"seed", "<seed:think>", "</seed:think>"},
    {"command", "<|START_THINKING|>", "<|END_THINKING|>"},
    {"thinking", "<thinking>", "</thinking>"},
    {"kimi", "◁think▷", "◁/think▷"},
    {"reasoning", "<reasoning>", "</reasoning>"},
};

struct Sign {
  std::string_view text;  // in a template
  ToolFormat format;
};
// The first that is found decides, so certain ones stand before those that other templates mention too.
constexpr Sign kSigns[] = {
    {"<|channel|>", ToolFormat::kHarmony},
    {"[TOOL_CALLS]", ToolFormat::kMistral},
    {"<｜tool▁call▁begin｜>", ToolFormat::kDeepSeek},
    {"<|tool_call_begin|>", ToolFormat::kKimi},
    {"<|tool_call_start|>", ToolFormat::kPythonic},
    {"<|python_start|>", ToolFormat::kPythonic},
    {"<tool_calls>", ToolFormat::kJson},
    {"<tool_call>", ToolFormat::kHermes},
    {"<seed:tool_call>", ToolFormat::kHermes},
    {"[func_name1(", ToolFormat::kPythonic},
    {"<|python_tag|>", ToolFormat::kLlama3},
    {"\"name\": function name, \"parameters\"", ToolFormat::kLlama3},
    {"tool_code", ToolFormat::kGemma},
};

}  // namespace

const ToolFormatInfo& tool_format_info(ToolFormat format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats), [&](const auto& f) { return f.format == format; });
}

ReplyFormat detect_reply_format(std::string_view source) {
  const auto has = [&](std::string_view text) { return source.find(text) != std::string_view::npos; };
  ReplyFormat format;
  format.template_has_tools = has("tools");
  format.template_has_reasoning_switch = has("enable_thinking") || has("reasoning_effort");
  format.tools = ToolFormat::kJson;
  for (const Sign& sign : kSigns) {
    if (!has(sign.text)) continue;
    format.tools = sign.format;
    break;
  }
  if (format.tools == ToolFormat::kHarmony) return format;
  for (const ReasoningMarkers& markers : kReasoning) {
    if (!has(markers.begin) && !has(markers.end)) continue;
    format.reasoning = &markers;
    break;
  }
  return format;
}

std::optional<ToolFormat> parse_tool_format(std::string_view name) {
  for (const ToolFormatInfo& info : kFormats) {
    if (info.name == name) return info.format;
  }
  return std::nullopt;
}

std::string tool_format_names() {
  std::string names;
  for (const ToolFormatInfo& info : kFormats) names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

std::optional<const ReasoningMarkers*> parse_reasoning_format(std::string_view name) {
  if (name == "none") return nullptr;
  for (const ReasoningMarkers& markers : kReasoning) {
    if (markers.name == name) return &markers;
  }
  return std::nullopt;
}

std::string reasoning_format_names() {
  std::string names = "none";
  for (const ReasoningMarkers& markers : kReasoning) names += ", " + std::string(markers.name);
  return names;
}

std::string reasoning_end_text(const ReplyFormat& format) {
  if (format.tools == ToolFormat::kHarmony) return "<|end|><|start|>assistant<|channel|>final<|message|>";
  return format.reasoning == nullptr ? std::string() : std::string(format.reasoning->end) + "\n\n";
}

std::vector<std::string_view> visible_markers(const ReplyFormat& format, bool with_tools) {
  std::vector<std::string_view> markers;
  if (format.reasoning != nullptr) markers = {format.reasoning->begin, format.reasoning->end};
  if (format.tools == ToolFormat::kHarmony) {
    const auto all = harmony_markers();
    markers.insert(markers.end(), all.begin(), all.end());
  }
  if (!with_tools) return markers;
  const ToolFormatInfo& info = tool_format_info(format.tools);
  for (const CallOpening& opening : info.openings) {
    for (const std::string_view text : {opening.open, opening.close[0], opening.close[1], opening.separator}) {
      if (!text.empty()) markers.push_back(text);
    }
  }
  markers.insert(markers.end(), info.frames.begin(), info.frames.end());
  if (format.tools == ToolFormat::kMistral) markers.push_back("[CALL_ID]");
  return markers;
}

}  // namespace inferens
