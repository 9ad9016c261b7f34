// Template source to tokens, with trim_blocks and lstrip_blocks on, as Hugging Face sets them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferens::jinja {

struct Token {
  enum class Kind {
    kText,
    kBlockBegin,
    kBlockEnd,
    kOutputBegin,
    kOutputEnd,
    kName,
    kString,
    kInteger,
    kFloat,
    kOperator,
    kEnd
  };
  Kind kind = Kind::kEnd;
  int line = 1;
  std::string value;  // text, name, unescaped string, operator's spelling, number's digits without _
};

// Throws Failure (kSyntax) with the line. The last token is kEnd.
std::vector<Token> tokenize(std::string_view source);

}  // namespace inferens::jinja
