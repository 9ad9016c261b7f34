// BERT's way from text to words, as the reference's BertNormalizer and BertPreTokenizer go it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferens {

struct BertRules {
  bool lowercase = true;
  bool strip_accents = true;
};

// Words without white space; a punctuation mark or a CJK ideograph is a word of its own. Bytes that are not UTF-8 count
// as U+FFFD, which is dropped, as the reference does.
std::vector<std::string> bert_words(std::string_view text, BertRules rules);

}  // namespace inferens
