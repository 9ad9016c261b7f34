// Which tokens of a vocabulary are special, in which sense: found in text by their spelling, and ending a generation.
#pragma once

#include <string_view>
#include <vector>

#include "text/special_matcher.h"
#include "text/vocabulary.h"

namespace inferens {

// What SpecialMatcher looks for. Control tokens only in trusted text. Of the tokens that the model's makers added as plain
// text, runs of spaces, words and HTML tags are found anywhere; those that look like a marker of the prompt (<think>,
// <tool_call>, <|im_start|>, [INST]) also only in trusted text, since a user who types one must not speak for the template.
std::vector<SpecialMatcher::Entry> special_entries(const Vocabulary& vocabulary, std::string_view family);

// EOS, end of turn, end of message, and control tokens known by their spelling to end an answer.
std::vector<TokenId> end_of_generation_tokens(const Vocabulary& vocabulary);

}  // namespace inferens
