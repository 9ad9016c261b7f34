// Filling in the middle: what stands before and after a gap becomes a prompt whose continuation fills it, in the words of
// the model's training (Bavarian et al., arXiv 2207.14255: prefix, suffix, middle).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace inferens {

struct FillInPrompt {
  std::vector<TokenId> tokens;
  std::vector<TokenId> stops;  // what such a model says when the gap is full, besides the ends of any answer
};

// nullopt: the model was not trained for it, as its vocabulary has no such tokens.
std::optional<FillInPrompt> fill_in_prompt(const Tokenizer& tokenizer, std::string_view before, std::string_view after, bool add_special_tokens);

}  // namespace inferens
