// From a ChatPrompt to template variables, shaped as Hugging Face's apply_chat_template shapes them, and from the
// rendered text to pieces.
#include "text/chat_template.h"

#include <algorithm>
#include <array>

#include "text/jinja/characters.h"
#include "text/jinja/json.h"
#include "text/jinja/template.h"

namespace inferens {
namespace {

using jinja::DictBuilder;
using jinja::Runtime;
using jinja::Text;
using jinja::Value;
using jinja::Variables;

// Some templates spell control tokens with the role inside ("<|" + role + "|>"). These words cannot do harm there: each
// is a role such templates mean. Any other role is the caller's own text.
constexpr std::array<std::string_view, 8> kRoles = {"system",    "user",     "assistant", "tool",
                                                    "developer", "function", "ipython",   "model"};

// Appended to the message to continue, so that the place to cut is found in the rendered text (the trailing space tells
// whether the template trims). The same words as Hugging Face's.
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";
constexpr std::string_view kContinueTagBare = kContinueTag.substr(0, kContinueTag.size() - 1);

Text text_of(Runtime& runtime, std::string_view bytes, bool trusted) {
  jinja::TextBuilder text(runtime.budget());
  text.append(bytes, trusted);
  return text.take();
}
Value input(Runtime& runtime, std::string_view bytes) {
  return Value(text_of(runtime, bytes, false));
}
Value key(std::string_view name) {
  return Value(Text::trusted(std::string(name)));
}

Value role_value(Runtime& runtime, const std::string& role) {
  return Value(text_of(runtime, role, std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end()));
}

// Templates want the arguments as a mapping; what is not a JSON object stays the string it is.
Value arguments_value(Runtime& runtime, const std::string& json) {
  try {
    Value parsed = jinja::parse_json(runtime.budget(), json, "tool call arguments");
    if (parsed.is(jinja::Kind::kDict)) return parsed;
  } catch (const jinja::Failure& failure) {
    if (failure.kind() != jinja::Failure::Kind::kInput) throw;
  }
  return input(runtime, json);
}

Value tool_call_value(Runtime& runtime, const ToolCall& call) {
  DictBuilder function(runtime.budget());
  function.set(key("name"), input(runtime, call.name));
  function.set(key("arguments"), arguments_value(runtime, call.arguments_json));
  DictBuilder result(runtime.budget());
  if (!call.id.empty()) result.set(key("id"), input(runtime, call.id));
  result.set(key("type"), input(runtime, "function"));
  result.set(key("function"), Value(function.take()));
  return Value(result.take());
}

Value message_value(Runtime& runtime, const ChatMessage& message, std::string_view content_suffix) {
  DictBuilder result(runtime.budget());
  // gpt-oss reads the reasoning as `thinking`, everyone else as `reasoning_content`.
  if (!message.reasoning_content.empty()) result.set(key("thinking"), input(runtime, message.reasoning_content));
  result.set(key("role"), role_value(runtime, message.role));
  result.set(key("content"),
             message.has_content ? input(runtime, message.content + std::string(content_suffix)) : Value());
  if (!message.name.empty()) result.set(key("name"), input(runtime, message.name));
  if (!message.reasoning_content.empty())
    result.set(key("reasoning_content"), input(runtime, message.reasoning_content));
  if (!message.tool_calls.empty()) {
    std::vector<Value> calls;
    for (const ToolCall& call : message.tool_calls) calls.push_back(tool_call_value(runtime, call));
    result.set(key("tool_calls"), make_list(runtime.budget(), std::move(calls)));
  }
  if (!message.tool_call_id.empty()) result.set(key("tool_call_id"), input(runtime, message.tool_call_id));
  return Value(result.take());
}

void add_extra_variables(Runtime& runtime, const std::string& json, Variables& variables) {
  const Value extra = jinja::parse_json(runtime.budget(), json, "template variables");
  if (!extra.is(jinja::Kind::kDict)) jinja::fail_input("template variables: a JSON object is needed");
  for (const auto& [name, value] : extra.dict()->entries) {
    static constexpr std::array<std::string_view, 6> kReserved = {"messages",  "tools",     "add_generation_prompt",
                                                                  "bos_token", "eos_token", "continue_final_message"};
    const std::string_view spelled = name.text().view();
    if (std::find(kReserved.begin(), kReserved.end(), spelled) != kReserved.end()) {
      jinja::fail_input("template variables: '" + std::string(spelled) +
                        "' is set by the server and cannot be overridden");
    }
    variables.insert_or_assign(std::string(spelled), value);
  }
}

std::vector<PromptPiece> to_pieces(const Text& text, size_t end) {
  std::vector<PromptPiece> pieces;
  size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    const size_t stop = std::min(run.end, end);
    if (stop <= begin) break;
    pieces.push_back({std::string(text.view().substr(begin, stop - begin)), run.trusted});
    begin = stop;
  }
  return pieces;
}

// Where the text ends when the final message is left open.
StatusOr<size_t> find_cut(const Text& rendered, const std::string& content) {
  const std::string_view view = rendered.view();
  const size_t tag = view.rfind(kContinueTagBare);
  const std::string_view wanted = jinja::strip_left(jinja::strip_right(content));
  if (tag == std::string_view::npos || view.find(wanted) == std::string_view::npos) {
    return invalid_argument(
        "continue_final_message: the final message does not appear in the prompt as the chat template renders it; "
        "send it as a finished message, or without the parts that the template removes");
  }
  if (view.substr(tag, kContinueTag.size()) == kContinueTag) return tag;
  return jinja::strip_right(view.substr(0, tag)).size();  // the template trimmed the message
}

class JinjaChatTemplate final : public ChatTemplate {
 public:
  JinjaChatTemplate(std::string source, jinja::Template parsed, std::string bos_token, std::string eos_token)
      : source_(std::move(source)),
        template_(std::move(parsed)),
        bos_token_(std::move(bos_token)),
        eos_token_(std::move(eos_token)) {}

