// Calls as JSON objects. The object is checked while it comes; once its name and the beginning of its arguments are
// known, the arguments are passed on byte by byte.
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "text/reply/call_body.h"
#include "text/reply/json_scanner.h"
#include "text/reply/marker_finder.h"

namespace inferens {
namespace {

constexpr size_t kLongestKey = 64;

enum class Member { kName, kArguments, kId, kOther };

Member member_of(std::string_view key) {
  if (key == "name" || key == "tool_name") return Member::kName;
  if (key == "arguments" || key == "parameters" || key == "args") return Member::kArguments;
  if (key == "id" || key == "tool_call_id") return Member::kId;
  return Member::kOther;
}

// The text of a JSON string; nullopt: it is none, or does not hold valid UTF-8.
std::optional<std::string> string_value(const std::string& json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

// One object.
class JsonCall {
 public:
  JsonCall(const CallBody::Context& context, std::string& undecided)
      : context_(context), undecided_(undecided), until_close_(context.close) {}

  CallBody::State push(char c);
  bool begun() const { return begun_; }
  void finish() {
    if (!astray_) return;
    context_.writer.arguments(until_close_.take_held());
    context_.writer.end_call();
  }

 private:
  CallBody::State in_key(char c);
  CallBody::State in_value(char c, JsonScanner::State state);
  CallBody::State value_ended();
  CallBody::State object_ended();
  CallBody::State went_astray(char c);
  CallBody::State arguments_ended();
  bool take_name();
  void begin();

  const CallBody::Context& context_;
  std::string& undecided_;
  JsonScanner scanner_;
  std::string key_;
  bool reading_key_ = false;
  bool reading_value_ = false;
  Member member_ = Member::kOther;
  char first_ = 0;         // of the value that is read
  std::string value_;      // that value, as long as it can decide anything
  std::string name_;       // once it is known
  std::string arguments_;  // that came before the name
  std::string id_;
  bool has_arguments_ = false;
  bool begun_ = false;
  bool streaming_ = false;  // the value that is read is passed on
  bool astray_ = false;     // the arguments are no JSON: all up to the closing marker are passed on as they are
  MarkerFinder until_close_;
};

void JsonCall::begin() {
  context_.writer.begin_call(name_, id_);
  begun_ = true;
  undecided_.clear();
}

CallBody::State JsonCall::push(char c) {
  if (astray_) {
    std::string released;
    const bool closed = until_close_.push(c, released);
    context_.writer.arguments(released);
    if (closed) context_.writer.end_call();
    return closed ? CallBody::State::kEnded : CallBody::State::kMore;
  }
  const JsonScanner::Place before = scanner_.place();
  const size_t depth = scanner_.depth();
  const JsonScanner::State state = scanner_.push(c);
  if (state == JsonScanner::State::kBad) return went_astray(c);
  if (reading_key_) return in_key(c);
  if (depth == 1 && scanner_.place() == JsonScanner::Place::kString && before != JsonScanner::Place::kValue &&
      !reading_value_) {
    key_.clear();
    reading_key_ = true;
    return CallBody::State::kMore;
  }
  if (!reading_value_ && depth == 1 && before == JsonScanner::Place::kValue && !is_blank(c)) {
    reading_value_ = true;
    first_ = c;
    value_.clear();
    streaming_ = member_ == Member::kArguments && c == '{' && !name_.empty() && !begun_;
    if (member_ == Member::kArguments && c != '{' && c != '"' && c != 'n' && !begun_) return CallBody::State::kNone;
    if (streaming_) begin();
  }
  if (reading_value_) return in_value(c, state);
  return state == JsonScanner::State::kDone ? object_ended() : CallBody::State::kMore;
}

CallBody::State JsonCall::in_key(char c) {
  if (scanner_.place() != JsonScanner::Place::kColon) {
    key_ += c;
    return key_.size() > kLongestKey && !begun_ ? CallBody::State::kNone : CallBody::State::kMore;
  }
  reading_key_ = false;
  member_ = member_of(key_);
  // What only looks like a call has other things to say.
  const bool harmless = member_ != Member::kOther || key_ == "type" || key_ == "thought";
  return harmless || begun_ || !context_.known_only ? CallBody::State::kMore : CallBody::State::kNone;
}

CallBody::State JsonCall::in_value(char c, JsonScanner::State state) {
  const bool number = first_ == '-' || (first_ >= '0' && first_ <= '9');
  if (number && scanner_.place() != JsonScanner::Place::kNumber) {  // it ends with the byte behind it
    if (const CallBody::State ended = value_ended(); ended != CallBody::State::kMore) return ended;
    return state == JsonScanner::State::kDone ? object_ended() : CallBody::State::kMore;
  }
  if (streaming_) {
    context_.writer.arguments(std::string_view(&c, 1));
  } else if (!begun_) {
    value_ += c;
  }
  if (scanner_.depth() != 1 || scanner_.place() != JsonScanner::Place::kAfter) return CallBody::State::kMore;
  return value_ended();
}

CallBody::State JsonCall::value_ended() {
  reading_value_ = false;
  if (streaming_) {
    streaming_ = false;
    has_arguments_ = true;
    return CallBody::State::kMore;
  }
  if (begun_) return CallBody::State::kMore;
  if (member_ == Member::kId) id_ = string_value(value_).value_or(value_);
  if (member_ == Member::kName && !take_name()) return CallBody::State::kNone;
  if (member_ == Member::kArguments) return arguments_ended();
  if (member_ == Member::kName && has_arguments_) {
    begin();
    context_.writer.arguments(arguments_);
  }
  return CallBody::State::kMore;
}

bool JsonCall::take_name() {
  const std::optional<std::string> name = string_value(value_);
  if (!name || name->empty() || name->size() > kLongestToolName) return false;
  if (context_.known_only && !context_.tools.knows(*name)) return false;
  name_ = *name;
  return true;
}

// Arguments that were not passed on: before the name, as a string that holds JSON, or null.
CallBody::State JsonCall::arguments_ended() {
  if (value_.front() == '"') {
    const std::optional<std::string> inner = string_value(value_);
    if (!inner || !nlohmann::json::accept(*inner)) return CallBody::State::kNone;
    const std::string_view json = without_blanks(*inner);
    if (json.front() != '{') return CallBody::State::kNone;
    arguments_ = json;
  } else {
    arguments_ = value_.front() == 'n' ? "{}" : value_;
  }
  has_arguments_ = true;
  if (name_.empty()) return CallBody::State::kMore;
  begin();
  context_.writer.arguments(arguments_);
  return CallBody::State::kMore;
}

CallBody::State JsonCall::object_ended() {
  if (!begun_) {
    if (name_.empty() || context_.known_only) return CallBody::State::kNone;
    begin();
    context_.writer.arguments("{}");
  }
  context_.writer.end_call();
  return CallBody::State::kEnded;
}

CallBody::State JsonCall::went_astray(char c) {
  if (!begun_) return CallBody::State::kNone;
  if (!streaming_) {  // the arguments were whole; only what stands behind them is wrong
    context_.writer.end_call();
    return CallBody::State::kEndedBefore;
  }
  astray_ = true;
  return push(c);
}

class JsonCalls final : public CallBody {
 public:
  explicit JsonCalls(const Context& context) : context_(context) {}

  State push(char c) override;
  void finish() override {
    if (call_) call_->finish();
  }
  const std::string& undecided() const override { return undecided_; }

 private:
  State in_call(char c);
  State between(char c);

  Context context_;
  bool listed_ = false;
  bool ended_any_ = false;
  bool comma_ = false;
  std::string undecided_;
  std::optional<JsonCall> call_;
};

CallBody::State JsonCalls::push(char c) {
  return call_ ? in_call(c) : between(c);
}

CallBody::State JsonCalls::between(char c) {
  const State none = ended_any_ ? State::kEndedBefore : State::kNone;
  if (is_blank(c)) {
    if (undecided_.size() == kMostUndecided) return none;
    if (!ended_any_) undecided_ += c;
    return State::kMore;
  }
  if (c == '[' && !listed_) {
    listed_ = true;
    undecided_ += c;
    return State::kMore;
  }
  if (ended_any_ && c == ']') return State::kEnded;
  if (ended_any_ && c == ',' && !std::exchange(comma_, true)) return State::kMore;
  if (c != '{' || (ended_any_ && !comma_)) return none;
  comma_ = false;
  call_.emplace(context_, undecided_);
  return in_call(c);
}

CallBody::State JsonCalls::in_call(char c) {
  const State state = call_->push(c);
  if (!call_->begun()) {
    if (state == State::kNone || undecided_.size() == kMostUndecided) return State::kNone;
    undecided_ += c;
  }
  if (state == State::kMore || state == State::kNone) return state;
  call_.reset();
  ended_any_ = true;
  return listed_ && state == State::kEnded ? State::kMore : state;
}

}  // namespace

std::unique_ptr<CallBody> make_json_calls(const CallBody::Context& context) {
  return std::make_unique<JsonCalls>(context);
}

}  // namespace inferens
