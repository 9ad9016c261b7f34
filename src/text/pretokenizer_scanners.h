// The scanners behind Pretokenizer. Each is named after the pattern it follows; the patterns are the ones published in
// the families' tokenizer.json files and stand above the functions. tests/text/pretokenizer_test.cc holds them to
// PCRE2.
#pragma once

#include <cstddef>
#include <string_view>

namespace inferens::scanners {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2(std::string_view text, size_t start);

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
size_t llama3(std::string_view text, size_t start);
size_t qwen2(std::string_view text, size_t start);       // one \p{N}
size_t qwen35(std::string_view text, size_t start);      // as qwen2 with \p{M} beside \p{L}
size_t minicpm5(std::string_view text, size_t start);    // \p{N}+
size_t seed_coder(std::string_view text, size_t start);  // as qwen2 without [\r\n]* after punctuation
size_t ufakzeka(std::string_view text, size_t start);    // as qwen2 without contractions

// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
// |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
// |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
size_t o200k(std::string_view text, size_t start);
size_t tekken(std::string_view text, size_t start);  // without contractions, one \p{N}

// [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
size_t deepseek_v3(std::string_view text, size_t start);

// Stages of one class. "Isolated": a match is a piece, and so is what lies between two matches.
size_t single_newline(std::string_view text, size_t start);                // [\r\n]
size_t newline_runs(std::string_view text, size_t start);                  // [^\n]+|[\n]+
size_t single_number(std::string_view text, size_t start);                 // \p{N}
size_t up_to_three_numbers(std::string_view text, size_t start);           // \p{N}{1,3}
size_t number_runs(std::string_view text, size_t start);                   // \p{N}+
size_t falcon_digit_bytes(std::string_view text, size_t start);            // digits, after ByteLevel: see there
size_t three_ascii_digits(std::string_view text, size_t start);            // [0-9][0-9][0-9]
size_t punctuation_runs(std::string_view text, size_t start);              // [\p{P}\$\+<=>\^~\|`]+
size_t punctuation_runs_no_backtick(std::string_view text, size_t start);  // [\p{P}\$\+<=>\^~\|]+
size_t spaced_letters(std::string_view text, size_t start);                // \s?\p{L}+
size_t spaced_cased_letters(std::string_view text, size_t start);          // \s?[A-Za-zµÀ-Ö…]+ of deepseek-llm
size_t spaced_punctuation(std::string_view text, size_t start);            // \s?\p{P}+
size_t spaced_listed_punctuation(std::string_view text, size_t start);     // \s?[!-/:-~！-／：-～‘-‟　-。]+
size_t trailing_space(std::string_view text, size_t start);                // \s+$
size_t cjk_and_hangul_runs(std::string_view text, size_t start);           // [一-龥ࠀ-一가-퟿]+
size_t cjk_and_kana_runs(std::string_view text, size_t start);             // [一-龥぀-ゟ゠-ヿ]+
size_t bloom(std::string_view text, size_t start);                         //  ?[^(\s|.,!?…。，、।۔،)]+

}  // namespace inferens::scanners
