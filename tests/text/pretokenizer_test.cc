// Pre-tokenizers against their published patterns, run by PCRE2: one wrong cut and a model reads other tokens than it
// was trained on. And against time: no input may make a scanner slow.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>
#include <pcre2.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"

namespace inferens {
namespace {

// The reference's own reading of \s: White_Space. PCRE2's takes in U+180E.
constexpr const char* kSpace = R"([\t-\r\x{85}\p{Z}])";

std::string with_plain_spaces(std::string pattern) {
  // Inside a class the set goes in without its brackets; \S is only used as "(?!\S)".
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string two = pattern.substr(i, 2);
    if (two == R"(\s)") {
      out += depth > 0 ? R"(\t-\r\x{85}\p{Z})" : kSpace;
      ++i;
    } else if (two == R"(\S)") {
      out += R"([^\t-\r\x{85}\p{Z}])";
      ++i;
    } else if (pattern[i] == '\\') {
      out += two;
      ++i;
    } else {
      if (pattern[i] == '[') ++depth;
      if (pattern[i] == ']') --depth;
      out += pattern[i];
    }
  }
  return out;
}

class Pattern {
 public:
  explicit Pattern(const std::string& pattern) {
    const std::string plain = with_plain_spaces(pattern);
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(plain.data()), plain.size(), PCRE2_UTF | PCRE2_UCP, &error,
                              &at, nullptr));
    EXPECT_NE(code_, nullptr) << plain << " at " << at;
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  // Matches and what lies between them.
  std::vector<std::string> isolate(const std::string& text) const {
    std::vector<std::string> pieces;
    size_t done = 0;
    size_t from = 0;
    while (from < text.size()) {
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, 0,
                                    match_.get(), nullptr);
      if (found < 0) break;
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match_.get());
      if (span[1] == span[0]) {
        from = span[1] + 1;
        continue;
      }
      if (span[0] > done) pieces.push_back(text.substr(done, span[0] - done));
      pieces.push_back(text.substr(span[0], span[1] - span[0]));
      done = from = span[1];
    }
    if (done < text.size()) pieces.push_back(text.substr(done));
    return pieces;
  }

 private:
  struct Free {
    void operator()(pcre2_code* c) const { pcre2_code_free(c); }
    void operator()(pcre2_match_data* m) const { pcre2_match_data_free(m); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

struct Family {
  const char* name;
  std::vector<std::string> patterns;  // one for each stage
};

const std::string kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
const std::string kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
const std::string kContraction = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
const std::string kSpaces = R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string cl100k(const std::string& numbers) {
  return kContraction + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)" + numbers + R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)" + kSpaces;
}

std::string o200k(const std::string& contraction, const std::string& numbers) {
  const std::string prefix = R"([^\r\n\p{L}\p{N}]?)";
  return prefix + kUpper + "*" + kLower + "+" + contraction + "|" + prefix + kUpper + "+" + kLower + "*" + contraction +
         "|" + numbers + R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)" + kSpaces;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"default", {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {"gpt-2", {kGpt2}},
      {"smollm", {R"(\p{N})", kGpt2}},
      {"starcoder", {R"(\p{N})", kGpt2}},
      {"command-r", {R"(\p{N})", kGpt2}},
      {"llama-bpe", {cl100k(R"(\p{N}{1,3})")}},
      {"qwen2", {cl100k(R"(\p{N})")}},
      {"minicpm5", {R"(\p{N}{1,3})", cl100k(R"(\p{N}+)")}},
      {"qwen35", {kContraction + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" + kSpaces}},
      {"bailingmoe",
       {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}},
      {"seed-coder", {kContraction + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)" + kSpaces}},
      {"ufakzeka", {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" + kSpaces}},
      {"laguna", {R"([^\n]+|[\n]+)", cl100k(R"(\p{N})")}},
      {"gpt-4o", {o200k(kContraction + "?", R"(\p{N}{1,3})")}},
      {"o200k", {o200k(kContraction + "?", R"(\p{N}{1,3})")}},
      {"tekken", {o200k("", R"(\p{N})")}},
      {"deepseek-llm",
       {R"([\r\n])",
        "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿ\\x{1c4}-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿ\\x{386}\\x{388}-\\x{38a}Ό\\x{38e}-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-"
        "Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ"
        "Ḁ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ\\x{1f5f}-\\x{1f7d}ᾀ-ᾴᾶ-ᾼ\\x{1fbe}ῂ-ῄῆ-ῌ\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}Ῠ-Ῥ\\x{1fe0}-"
        "Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ"
        "\\x{2126}ℨ\\x{212a}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
        "\\s?[!-/:-~！-／：-～‘-‟\\x{3000}-。]+", R"(\s+$)", R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)",
        R"(\p{N}+)"}},
      {"deepseek-coder",
       {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)",
        R"(\p{N})"}},
      {"deepseek-v3",
       {R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)" +
            kSpaces}},
      {"bloom", {" ?[^(\\s|.,!?…。，、।۔،)]+"}},
      {"viking", {" ?[^(\\s|.,!?…。，、।۔،)]+", R"(\p{N})"}},
  };
  return all;
}

// Texts in which every alternative of every pattern meets every other: code points of all classes, and words in pieces.
std::string random_text(RandomSequence& random) {
  static const std::vector<std::string> parts = {"a",
                                                 "Z",
                                                 "b",
                                                 "K",
                                                 "x",
                                                 "1",
                                                 "2",
                                                 "9",
                                                 "0",
                                                 " ",
                                                 " ",
                                                 " ",
                                                 "  ",
                                                 "\t",
                                                 "\n",
                                                 "\r",
                                                 "\r\n",
                                                 "\x0b",
                                                 "'",
                                                 "'s",
                                                 "'S",
                                                 "'T",
                                                 "'re",
                                                 "'lL",
                                                 "'Ve",
                                                 "'m",
                                                 "'D",
                                                 "'",
                                                 "\"",
                                                 "(",
                                                 ")",
                                                 ".",
                                                 ",",
                                                 "!",
                                                 "?",
                                                 "/",
                                                 "//",
                                                 "-",
                                                 "_",
                                                 "$",
                                                 "+",
                                                 "<",
                                                 "=",
                                                 ">",
                                                 "^",
                                                 "~",
                                                 "|",
                                                 "`",
                                                 "@",
                                                 "#",
                                                 "\\",
                                                 "[",
                                                 "]",
                                                 "é",
                                                 "É",
                                                 "ß",
                                                 "ǅ",
                                                 "ʰ",
                                                 "ª",
                                                 "ſ",
                                                 "中",
                                                 "文",
                                                 "一",
                                                 "龥",
                                                 "の",
                                                 "ア",
                                                 "ー",
                                                 "가",
                                                 "힣",
                                                 "क",
                                                 "ि",
                                                 "्",
                                                 "م",
                                                 "ّ",
                                                 "ا",
                                                 "ก",
                                                 "ำ",
                                                 "\xCC\x81",
                                                 "\xE2\x83\x9D",
                                                 "١",
                                                 "²",
                                                 "½",
                                                 "Ⅷ",
                                                 "①",
                                                 "५",
                                                 "…",
                                                 "。",
                                                 "，",
                                                 "、",
                                                 "।",
                                                 "۔",
                                                 "،",
                                                 "“",
                                                 "”",
                                                 "‘",
                                                 "’",
                                                 "«",
                                                 "！",
                                                 "／",
                                                 "：",
                                                 "～",
                                                 "\xC2\xA0",
                                                 "\xE3\x80\x80",
                                                 "\xE2\x80\x83",
                                                 "\xE2\x80\xA8",
                                                 "\xC2\x85",
                                                 "\xE1\x9A\x80",
                                                 "€",
                                                 "™",
                                                 "☃",
                                                 "👍",
                                                 "🏽",
                                                 "\xE2\x80\x8D",
                                                 "\xEF\xB8\x8F",
                                                 "\xC2\xAD",
                                                 "\xE2\x80\x8B",
                                                 "\x01",
                                                 "\x7F",
                                                 "\xEE\x80\x80",
                                                 "Ω",
                                                 "Å",
                                                 "ﬁ",
                                                 "Ａ",
                                                 "ｚ",
                                                 "𐐀",
                                                 "𠮷",
                                                 "Ა",
                                                 "Ꮿ",
                                                 "ↄ",
                                                 "ο",
                                                 "Ῥ"};
  std::string text;
  for (uint64_t n = random.below(24) + 1; n > 0; --n) {
    const std::string& part = parts[random.below(parts.size())];
    for (uint64_t repeat = random.below(6) == 0 ? random.below(5) + 1 : 1; repeat > 0; --repeat) text += part;
  }
  return text;
}

std::vector<std::string> pieces_of(const Pretokenizer& pretokenizer, std::string_view text) {
  std::vector<std::string> pieces;
  pretokenizer.split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

class PublishedPattern : public testing::TestWithParam<Family> {};

TEST_P(PublishedPattern, CutsWhereItCuts) {
  auto pretokenizer = Pretokenizer::from_name(GetParam().name);
  ASSERT_TRUE(pretokenizer.ok()) << pretokenizer.status().to_string();
  std::vector<Pattern> stages;
  for (const std::string& pattern : GetParam().patterns) stages.emplace_back(pattern);
  RandomSequence random(11);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(random);
    std::vector<std::string> want = {text};
    for (const Pattern& stage : stages) {
      std::vector<std::string> finer;
      for (const std::string& piece : want) {
        for (std::string& p : stage.isolate(piece)) finer.push_back(std::move(p));
      }
      want = std::move(finer);
    }
    ASSERT_EQ(pieces_of(*pretokenizer, text), want) << testing::PrintToString(text);
  }
}

INSTANTIATE_TEST_SUITE_P(Pretokenizer, PublishedPattern, testing::ValuesIn(families()), [](const auto& test) {
  std::string name = test.param.name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Pretokenizer, BytesThatAreNoTextAreKept) {
  RandomSequence random(5);
  for (const Family& family : families()) {
    auto pretokenizer = Pretokenizer::from_name(family.name);
    ASSERT_TRUE(pretokenizer.ok());
    for (int i = 0; i < 300; ++i) {
      std::string text = random_text(random);
      for (int edits = 0; edits < 4; ++edits) text[random.below(text.size())] = static_cast<char>(random.below(256));
      std::string joined;
      for (const std::string& piece : pieces_of(*pretokenizer, text)) {
        EXPECT_FALSE(piece.empty());
        joined += piece;
      }
      EXPECT_EQ(joined, text) << family.name;
    }
  }
}

// A quadratic scanner would take hours here, and the test's time limit would end it.
TEST(Pretokenizer, NoInputTakesMoreThanLinearTime) {
  constexpr size_t kBytes = 1'000'000;
  for (const Family& family : families()) {
    auto pretokenizer = Pretokenizer::from_name(family.name);
    ASSERT_TRUE(pretokenizer.ok());
    for (const char* unit : {"A", " ", "\n", "a", "1", "'", "!", " \n", " a", "中A", "\xCC\x81", "A\xCC\x81", "\xFF",
                             " !", "a\xC2\xA0", "/\n"}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      size_t bytes = 0;
      pretokenizer->split(text, [&](std::string_view piece) { bytes += piece.size(); });
      ASSERT_EQ(bytes, text.size()) << family.name << ' ' << unit;
    }
  }
}

TEST(Pretokenizer, AnUnknownNameIsRefusedWithTheKnownOnes) {
  auto unknown = Pretokenizer::from_name("qwen-2");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(unknown.status().message().find("'qwen-2'"), std::string::npos);
  EXPECT_NE(unknown.status().message().find("qwen2"), std::string::npos);
  for (const char* name :
       {"default", "gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "deepseek-llm", "deepseek-coder", "deepseek-v3",
        "falcon", "starcoder", "command-r", "tekken", "gpt-4o", "o200k"}) {
    EXPECT_TRUE(Pretokenizer::from_name(name).ok()) << name;
  }
}

}  // namespace
}  // namespace inferens
