// UTF-8 against Python's decoder: damaged text must be repaired the way every other tool does it.
#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/utf8.h"

namespace inferens {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

TEST(Utf8Golden, DamagedTextIsRepairedAsPythonRepairsIt) {
  auto file = read_file(INFERENS_TEST_DATA "/utf8/repaired.txt");
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  std::string_view rest = *file;
  int cases = 0;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    size_t tab = line.find('\t');
    std::string damaged = from_hex(line.substr(0, tab));
    std::string repaired = from_hex(line.substr(tab + 1));
    EXPECT_EQ(repair_utf8(damaged), repaired) << line;
    EXPECT_EQ(is_valid_utf8(damaged), damaged == repaired) << line;
    ++cases;
  }
  EXPECT_GT(cases, 2000);
}

TEST(Utf8Golden, EveryCodePointSurvivesAndSurrogatesDoNot) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c == 0xD800) c = 0xE000;
    std::string text;
    append_utf8(c, text);
    CodePoint decoded = decode_utf8(text, 0);
    ASSERT_TRUE(decoded.valid && decoded.value == c && decoded.length == text.size()) << std::hex << static_cast<uint32_t>(c);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(incomplete_utf8_suffix(std::string_view(text).substr(0, cut)), cut) << std::hex << static_cast<uint32_t>(c);
    }
  }
}

}  // namespace
}  // namespace inferens
