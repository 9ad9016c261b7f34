// docs/api/openai.md is made from the field tables, so that it cannot say anything else than the parser does. To write it
// anew: INFERENS_WRITE_DOCS=1 build/release/tests/test_serve --gtest_filter=DocsTest.*
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/file.h"
#include "serve/api/openai_call.h"

namespace inferens::testing {
namespace {

std::string number(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string range(const FieldInfo& f) {
  if (!std::isfinite(f.low) && !std::isfinite(f.high)) return "";
  return " " + number(f.low) + " … " + (f.high == 2147483647 ? "2³¹-1" : number(f.high));
}

std::string row(const FieldInfo& f) {
  std::string text = "| `" + std::string(f.name) + "` | ";
  if (f.treatment == Treatment::kRefuse) {
    text += "| refused by name";
    if (!f.harmless.empty()) text += "; `" + std::string(f.harmless) + "` passes";
  } else {
    text += kinds_in_words(f.kinds) + range(f) + " | " + (f.treatment == Treatment::kEcho ? "accepted, no effect" : "honoured");
  }
  if (f.required) text += ", required";
  if (!f.note.empty()) text += " | " + std::string(f.note);
  else text += " |";
  // A bar inside a cell ends it.
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool inside = text[i] == '|' && i > 0 && text[i - 1] != ' ' && i + 1 < text.size();
    escaped += inside ? "\\|" : std::string(1, text[i]);
  }
  return escaped + " |\n";
}

std::string table(OpenAiTables tables) {
  std::string text = "| field | type | here | note |\n|---|---|---|---|\n";
  for (const auto& fields : tables) {
    for (const OpenAiField& field : fields) text += row(field.info);
  }
  return text;
}

std::string page() {
  return "# OpenAI's API, field by field\n\n"
         "Made from the tables that the parser runs on (a test keeps it so). Null counts as absent. A value out of range, of another\n"
         "type or given twice is refused with 400 and named in `error.param`, and so is a field that is not in the table, unless the\n"
         "server was started with `--lenient`. Answers and streams are described in [serving.md](../serving.md).\n\n"
         "## POST /v1/chat/completions\n\n" +
         table(openai_chat_tables()) + "\n## POST /v1/completions\n\n" + table(openai_completion_tables());
}

TEST(DocsTest, TheFieldTablesAreDocumentedAsTheyAre) {
  const std::string path = std::string(INFERENS_SOURCE_DIR) + "/docs/api/openai.md";
  if (std::getenv("INFERENS_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(make_directories(std::string(INFERENS_SOURCE_DIR) + "/docs/api").ok());
    ASSERT_TRUE(write_file_atomically(path, page()).ok());
  }
  const auto text = read_file(path);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, page()) << "write it anew, see the head of this file";
}

}  // namespace
}  // namespace inferens::testing
