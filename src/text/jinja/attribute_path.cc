// Walks a dotted path with the rules of obj[key].
#include "text/jinja/attribute_path.h"

#include <algorithm>
#include <charconv>

#include "text/jinja/methods.h"
#include "text/jinja/operators.h"

namespace inferens::jinja {
namespace {

Value path_part(Budget& budget, const Text& path, size_t begin, size_t end) {
  const std::string_view part = path.view().substr(begin, end - begin);
  int64_t index = 0;
  const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool digits =
      !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits && parsed.ec == std::errc()) return Value(index);
  TextBuilder text(budget);
  text.append(path, begin, end);
  return Value(text.take());
}

}  // namespace

AttributePath::AttributePath(Runtime& runtime, const Value& attribute, bool ignore_case, Value default_value)
    : runtime_(&runtime), ignore_case_(ignore_case), default_(std::move(default_value)) {
  if (attribute.is_none()) return;
  if (!attribute.is_text()) {
    parts_.push_back(attribute);
    return;
  }
  const Text& path = attribute.text();
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.view().find('.', begin), path.size());
    parts_.push_back(path_part(runtime.budget(), path, begin, end));
    begin = end + 1;
  }
}

Value AttributePath::get(const Value& item) const {
  Value value = item;
  runtime_->budget().step(parts_.size());
  for (const Value& part : parts_) {
    value = get_item(*runtime_, value, part);
    if (value.is_undefined() && !default_.is_none()) value = default_;
  }
  if (ignore_case_ && value.is_text()) return Value(change_case(*runtime_, value.text(), Case::kLower));
  return value;
}

std::vector<AttributePath> split_attribute_paths(Runtime& runtime, const Value& attribute, bool ignore_case) {
  std::vector<AttributePath> paths;
  if (!attribute.is_text()) {
    paths.emplace_back(runtime, attribute, ignore_case);
    return paths;
  }
  const Text& text = attribute.text();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.view().find(',', begin), text.size());
    paths.emplace_back(runtime, Value(slice_text(runtime, text, begin, end)), ignore_case);
    begin = end + 1;
  }
  return paths;
}

}  // namespace inferens::jinja
