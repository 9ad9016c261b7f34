// Text and its builder: bytes beside a list of runs that say who wrote them.
#include "text/jinja/text.h"

#include <cstring>

#include <algorithm>

namespace inferens::jinja {
namespace {

constexpr uint64_t kTextOverhead = 160;  // counts, string and runs of one text, with what malloc adds

size_t count_code_points(std::string_view bytes) {
  const bool ascii =
      std::all_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return bytes.size();
  size_t count = 0;
  for_each_character(bytes, [&](const Character&) { ++count; });
  return count;
}

}  // namespace

size_t find_bytes(std::string_view text, std::string_view wanted, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const std::string_view rest = text.substr(from);
  if (wanted.empty()) return from;
  if (rest.empty()) return std::string_view::npos;  // memmem wants no null pointers
  const void* found = memmem(rest.data(), rest.size(), wanted.data(), wanted.size());
  return found ? from + static_cast<size_t>(static_cast<const char*>(found) - rest.data()) : std::string_view::npos;
}

size_t find_last_bytes(Budget& budget, std::string_view text, std::string_view wanted) {
  budget.step(text.size() / 64 * (wanted.size() / 64));
  const size_t found = text.rfind(wanted);
  budget.step((text.size() - (found == std::string_view::npos ? 0 : found)) / 64);
  return found;
}

Text::Text(std::string bytes, bool trusted) {
  if (bytes.empty()) return;
  auto rep = std::make_shared<Rep>();
  rep->length = count_code_points(bytes);
  rep->runs.push_back({bytes.size(), trusted});
  rep->bytes = std::move(bytes);
  rep_ = std::move(rep);
}

const std::vector<Text::Run>& Text::runs() const {
  static const std::vector<Run> kNone;
  return rep_ ? rep_->runs : kNone;
}

bool Text::trusted_at(size_t byte) const {
  const auto& all = runs();
  const auto run = std::upper_bound(all.begin(), all.end(), byte, [](size_t b, const Run& r) { return b < r.end; });
  return run != all.end() && run->trusted;
}

size_t Text::byte_of(size_t index) const {
  if (is_ascii()) return index;
  size_t byte = 0;
  for (; index > 0 && byte < size(); --index) byte += decode_utf8(view(), byte).length;
  return byte;
}

size_t Text::index_of(size_t byte) const {
  return is_ascii() ? byte : count_code_points(view().substr(0, byte));
}

Text Text::as_markup(bool markup) const {
  Text copy = *this;
  copy.markup_ = markup;
  return copy;
}

void TextBuilder::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  budget_.text(bytes.size(), bytes_.size() + bytes.size());
  append_charged(bytes, trusted);
}

void TextBuilder::append_charged(std::string_view bytes, bool trusted) {
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().trusted == trusted) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), trusted});
  }
}

void TextBuilder::append(const Text& text, size_t begin, size_t end) {
  if (begin >= end) return;
  const auto& runs = text.runs();
  auto run = std::upper_bound(runs.begin(), runs.end(), begin, [](size_t b, const Text::Run& r) { return b < r.end; });
  for (; begin < end && run != runs.end(); ++run) {
    const size_t stop = std::min(end, run->end);
    append(text.view().substr(begin, stop - begin), run->trusted);
    begin = stop;
  }
}

void TextBuilder::append_repeated(const Text& text, uint64_t count) {
  if (text.empty() || count == 0) return;
  if (count > kMaxTextBytes / text.size()) fail_limit("the template made a text above 8 MB");
  const size_t bytes = text.size() * static_cast<size_t>(count);
  if (text.runs().size() == 1) {
    budget_.text(bytes, bytes_.size() + bytes);
    std::string all;
    all.reserve(bytes);
    all += text.view();
    while (all.size() < bytes) all.append(all, 0, std::min(all.size(), bytes - all.size()));  // doubles
    append_charged(all, text.runs()[0].trusted);
  } else {
    for (uint64_t i = 0; i < count; ++i) append(text);
  }
}

Text TextBuilder::take() {
  if (bytes_.empty()) return Text();
  budget_.memory(kTextOverhead);
  auto rep = std::make_shared<Text::Rep>();
  rep->length = count_code_points(bytes_);
  rep->bytes = std::move(bytes_);
  rep->runs = std::move(runs_);
  bytes_.clear();
  runs_.clear();
  return Text(std::move(rep));
}

}  // namespace inferens::jinja
