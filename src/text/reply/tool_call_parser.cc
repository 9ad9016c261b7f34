#include "text/reply/tool_call_parser.h"

#include <utility>

#include "text/reply/marker_finder.h"

namespace inferens {
namespace {

constexpr size_t kMostBlanks = 256;
// What was taken for a call is looked through again for the beginning of one, up to this length: reading hostile text
// many times over would take long.
constexpr size_t kMostReread = 256;

}  // namespace

void ToolCallParser::push(char c) {
  if (!reading_) return in_text(c);
  body_ ? in_body(c) : in_opening(c);
}

ToolCallParser::Match ToolCallParser::match(const CallOpening*& opening) const {
  bool beginning = false;
  const auto fits = [&](std::string_view marker) {
    beginning |= marker.starts_with(partial_);
    return marker == partial_;
  };
  if (after_call_) {
    for (size_t i = closed_; i < opening_->close.size(); ++i) {
      if (!opening_->close[i].empty() && fits(opening_->close[i])) return Match::kClose;
    }
  }
  for (const std::string_view frame : format_.frames) {
    if (fits(frame)) return Match::kFrame;
  }
  for (const CallOpening& o : format_.openings) {
    if (o.first_only && !at_start()) continue;
    if (!fits(o.open)) continue;
    opening = &o;
    return Match::kOpening;
  }
  return beginning ? Match::kBeginning : Match::kNone;
}

void ToolCallParser::in_text(char c) {
  partial_ += c;
  while (!partial_.empty()) {
    const CallOpening* opening = nullptr;
    switch (match(opening)) {
      case Match::kBeginning:
        return;
      case Match::kOpening:
        return begin_body(*opening);
      case Match::kFrame:
        partial_.clear();
        return;
      case Match::kClose:
        closed_ = partial_ == opening_->close[0] ? 1 : opening_->close.size();
        partial_.clear();
        return;
      case Match::kNone:
        release(partial_.front());
        partial_.erase(0, 1);
    }
  }
}

void ToolCallParser::release(char c) {
  if (is_blank(c) && blanks_.size() < kMostBlanks) {
    blanks_ += c;
    return;
  }
  if (!is_blank(c)) {
    // Between calls and what is said after them, blanks are part of the notation.
    if (after_call_) blanks_.clear();
    after_call_ = false;
    said_ = true;
  }
  writer_.content(std::exchange(blanks_, {}));
  writer_.content(std::string_view(&c, 1));
}

void ToolCallParser::begin_body(const CallOpening& opening) {
  reading_ = true;
  opening_ = &opening;
  calls_before_ = writer_.calls_begun();
  before_ = std::exchange(blanks_, {});
  const std::string marker = std::exchange(partial_, {});
  if (!opening.part_of_body) {
    before_ += marker;
    return;
  }
  body_ = body_for(marker.front());
  for (size_t i = 0; i < marker.size(); ++i) push(marker[i]);
}

std::unique_ptr<CallBody> ToolCallParser::body_for(char c) const {
  const CallBody::Context context{tools_, writer_, opening_->uncertain,
                                  opening_->close[opening_->close[1].empty() ? 0 : 1]};
  const bool json = c == '{' || c == '[';
  switch (opening_->body) {
    case CallOpening::Body::kJson:
      return json ? make_json_calls(context) : nullptr;
    case CallOpening::Body::kTagged:
      if (c == '<') return make_function_tags(context);
      return json ? make_json_calls(context) : nullptr;
    case CallOpening::Body::kMistral:
      return json ? make_json_calls(context) : make_named_call(context, opening_->separator);
    case CallOpening::Body::kNamed:
      return make_named_call(context, opening_->separator);
    case CallOpening::Body::kList:
      return make_python_calls(context, true);
    case CallOpening::Body::kLines:
      return make_python_calls(context, false);
  }
  return nullptr;
}

void ToolCallParser::in_opening(char c) {
  if (is_blank(c) && before_.size() < kMostBlanks) {
    before_ += c;
    return;
  }
  body_ = body_for(c);
  if (body_) return in_body(c);
  give_up();
  push(c);
}

void ToolCallParser::in_body(char c) {
  switch (body_->push(c)) {
    case CallBody::State::kMore:
      return;
    case CallBody::State::kEnded:
      return end_call();
    case CallBody::State::kEndedBefore:
      end_call();
      break;
    case CallBody::State::kNone:
      give_up();
      break;
  }
  push(c);
}

void ToolCallParser::end_call() {
  body_.reset();
  reading_ = false;
  after_call_ = true;
  closed_ = 0;
}

// What was taken for a call comes back as text, but for what was written already.
void ToolCallParser::give_up() {
  const bool began = writer_.calls_begun() > calls_before_;
  const std::string before = began ? std::string() : before_;
  const std::string undecided = body_ ? body_->undecided() : std::string();
  before_.clear();
  body_.reset();
  reading_ = false;
  if (began) {
    after_call_ = true;
    closed_ = 0;
  }
  for (const char c : before) release(c);
  // The byte that opened this call must not open it again.
  const size_t first = undecided.size() > kMostReread ? undecided.size() : opening_->part_of_body ? 1 : 0;
  for (size_t i = 0; i < undecided.size(); ++i) i < first ? release(undecided[i]) : push(undecided[i]);
}

void ToolCallParser::finish() {
  while (reading_) {
    if (body_) body_->finish();
    give_up();
  }
  // After a call nothing but blanks and a piece of its closing marker may be left.
  const CallOpening* none = nullptr;
  const bool piece_of_marker = after_call_ && !partial_.empty() && match(none) == Match::kBeginning;
  if (!piece_of_marker) {
    for (const char c : std::exchange(partial_, {})) release(c);
  }
  if (!after_call_) writer_.content(std::exchange(blanks_, {}));
}

}  // namespace inferens
