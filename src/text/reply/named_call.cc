// Calls whose name stands before the arguments: DeepSeek's, Kimi's, and Mistral's newer ones.
#include <optional>
#include <utility>

#include "text/reply/call_body.h"
#include "text/reply/json_scanner.h"
#include "text/reply/marker_finder.h"

namespace inferens {
namespace {

constexpr size_t kLongestHead = 512;

struct Head {
  std::string name;
  std::string id;
};

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestToolName) return false;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u <= ' ' || std::string_view("{}[]()<>\"'`,").find(c) != std::string_view::npos) return false;
  }
  return true;
}

// What stands before the arguments: "NAME sep", "function sep NAME ```json" (DeepSeek V3), "functions.NAME:0 sep"
// (Kimi), "NAME[CALL_ID]ID sep" (Mistral).
std::optional<Head> read_head(std::string_view text, std::string_view separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view name = without_blanks(text.substr(0, at));
  std::string_view rest = without_blanks(text.substr(at + separator.size()));
  Head head;
  if (rest.ends_with("```json")) rest = without_blanks(rest.substr(0, rest.size() - 7));
  if (!rest.empty()) name = rest;
  constexpr std::string_view kCallId = "[CALL_ID]";
  if (const size_t id = name.find(kCallId); id != std::string_view::npos) {
    head.id = name.substr(id + kCallId.size());
    name = name.substr(0, id);
  }
  constexpr std::string_view kSpace = "functions.";
  if (const size_t colon = name.rfind(':'); name.starts_with(kSpace) && colon != std::string_view::npos) {
    head.id = name;
    name = name.substr(kSpace.size(), colon - kSpace.size());
  }
  if (!is_name(name)) return std::nullopt;
  head.name = name;
  return head;
}

class NamedCall final : public CallBody {
 public:
  NamedCall(const Context& context, std::string_view separator)
      : context_(context), separator_(separator), until_close_(context.close) {}

  State push(char c) override;
  void finish() override {
    if (!astray_) return;
    context_.writer.arguments(until_close_.take_held());
    context_.writer.end_call();
  }
  const std::string& undecided() const override { return head_; }

 private:
  State in_head(char c);

  Context context_;
  std::string_view separator_;
  std::string head_;
  bool begun_ = false;
  bool astray_ = false;
  JsonScanner arguments_;
  MarkerFinder until_close_;
};

CallBody::State NamedCall::in_head(char c) {
  if (c != '{') {
    if (head_.size() >= kLongestHead) return State::kNone;
    head_ += c;
    return State::kMore;
  }
  std::optional<Head> head = read_head(head_, separator_);
  if (!head || (context_.known_only && !context_.tools.knows(head->name))) return State::kNone;
  context_.writer.begin_call(std::move(head->name), std::move(head->id));
  head_.clear();
  begun_ = true;
  return push(c);
}

CallBody::State NamedCall::push(char c) {
  if (!begun_) return in_head(c);
  if (!astray_) {
    const JsonScanner::State state = arguments_.push(c);
    if (state != JsonScanner::State::kBad) {
      context_.writer.arguments(std::string_view(&c, 1));
      if (state == JsonScanner::State::kMore) return State::kMore;
      context_.writer.end_call();
      return State::kEnded;
    }
    astray_ = true;  // no JSON: all up to the closing marker is passed on as it is
  }
  std::string released;
  const bool closed = until_close_.push(c, released);
  context_.writer.arguments(released);
  if (closed) context_.writer.end_call();
  return closed ? State::kEnded : State::kMore;
}

}  // namespace

std::unique_ptr<CallBody> make_named_call(const CallBody::Context& context, std::string_view separator) {
  return std::make_unique<NamedCall>(context, separator);
}

}  // namespace inferens
