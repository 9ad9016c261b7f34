// inferens show: what a model is.
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "cli/flags.h"
#include "cli/model_argument.h"
#include "cli/progress_bar.h"
#include "cli/verbs.h"
#include "store/gguf_summary.h"
#include "store/names.h"

namespace inferens {
namespace {

constexpr const char* kDescription = "Show what a model is: architecture, sizes, quantization, context, template, licence";
constexpr const char* kExamples = "  inferens show smollm2\n  inferens show ./model.gguf --json\n  inferens show smollm2 --template";

struct Flags {
  std::string model;
  bool json = false;
  bool chat_template = false;
  bool license = false;
};

struct Shown {
  ModelArgument model;
  GgufSummary summary;
  std::string license_text;  // of the licence that came with the model; empty: only the file's own word
};

std::string human_count(uint64_t n) {
  std::array<char, 32> text;
  double value = static_cast<double>(n);
  if (n >= 1'000'000'000) std::snprintf(text.data(), text.size(), "%.2f billion", value * 1e-9);
  else if (n >= 1'000'000) std::snprintf(text.data(), text.size(), "%.1f million", value * 1e-6);
  else return std::to_string(n);
  return text.data();
}

std::string or_unknown(const std::string& text) { return text.empty() ? "not stated" : text; }
std::string or_unknown(uint64_t n) { return n == 0 ? "not stated" : std::to_string(n); }

std::string tensor_types(const GgufSummary& s) {
  std::string list;
  for (const auto& [type, count] : s.tensor_types) list += (list.empty() ? "" : ", ") + std::to_string(count) + " " + type;
  return list;
}

std::string first_line(const std::string& text) {
  size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

std::string license_line(const Shown& shown) {
  std::string text = first_line(shown.license_text);
  if (shown.summary.license.empty()) return or_unknown(text);
  return text.empty() ? shown.summary.license : shown.summary.license + " (" + text + ")";
}

std::string template_line(const GgufSummary& s) {
  if (s.chat_template.empty()) return "none: only raw prompts (run --raw)";
  return std::to_string(s.chat_template.size()) + " bytes of Jinja (show --template prints it)";
}

void print_line(const char* label, const std::string& value) { std::printf("%-16s %s\n", label, printable(value).c_str()); }

void print_text(const Shown& shown) {
  const GgufSummary& s = shown.summary;
  print_line("name", shown.model.name);
  if (!s.name.empty()) print_line("title", s.name);
  print_line("architecture", s.architecture);
  print_line("parameters", human_count(s.parameters));
  print_line("quantization", s.quantization);
  print_line("tensors", tensor_types(s));
  print_line("file size", human_bytes(s.file_bytes));
  print_line("context", s.context_length == 0 ? "not stated" : std::to_string(s.context_length) + " tokens");
  print_line("layers", or_unknown(s.layers));
  print_line("embedding", or_unknown(s.embedding_length));
  print_line("heads", or_unknown(s.heads) + (s.kv_heads == 0 ? "" : ", " + std::to_string(s.kv_heads) + " for keys and values"));
  print_line("vocabulary", or_unknown(s.vocabulary));
  print_line("tokenizer", s.tokenizer.empty() ? "none: the model cannot be run" : s.tokenizer);
  print_line("template", template_line(s));
  print_line("licence", license_line(shown));
  if (shown.model.manifest) {
    print_line("source", shown.model.manifest->source);
    print_line("digest", shown.model.manifest->find("model")->digest);
  }
  std::printf("%-16s %s\n", "path", shown.model.path.c_str());
}

void print_json(const Shown& shown) {
  const GgufSummary& s = shown.summary;
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (const auto& [type, count] : s.tensor_types) types[type] = count;
  nlohmann::ordered_json json = {{"name", shown.model.name},
                                 {"title", s.name},
                                 {"architecture", s.architecture},
                                 {"parameters", s.parameters},
                                 {"quantization", s.quantization},
                                 {"tensor_types", types},
                                 {"file_bytes", s.file_bytes},
                                 {"context_length", s.context_length},
                                 {"layers", s.layers},
                                 {"embedding_length", s.embedding_length},
                                 {"heads", s.heads},
                                 {"kv_heads", s.kv_heads},
                                 {"vocabulary", s.vocabulary},
                                 {"tokenizer", s.tokenizer},
                                 {"chat_template", s.chat_template},
                                 {"license", s.license},
                                 {"path", shown.model.path}};
  if (shown.model.manifest) {
    json["source"] = shown.model.manifest->source;
    json["digest"] = shown.model.manifest->find("model")->digest;
  }
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

Status print_whole(const std::string& text, const std::string& what, const std::string& name) {
  if (text.empty()) return not_found("model '" + name + "' has no " + what);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (text.back() != '\n') std::fputc('\n', stdout);
  return ok_status();
}

Status show(const Flags& flags) {
  ModelStore store(home_directory());
  Shown shown;
  auto model = resolve_model(store, flags.model);
  if (!model.ok()) return model.status();
  shown.model = std::move(model).value();
  auto file = GgufFile::open(shown.model.path);
  if (!file.ok()) return file.status();
  shown.summary = summarize_gguf(*file);
  if (shown.model.manifest) {
    auto text = store.text_of(*shown.model.manifest, "license");
    if (!text.ok()) return text.status();
    shown.license_text = *text;
  }
  if (flags.chat_template) return print_whole(shown.summary.chat_template, "chat template", shown.model.name);
  if (flags.license) return print_whole(shown.license_text.empty() ? shown.summary.license : shown.license_text, "licence text", shown.model.name);
  if (flags.json) print_json(shown);
  else print_text(shown);
  return ok_status();
}

}  // namespace

void add_show(Verbs& verbs) {
  CLI::App& verb = verbs.add("show", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "MODEL", flags->model, "A name in the store, a path or a source", true);
  add_switch(verb, "--json", flags->json, "Print a JSON object")->configurable(false);
  add_switch(verb, "--template", flags->chat_template, "Print the chat template and nothing else")->configurable(false);
  add_switch(verb, "--license", flags->license, "Print the licence and nothing else")->configurable(false);
  verbs.on_chosen(verb, [flags] { return show(*flags); });
}

}  // namespace inferens
