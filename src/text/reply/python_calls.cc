// Calls as Python writes them. The end of a call is found byte by byte; each is then read as a whole.
#include <optional>

#include "text/reply/call_body.h"
#include "text/reply/marker_finder.h"
#include "text/reply/python_literal.h"

namespace inferens {
namespace {

// The beginning of a name that Python, or a client's name for a tool, may have.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool in_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

class PythonCalls final : public CallBody {
 public:
  PythonCalls(const Context& context, bool listed) : context_(context), listed_(listed) {}

  State push(char c) override;
  const std::string& undecided() const override { return undecided_; }

 private:
  State between(char c);
  State in_call(char c);
  State call_ended();
  bool may_be_call() const;

  Context context_;
  const bool listed_;
  bool open_ = false;  // the list's bracket was read
  bool ended_any_ = false;
  bool comma_ = true;
  std::string undecided_;
  std::string call_;
  int depth_ = 0;       // of brackets
  bool named_ = false;  // the call's bracket was read
  char quote_ = 0;
  bool escaped_ = false;
};

CallBody::State PythonCalls::push(char c) {
  return call_.empty() ? between(c) : in_call(c);
}

CallBody::State PythonCalls::between(char c) {
  if (is_blank(c)) {
    if (undecided_.size() == kMostUndecided) return State::kNone;
    if (!ended_any_) undecided_ += c;
    return State::kMore;
  }
  if (listed_ && !open_) {
    if (c != '[') return State::kNone;
    open_ = true;
    undecided_ += c;
    return State::kMore;
  }
  if (ended_any_ && listed_ && c == ']') return State::kEnded;
  if (ended_any_ && !comma_ && c == ',') {
    comma_ = true;
    return State::kMore;
  }
  if (!begins_name(c) || (listed_ && !comma_)) return ended_any_ ? State::kEndedBefore : State::kNone;
  comma_ = false;
  depth_ = 0;
  named_ = false;
  return in_call(c);
}

bool PythonCalls::may_be_call() const {
  const std::string_view name = without_blanks(std::string_view(call_).substr(0, call_.find('(')));
  return !context_.known_only || context_.tools.knows(name) || name == "print";
}

CallBody::State PythonCalls::in_call(char c) {
  if (!named_ && c != '(' && !in_name(c)) return State::kNone;
  if (undecided_.size() == kMostUndecided) return State::kNone;
  call_ += c;
  undecided_ += c;
  if (quote_ != 0) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == quote_) {
      quote_ = 0;
    }
    return State::kMore;
  }
  if (c == '"' || c == '\'') quote_ = c;
  if (c == '(' && !std::exchange(named_, true) && !may_be_call()) {
    undecided_.pop_back();
    return State::kNone;
  }
  if (c == '(' || c == '[' || c == '{') ++depth_;
  if (c == ')' || c == ']' || c == '}') --depth_;
  return depth_ > 0 || !named_ ? State::kMore : call_ended();
}

CallBody::State PythonCalls::call_ended() {
  std::optional<PythonCall> call = parse_python_call(call_);
  constexpr std::string_view kPrint = "print(";
  if (!call && call_.starts_with(kPrint)) {  // some models print what the tool gives
    call = parse_python_call(std::string_view(call_).substr(kPrint.size(), call_.size() - kPrint.size() - 1));
  }
  if (!call || (context_.known_only && !context_.tools.knows(call->name))) {
    undecided_.pop_back();
    return State::kNone;
  }
  call_.clear();
  undecided_.clear();
  ended_any_ = true;
  context_.writer.begin_call(std::move(call->name));
  context_.writer.arguments(call->arguments_json);
  context_.writer.end_call();
  return State::kMore;
}

}  // namespace

std::unique_ptr<CallBody> make_python_calls(const CallBody::Context& context, bool listed) {
  return std::make_unique<PythonCalls>(context, listed);
}

}  // namespace inferens
