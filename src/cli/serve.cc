// inferens serve: answers over HTTP until it is told to stop.
#include <cstdio>
#include <unistd.h>

#include "base/environment.h"
#include "base/log.h"
#include "cli/flags.h"
#include "cli/generation_flags.h"
#include "cli/model_argument.h"
#include "cli/pull_model.h"
#include "cli/verbs.h"
#include "serve/server.h"

namespace inferens {
namespace {

constexpr const char* kDescription = "Answer over HTTP, in the words of OpenAI's API";
constexpr const char* kExamples =
    R"(  inferens serve smollm2
  inferens serve small=smollm2 coder=./qwen2.5-coder.gguf --port 9000
  inferens serve                        every model of the store, loaded when asked for
  curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \
    -d '{"model":"smollm2","messages":[{"role":"user","content":"Hello"}]}')";

constexpr int64_t kMaxSeconds = 100 * 365 * 86'400LL;
constexpr double kMaxGigabytes = 1e6;

struct Flags {
  std::vector<std::string> models;
  std::string host = "127.0.0.1";
  std::optional<int64_t> port;
  std::string api_key_file;
  std::string tls_certificate;
  std::string tls_key;
  std::vector<std::string> cors_origins;
  std::vector<std::string> allowed_hosts;
  std::optional<double> kv_memory;
  std::optional<double> memory;
  std::optional<int64_t> keep_alive;
  std::optional<int64_t> drain;
  std::optional<int64_t> queue;
  bool lenient = false;
  LoadFlags load;
};

size_t bytes_of_gigabytes(const std::optional<double>& gigabytes) { return static_cast<size_t>(gigabytes.value_or(0) * 1e9); }

StatusOr<ModelSpec> spec_of(ModelStore& store, const Flags& flags, const std::string& argument) {
  // NAME=MODEL gives a model another name; a path may hold '=' too, behind its first '/'.
  const size_t equals = argument.find('=');
  const bool named = equals != std::string::npos && equals > 0 && argument.find('/') > equals;
  auto model = resolve_model(store, named ? argument.substr(equals + 1) : argument);
  if (!model.ok()) return model.status();
  auto options = generator_options(flags.load, model->path);
  if (!options.ok()) return options.status();
  options->kv_memory = bytes_of_gigabytes(flags.kv_memory);
  options->max_queued = static_cast<int32_t>(flags.queue.value_or(0));
  return ModelSpec{named ? argument.substr(0, equals) : model->name, std::move(*options)};
}

// Every model of the store, as it is at the time.
std::function<std::vector<ModelSpec>()> store_models(const Flags& flags) {
  return [flags] {
    const ModelStore store(home_directory());
    std::vector<ModelSpec> specs;
    auto listing = store.list();
    if (!listing.ok()) return specs;
    for (const Manifest& manifest : listing->models) {
      auto options = generator_options(flags.load, store.model_path(manifest));
      if (!options.ok()) continue;
      options->kv_memory = bytes_of_gigabytes(flags.kv_memory);
      options->max_queued = static_cast<int32_t>(flags.queue.value_or(0));
      specs.push_back({manifest.name, std::move(*options), manifest.source});
    }
    return specs;
  };
}

Status serve(const Flags& flags) {
  ModelStore store(home_directory());
  ServerOptions options;
  for (const std::string& argument : flags.models) {
    auto spec = spec_of(store, flags, argument);
    if (!spec.ok()) return spec.status();
    for (const ModelSpec& other : options.models) {
      if (other.name == spec->name) return invalid_argument("two models are called '" + spec->name + "'; give one another name with NAME=MODEL");
    }
    options.load_at_start.push_back(spec->name);
    options.models.push_back(std::move(*spec));
  }
  if (flags.models.empty()) options.registry.more = store_models(flags);
  constexpr int64_t kDefaultKeepAlive = 300;
  const int64_t keep_alive = flags.keep_alive.value_or(flags.models.empty() ? kDefaultKeepAlive : -1);
  options.registry.keep_alive = keep_alive < 0 ? -1 : keep_alive * 1'000'000'000;
  options.registry.memory = bytes_of_gigabytes(flags.memory);
  options.lenient = flags.lenient;
  options.store = StoreAccess{.home = store.home(), .serves_all = flags.models.empty(), .pull = pull_options_from_environment()};
  if (!flags.api_key_file.empty()) {
    auto keys = ApiKeys::load(flags.api_key_file);
    if (!keys.ok()) return keys.status().with_context("--api-key-file");
    options.service.keys = std::move(*keys);
  }
  options.service.allowed_hosts = flags.allowed_hosts;
  options.service.cors_origins = flags.cors_origins;
  options.http.host = flags.host;
  options.http.port = static_cast<uint16_t>(flags.port.value_or(8080));
  options.http.tls_certificate = flags.tls_certificate;
  options.http.tls_key = flags.tls_key;
  if (flags.drain) options.http.drain = std::chrono::seconds(*flags.drain);
  options.http.handle_signals = true;
  auto server = Server::start(std::move(options));
  if (!server.ok()) return server.status();
  std::fprintf(stderr, "inferens: listening on %s (OpenAI base %s/v1)\n", (*server)->http().url().c_str(), (*server)->http().url().c_str());
  return (*server)->wait() ? ok_status() : cancelled("stopped before all answers were complete");
}

}  // namespace

void add_serve(Verbs& verbs) {
  CLI::App& verb = verbs.add("serve", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  verb.add_option("MODEL", flags->models, "Models to load at the start, each [NAME=]MODEL; without any, those of the store are loaded when asked for")->type_name("");
  add_text(verb, "--host", flags->host, "ADDRESS", "Where to listen; 0.0.0.0: for other machines too (default 127.0.0.1)");
  add_integer(verb, "--port", flags->port, 0, 65535, "Port; 0: any free one (default 8080)");
  add_text(verb, "--api-key-file", flags->api_key_file, "FILE", "Ask for keys: lines of NAME sha256:HEX [admin]");
  add_text(verb, "--tls-cert", flags->tls_certificate, "FILE", "Certificate chain (PEM) for HTTPS");
  add_text(verb, "--tls-key", flags->tls_key, "FILE", "Its private key (PEM)");
  add_texts(verb, "--cors-origin", flags->cors_origins, "ORIGIN", "Let pages of this origin ask, such as https://example.org, or '*'; may be given several times");
  add_texts(verb, "--allowed-host", flags->allowed_hosts, "NAME", "A host name that requests may use besides localhost and addresses; may be given several times");
  add_number(verb, "--kv-memory", flags->kv_memory, 0, kMaxGigabytes, "Gigabytes for keys and values of each model (default: a share of the machine's memory)");
  add_number(verb, "--memory", flags->memory, 0, kMaxGigabytes, "Gigabytes that all models in memory may take together; 0: no limit (default)");
  add_integer(verb, "--keep-alive", flags->keep_alive, -1, kMaxSeconds, "Seconds that an idle model stays in memory; -1: always (default: -1 for models that are named, else 300)");
  add_integer(verb, "--queue", flags->queue, 1, 1'000'000, "Requests that may wait for each model; more are told to come back later with 429 (default 1024)");
  add_integer(verb, "--drain", flags->drain, 0, kMaxSeconds, "Seconds that running answers have after SIGTERM (default 30)");
  add_switch(verb, "--lenient", flags->lenient, "Ignore request fields that are not known instead of refusing them");
  add_load_flags(verb, flags->load);
  verbs.on_chosen(verb, [flags] { return serve(*flags); });
}

}  // namespace inferens
