#include "serve/fill_in.h"

#include <array>
#include <span>

namespace inferens {
namespace {

struct Spellings {
  std::string_view before, after, middle;
};

constexpr std::array<Spellings, 5> kFamilies = {{
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},     // Qwen, CodeGemma
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},           // StarCoder, Granite
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},           // SantaCoder
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},     // DeepSeek
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},                             // Code Llama
}};

// The next file of a repository, or no more of this one.
constexpr std::array<std::string_view, 6> kEnds = {"<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<fim_pad>", "<|file_separator|>", "▁<EOT>"};

// A word of ordinary text that happens to be spelled so is none.
std::optional<TokenId> marker(const Tokenizer& tokenizer, std::string_view spelling) {
  const std::optional<TokenId> id = tokenizer.find(spelling);
  return id && tokenizer.token_kind(*id) != TokenKind::kNormal ? id : std::nullopt;
}

}  // namespace

std::optional<FillInPrompt> fill_in_prompt(const Tokenizer& tokenizer, std::string_view before, std::string_view after, bool add_special_tokens) {
  for (const Spellings& family : kFamilies) {
    const std::array<std::optional<TokenId>, 3> ids = {marker(tokenizer, family.before), marker(tokenizer, family.after), marker(tokenizer, family.middle)};
    if (!ids[0] || !ids[1] || !ids[2]) continue;
    FillInPrompt prompt;
    if (add_special_tokens && tokenizer.adds_bos() && tokenizer.bos()) prompt.tokens.push_back(*tokenizer.bos());
    const auto add = [&](TokenId id, std::string_view text) {
      prompt.tokens.push_back(id);
      const std::vector<TokenId> tokens = tokenizer.encode(text, {.add_special = false, .parse_special = false});
      prompt.tokens.insert(prompt.tokens.end(), tokens.begin(), tokens.end());
    };
    add(*ids[0], before);
    add(*ids[1], after);
    add(*ids[2], "");
    for (const std::optional<TokenId>& id : ids) prompt.stops.push_back(*id);
    for (const std::string_view end : kEnds) {
      if (const std::optional<TokenId> id = marker(tokenizer, end)) prompt.stops.push_back(*id);
    }
    return prompt;
  }
  return std::nullopt;
}

}  // namespace inferens
