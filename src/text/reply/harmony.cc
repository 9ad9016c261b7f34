#include "text/reply/harmony.h"

#include <algorithm>
#include <array>
#include <utility>

namespace inferens {
namespace {

constexpr size_t kLongestHeader = 512;
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
// Those that end a message when they stand in it.
constexpr std::array<std::string_view, 4> kEnds = {"<|end|>", "<|start|>", "<|call|>", "<|return|>"};
constexpr std::array<std::string_view, 7> kAll = {"<|start|>", kChannel,     kMessage,       "<|end|>",
                                                  "<|call|>",  "<|return|>", "<|constrain|>"};

// The word behind `key` in a header.
std::string_view word_after(std::string_view header, std::string_view key) {
  const size_t at = header.rfind(key);  // what came before was given up
  if (at == std::string_view::npos) return {};
  std::string_view word = header.substr(at + key.size());
  while (!word.empty() && is_blank(word.front())) word.remove_prefix(1);
  return word.substr(0, std::min(word.find_first_of(" \n\t<"), word.size()));
}

// Can this text still become a header?
bool begins_header(std::string_view text) {
  const std::string_view bare = without_blanks(text);
  const auto begins = [&](std::string_view word) { return word.starts_with(bare.substr(0, word.size())); };
  return begins("to=") || begins("assistant") || std::any_of(kAll.begin(), kAll.end(), begins);
}

}  // namespace

std::span<const std::string_view> harmony_markers() {
  return kAll;
}

void HarmonyParser::push(char c) {
  if (place_ == Place::kHeader) return in_header(c);
  partial_ += c;
  while (!partial_.empty()) {
    const auto end = std::find(kEnds.begin(), kEnds.end(), partial_);
    if (end != kEnds.end()) {
      partial_.clear();
      return end_message();
    }
    const bool beginning = std::any_of(kEnds.begin(), kEnds.end(), [&](auto e) { return e.starts_with(partial_); });
    if (beginning) return;
    write(std::string_view(partial_).substr(0, 1));
    partial_.erase(0, 1);
  }
}

void HarmonyParser::in_header(char c) {
  header_ += c;
  if (std::string_view(header_).ends_with(kMessage)) {
    headed_ = true;
    return open_message();
  }
  // A reply without any header is said to the user.
  if ((headed_ || begins_header(header_)) && header_.size() < kLongestHeader) return;
  place_ = Place::kContent;
  answered_ = true;
  first_in_message_ = false;
  const std::string text = std::exchange(header_, {});
  for (const char h : text) push(h);
}

void HarmonyParser::open_message() {
  const std::string header = std::exchange(header_, {});
  const std::string_view channel = word_after(header, kChannel);
  std::string_view recipient = word_after(header, "to=");
  constexpr std::string_view kFunctions = "functions.";
  first_in_message_ = true;
  if (with_calls_ && recipient.starts_with(kFunctions) && recipient.size() > kFunctions.size()) {
    place_ = Place::kCall;
    answered_ = true;
    writer_.begin_call(std::string(recipient.substr(kFunctions.size())));
    return;
  }
  place_ = channel == "analysis" ? Place::kReasoning : Place::kContent;
  answered_ |= place_ == Place::kContent;
}

void HarmonyParser::write(std::string_view text) {
  if (place_ == Place::kCall) return writer_.arguments(text);
  if (place_ == Place::kContent) return writer_.content(text);
  if (std::exchange(first_in_message_, false) && std::exchange(reasoned_, true)) writer_.reasoning("\n");
  writer_.reasoning(text);
}

void HarmonyParser::end_message() {
  if (place_ == Place::kCall) writer_.end_call();
  place_ = Place::kHeader;
}

void HarmonyParser::finish() {
  if (place_ != Place::kHeader) {
    if (!partial_.empty()) write(std::exchange(partial_, {}));
    if (place_ == Place::kCall) writer_.end_call();
    return;
  }
  // A header that was begun says nothing; text that only might have become one does.
  if (!headed_ && header_.find("<|") == std::string::npos) writer_.content(header_);
}

}  // namespace inferens