  const std::string& source() const override { return source_; }

  StatusOr<std::vector<PromptPiece>> render(const ChatPrompt& prompt, const Clock& clock) const override {
    if (Status status = check_continue(prompt); !status.ok()) return status;
    auto rendered =
        template_.render([&](Runtime& runtime, Variables& variables) { fill(runtime, prompt, variables); }, clock);
    if (!rendered.ok()) return rendered.status();
    if (!prompt.continue_final_message) return to_pieces(*rendered, rendered->size());
    auto cut = find_cut(*rendered, prompt.messages.back().content);
    if (!cut.ok()) return cut.status();
    return to_pieces(*rendered, *cut);
  }

 private:
  Status check_continue(const ChatPrompt& prompt) const {
    if (!prompt.continue_final_message) return ok_status();
    if (prompt.messages.empty()) return invalid_argument("continue_final_message: the conversation is empty");
    if (!prompt.messages.back().has_content) {
      return invalid_argument("continue_final_message: the final message has no content to continue");
    }
    if (source_.find("content") == std::string::npos) {
      return invalid_argument("continue_final_message: the model's chat template does not use message contents");
    }
    return ok_status();
  }

  void fill(Runtime& runtime, const ChatPrompt& prompt, Variables& variables) const {
    if (!prompt.template_kwargs_json.empty()) add_extra_variables(runtime, prompt.template_kwargs_json, variables);
    std::vector<Value> messages;
    for (const ChatMessage& message : prompt.messages) {
      const bool open = prompt.continue_final_message && &message == &prompt.messages.back();
      messages.push_back(message_value(runtime, message, open ? kContinueTag : ""));
    }
    variables.insert_or_assign("messages", make_list(runtime.budget(), std::move(messages)));
    Value tools;
    if (!prompt.tools_json.empty()) {
      tools = jinja::parse_json(runtime.budget(), prompt.tools_json, "tools");
      if (!tools.is(jinja::Kind::kSequence) && !tools.is_none()) jinja::fail_input("tools: a JSON array is needed");
    }
    variables.insert_or_assign("tools", tools);
    variables.emplace("documents", Value());
    variables.insert_or_assign("add_generation_prompt",
                               Value(prompt.add_generation_prompt && !prompt.continue_final_message));
    variables.insert_or_assign("bos_token", Value(Text::trusted(bos_token_)));
    variables.insert_or_assign("eos_token", Value(Text::trusted(eos_token_)));
  }

  std::string source_;
  jinja::Template template_;
  std::string bos_token_, eos_token_;
};

}  // namespace

StatusOr<std::unique_ptr<ChatTemplate>> ChatTemplate::parse(const std::string& source, const std::string& bos_token,
                                                            const std::string& eos_token) {
  auto parsed = jinja::Template::parse(source);
  if (!parsed.ok()) return parsed.status();
  return std::unique_ptr<ChatTemplate>(
      std::make_unique<JinjaChatTemplate>(source, *std::move(parsed), bos_token, eos_token));
}

}  // namespace inferens
