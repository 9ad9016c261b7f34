#include "text/special_tokens.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/log.h"

namespace inferens {
namespace {

// Longer spellings are no token anyone wrote on purpose; the bound keeps matching linear for hostile vocabularies.
constexpr size_t kLongestSpelling = 1024;

// HTML elements that published vocabularies hold as added tokens (Gemma's, with its own <bbox>).
constexpr std::string_view kElements[] = {
    "a",      "b",   "bbox", "blockquote", "body",  "caption", "code",  "div", "em",    "footer", "h1",  "h2", "h3",
    "h4",     "h5",  "h6",   "html",       "i",     "iframe",  "img",   "li",  "ol",    "p",      "pre", "s",  "span",
    "strong", "sub", "sup",  "table",      "tbody", "td",      "tfoot", "th",  "thead", "tr",     "u",   "ul"};

bool is_html_tag(std::string_view spelling) {
  std::string_view name = spelling.substr(1, spelling.size() - 2);
  if (name.starts_with('/')) name.remove_prefix(1);
  return std::find(std::begin(kElements), std::end(kElements), name) != std::end(kElements);
}

bool is_prompt_marker(std::string_view spelling) {
  if (spelling.size() < 3) return false;
  if (spelling.front() == '[') return spelling.back() == ']';
  return spelling.front() == '<' && spelling.back() == '>' && !is_html_tag(spelling);
}

constexpr std::string_view kEndings[] = {"<|eot_id|>",
                                         "<|eom_id|>",
                                         "<|im_end|>",
                                         "<|end|>",
                                         "<end_of_turn>",
                                         "<|endoftext|>",
                                         "<|end_of_text|>",
                                         "<EOT>",
                                         "_<EOT>",
                                         "[EOT]",
                                         "[EOS]",
                                         "<end_of_utterance>",
                                         "<|return|>",
                                         "<|call|>",
                                         "<|calls|>",
                                         "<|flush|>",
                                         "<turn|>",
                                         "<|eot|>",
                                         "<｜end▁of▁sentence｜>",
                                         "<|end_of_turn|>",
                                         "<|END_OF_TURN_TOKEN|>"};

}  // namespace

std::vector<SpecialMatcher::Entry> added_entries(const Vocabulary& vocabulary, AddedTokens which) {
  std::vector<SpecialMatcher::Entry> entries;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    const std::string_view spelling = vocabulary.spelling(id);
    const bool is_user_defined = kind == TokenKind::kUserDefined;
    if (!is_user_defined && kind != TokenKind::kControl && kind != TokenKind::kUnknown) continue;
    const bool is_plain = is_user_defined && !is_prompt_marker(spelling);
    if (spelling.empty() || is_plain != (which == AddedTokens::kPlain)) continue;
    if (spelling.size() > kLongestSpelling) {
      spdlog::warn("tokenizer.ggml.tokens: the added token {} is spelled with {} bytes; it is never found in text", id,
                   spelling.size());
      continue;
    }
    entries.push_back({std::string(spelling), id, !is_plain});
  }
  return entries;
}

std::vector<TokenId> end_of_generation_tokens(const Vocabulary& vocabulary) {
  std::vector<TokenId> ends;
  const auto add = [&](std::optional<TokenId> id) {
    if (id && std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  };
  add(vocabulary.eos);
  add(vocabulary.end_of_turn);
  add(vocabulary.end_of_message);
  for (std::string_view spelling : kEndings) {
    const auto id = vocabulary.find(spelling);
    if (id && vocabulary.kind(*id) != TokenKind::kNormal) add(id);
  }
  // The harmony format ends a message, not an answer, with <|end|>: the model may go on to its next channel.
  if (vocabulary.find("<|return|>") && vocabulary.find("<|call|>"))
    std::erase(ends, vocabulary.find("<|end|>").value_or(-1));
  return ends;
}

}  // namespace inferens
