// Calls as tags, one for each parameter. Values are plain text, so each becomes JSON as a whole: by the tool's schema,
// and where that does not say, by whether the text is JSON or a literal of Python.
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "text/reply/call_body.h"
#include "text/reply/marker_finder.h"
#include "text/reply/python_literal.h"

namespace inferens {
namespace {

constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";
constexpr size_t kLongestTag = 512;

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class FunctionTags final : public CallBody {
 public:
  explicit FunctionTags(const Context& context) : context_(context), value_end_(kParameterEnd) {}

  State push(char c) override {
    if (in_value_) return in_value(c);
    return name_.empty() ? opening(c) : between(c);
  }
  void finish() override {
    if (in_value_) write_parameter(value_ + value_end_.take_held());
    if (!name_.empty()) tag_.clear();  // a piece of the notation, not of the reply
  }
  const std::string& undecided() const override { return tag_; }

 private:
  State opening(char c);
  State between(char c);
  State in_value(char c);
  void end() {
    context_.writer.arguments(any_ ? "}" : "{}");
    context_.writer.end_call();
  }
  void write_parameter(std::string_view text);

  Context context_;
  std::string name_;
  std::string tag_;  // what was read of the tag
  std::string parameter_;
  std::string value_;
  bool in_value_ = false;
  bool any_ = false;  // parameters were written
  MarkerFinder value_end_;
};

CallBody::State FunctionTags::opening(char c) {
  if (tag_.empty() && is_blank(c)) return State::kMore;
  if (c == '>' && tag_.starts_with(kFunction)) {
    const std::string_view name = without_blanks(std::string_view(tag_).substr(kFunction.size()));
    if (name.empty() || name.size() > kLongestToolName) return State::kNone;
    if (context_.known_only && !context_.tools.knows(name)) return State::kNone;
    name_ = name;
    context_.writer.begin_call(name_);
    tag_.clear();
    return State::kMore;
  }
  const bool fits = tag_.size() < kFunction.size() ? kFunction[tag_.size()] == c : tag_.size() < kLongestTag;
  if (!fits) return State::kNone;
  tag_ += c;
  return State::kMore;
}

CallBody::State FunctionTags::between(char c) {
  if (tag_.empty() && is_blank(c)) return State::kMore;
  if (tag_.empty() && c != '<') {
    end();
    return State::kEndedBefore;
  }
  if (c == '>' && tag_ + c == kFunctionEnd) {
    tag_.clear();
    end();
    return State::kEnded;
  }
  if (c == '>' && tag_.starts_with(kParameter)) {
    parameter_ = without_blanks(std::string_view(tag_).substr(kParameter.size()));
    value_.clear();
    tag_.clear();
    in_value_ = true;
    return State::kMore;
  }
  if (c == '>' || tag_.size() == kLongestTag) {  // a tag that does not belong here
    end();
    return State::kNone;
  }
  tag_ += c;
  return State::kMore;
}

CallBody::State FunctionTags::in_value(char c) {
  const bool ended = value_end_.push(c, value_);
  if (!ended && value_.size() < kLongestParameter) return State::kMore;
  write_parameter(value_);
  in_value_ = false;
  if (ended) return State::kMore;
  end();
  return State::kEnded;
}

void FunctionTags::write_parameter(std::string_view text) {
  // The line breaks next to the tags belong to the notation.
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::optional<std::string> json;
  if (!context_.tools.is_string(name_, parameter_)) {
    json = nlohmann::json::accept(text) ? std::string(without_blanks(text)) : parse_python_value(text);
  }
  context_.writer.arguments((std::exchange(any_, true) ? ", " : "{") + json_string(parameter_) + ": " +
                            json.value_or(json_string(text)));
}

}  // namespace

std::unique_ptr<CallBody> make_function_tags(const CallBody::Context& context) {
  return std::make_unique<FunctionTags>(context);
}

}  // namespace inferens
