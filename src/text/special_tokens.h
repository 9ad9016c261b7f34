// Which tokens of a vocabulary are special, in which sense: found in text by their spelling, and ending a generation.
#pragma once

#include <vector>

#include "text/special_matcher.h"
#include "text/vocabulary.h"

namespace inferens {

// What SpecialMatcher looks for. kMarkers: control tokens, and added tokens that look like a marker of the prompt
// (<think>, <tool_call>, <|im_start|>, [INST]); they are found only in trusted text, since a user who types one must
// not speak for the template. kPlain: other tokens that the model's makers added, such as runs of spaces, words, HTML
// tags; they are found anywhere.
enum class AddedTokens { kMarkers, kPlain };
std::vector<SpecialMatcher::Entry> added_entries(const Vocabulary& vocabulary, AddedTokens which);

// EOS, end of turn, end of message, and control tokens known by their spelling to end an answer.
std::vector<TokenId> end_of_generation_tokens(const Vocabulary& vocabulary);

}  // namespace inferens
