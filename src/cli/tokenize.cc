// inferens tokenize: how a model sees a text.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/utf8.h"
#include "cli/flags.h"
#include "cli/model_argument.h"
#include "cli/standard_input.h"
#include "cli/verbs.h"
#include "text/tokenizer.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Show a text as the model's tokens\n"
    "One line per token: its id and its bytes in quotes. Control tokens are recognized in the text only with --special.";
constexpr const char* kExamples = "  inferens tokenize smollm2 \"Hello world\"\n  inferens tokenize smollm2 --count < book.txt\n  inferens tokenize smollm2 --ids Hello";

struct Flags {
  std::string model;
  std::vector<std::string> text;
  bool ids = false;
  bool count = false;
  bool json = false;
  bool special = false;
  bool no_bos = false;
};

// Whole UTF-8 as a JSON string; in a token that is not, such as a part of a character, other than ASCII as \xNN.
std::string quoted(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return nlohmann::json(std::string(bytes)).dump();
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (unsigned char c : bytes) {
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
      continue;
    }
    out += "\\x";
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
  return out + "\"";
}

void print_json(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  nlohmann::ordered_json json;
  json["count"] = ids.size();
  json["ids"] = ids;
  json["pieces"] = nlohmann::ordered_json::array();
  for (TokenId id : ids) json["pieces"].push_back(repair_utf8(tokenizer.token_bytes(id)));
  std::printf("%s\n", json.dump().c_str());
}

void print_ids(const std::vector<TokenId>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) std::printf(i == 0 ? "%d" : " %d", ids[i]);
  std::printf("\n");
}

Status tokenize(const Flags& flags) {
  std::string text;
  for (const std::string& word : flags.text) text += (text.empty() ? "" : " ") + word;
  if (flags.text.empty()) {
    auto input = read_standard_input(LineBreakAtEnd::kKeep);
    if (!input.ok()) return input.status();
    text = *input;
  }
  ModelStore store(home_directory());
  auto model = resolve_model(store, flags.model);
  if (!model.ok()) return model.status();
  auto file = GgufFile::open(model->path);
  if (!file.ok()) return file.status();
  auto tokenizer = Tokenizer::from_gguf(*file);
  if (!tokenizer.ok()) return tokenizer.status().with_context("'" + model->path + "'");
  std::vector<TokenId> ids = (*tokenizer)->encode(text, {.add_special = !flags.no_bos, .parse_special = flags.special});
  if (flags.json) print_json(**tokenizer, ids);
  else if (flags.count) std::printf("%zu\n", ids.size());
  else if (flags.ids) print_ids(ids);
  else for (TokenId id : ids) std::printf("%7d  %s\n", id, quoted((*tokenizer)->token_bytes(id)).c_str());
  return ok_status();
}

}  // namespace

void add_tokenize(Verbs& verbs) {
  CLI::App& verb = verbs.add("tokenize", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "MODEL", flags->model, "A name in the store, a path or a source", true);
  verb.add_option("TEXT", flags->text, "The text; without it, standard input as it is")->type_name("");
  add_switch(verb, "--ids", flags->ids, "Print the ids on one line")->configurable(false);
  add_switch(verb, "--count", flags->count, "Print how many tokens there are")->configurable(false);
  add_switch(verb, "--json", flags->json, "Print a JSON object with ids and pieces")->configurable(false);
  add_switch(verb, "--special", flags->special, "Recognize the spellings of control tokens in the text")->configurable(false);
  add_switch(verb, "--no-bos", flags->no_bos, "Leave out the start token that the model's own rules add")->configurable(false);
  verbs.on_chosen(verb, [flags] { return tokenize(*flags); });
}

}  // namespace inferens
