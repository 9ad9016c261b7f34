#include "text/reply/reasoning_splitter.h"

#include <utility>

namespace inferens {
namespace {

constexpr size_t kMostBlanks = 256;

}  // namespace

void ReasoningSplitter::push(char c, ReplyWriter& writer, std::string& rest) {
  switch (place_) {
    case Place::kBefore:
      return before(c, rest);
    case Place::kInside:
      return inside(c, writer);
    case Place::kBehind:
      if (is_blank(c)) return;
      place_ = Place::kDone;
      [[fallthrough]];
    case Place::kDone:
      rest += c;
  }
}

void ReasoningSplitter::before(char c, std::string& rest) {
  if (partial_.empty() && is_blank(c) && blanks_.size() < kMostBlanks) {
    blanks_ += c;
    return;
  }
  partial_ += c;
  if (partial_ == begin_) {
    partial_.clear();
    blanks_.clear();
    place_ = Place::kInside;
  } else if (!begin_.starts_with(partial_)) {
    rest += std::exchange(blanks_, {}) + std::exchange(partial_, {});
    place_ = Place::kDone;
  }
}

void ReasoningSplitter::inside(char c, ReplyWriter& writer) {
  std::string released;
  const bool ended = end_.push(c, released);
  for (const char r : released) {
    if (is_blank(r) && (!said_ || blanks_.size() < kMostBlanks)) {
      if (said_) blanks_ += r;
      continue;
    }
    writer.reasoning(std::exchange(blanks_, {}));
    writer.reasoning(std::string_view(&r, 1));
    said_ = true;
  }
  if (!ended) return;
  blanks_.clear();
  place_ = Place::kBehind;
}

void ReasoningSplitter::finish(ReplyWriter& writer, std::string& rest) {
  if (place_ == Place::kBefore) rest += std::exchange(blanks_, {}) + std::exchange(partial_, {});
  if (place_ != Place::kInside) return;
  const std::string held = end_.take_held();
  if (!held.empty()) writer.reasoning(std::exchange(blanks_, {}) + held);
}

}  // namespace inferens
