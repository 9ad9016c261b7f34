// Ollama's endpoints about models that are there: tags, show, ps, version, copy, delete.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "base/utf8.h"
#include "serve/api/fields.h"
#include "serve/api/generate.h"
#include "serve/api/ollama_models.h"
#include "serve/api/ollama_reply.h"
#include "serve/store_access.h"
#include "serve/time_text.h"
#include "store/gguf_summary.h"

namespace inferens {
namespace {

constexpr const char* kGreeting = "Ollama is running";  // what its clients look for
constexpr int64_t kForEver = 253'402'300'799;           // the last second of the year 9999

struct NameCall {
  std::string model;
  std::string source;
  std::string destination;
};
using NameField = Field<NameCall>;

Refusal take_model(Json v, NameCall& c) {
  c.model = text_of(v);
  return {};
}

// "name" is what `model` was called first.
constexpr NameField kShowFields[] = {
    {{.name = "model", .kinds = kString}, take_model},
    {{.name = "name", .kinds = kString}, take_model},
    {{.name = "verbose", .treatment = Treatment::kRefuse, .note = "lists of the model file are not told", .harmless = "false"}},
    {{.name = "system", .treatment = Treatment::kRefuse, .harmless = R"("")"}},
    {{.name = "template", .treatment = Treatment::kRefuse, .harmless = R"("")"}},
    {{.name = "options", .treatment = Treatment::kRefuse, .harmless = "{}"}},
};
constexpr NameField kDeleteFields[] = {
    {{.name = "model", .kinds = kString}, take_model},
    {{.name = "name", .kinds = kString}, take_model},
};
constexpr NameField kCopyFields[] = {
    {{.name = "source", .kinds = kString, .required = true}, [](Json v, NameCall& c) -> Refusal { c.source = text_of(v); return {}; }},
    {{.name = "destination", .kinds = kString, .required = true}, [](Json v, NameCall& c) -> Refusal { c.destination = text_of(v); return {}; }},
};

Refusal parse(const ApiContext& api, const HttpRequest& request, std::span<const NameField> fields, NameCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(request.body)) return r;
  const std::span<const NameField> tables[] = {fields};
  if (Refusal r = parse_fields<NameCall>(body.root(), tables, "", api.lenient, call)) return r;
  if (call.model.empty() && call.source.empty()) return missing_field("model");
  return {};
}

std::string parameter_size(uint64_t count) {
  std::array<char, 32> text;
  const auto value = static_cast<double>(count);
  const int length = count >= 1'000'000'000 ? std::snprintf(text.data(), text.size(), "%.1fB", value * 1e-9)
                     : count >= 1'000'000   ? std::snprintf(text.data(), text.size(), "%.2fM", value * 1e-6)
                                            : std::snprintf(text.data(), text.size(), "%.2fK", value * 1e-3);
  return {text.data(), static_cast<size_t>(length)};
}

void write_details(JsonWriter& json, const GgufSummary& s) {
  json.key("details").begin_object().field("parent_model", "").field("format", "gguf").field("family", repair_utf8(s.architecture));
  json.key("families").begin_array().string(repair_utf8(s.architecture)).end_array();
  json.field("parameter_size", parameter_size(s.parameters)).field("quantization_level", s.quantization).end_object();
}

std::optional<GgufSummary> summary_of(const std::string& path) {
  StatusOr<GgufFile> file = GgufFile::open(path);
  return file.ok() ? std::optional(summarize_gguf(*file)) : std::nullopt;
}

void write_digest(JsonWriter& json, const ApiContext& api, const std::string& model) {
  if (const std::optional<Manifest> manifest = stored_model(api, model)) json.field("digest", manifest->find("model")->digest.substr(sizeof("sha256:") - 1));
}

void write_value(JsonWriter& json, const GgufValue& value) {
  std::visit([&](const auto& v) {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, bool>) json.boolean(v);
    else if constexpr (std::is_same_v<T, std::string_view>) json.string(repair_utf8(v));
    else if constexpr (std::is_floating_point_v<T>) json.number(v);
    else if constexpr (std::is_integral_v<T>) json.integer(static_cast<int64_t>(v));
    else json.null();  // a list
  }, value);
}

// The parameters as a Modelfile would have them, a line each.
std::string parameter_lines(const std::string& parameters_json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  std::string text;
  if (parameters_json.empty() || parser.parse(parameters_json).get(object) != simdjson::SUCCESS) return text;
  const auto line = [&](std::string_view name, Json value) {
    text.append(text.empty() ? "" : "\n").append(name).append(" ").append(simdjson::minify(value));
  };
  for (const auto [name, value] : object) {
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) {
      line(name, value);
      continue;
    }
    for (const Json item : list) line(name, item);
  }
  return text;
}

std::string modelfile(const std::string& from, const OllamaSettings& settings, const std::string& parameters) {
  std::string text = "FROM " + from + "\n";
  for (size_t at = 0; at < parameters.size();) {
    const size_t end = std::min(parameters.find('\n', at), parameters.size());
    text += "PARAMETER " + parameters.substr(at, end - at) + "\n";
    at = end + 1;
  }
  if (!settings.system.empty()) text += "SYSTEM \"\"\"" + settings.system + "\"\"\"\n";
  return text;
}

std::unique_ptr<Answer> shown(const ApiContext& api, const ModelStatus& model, const ErrorForm& form) {
  StatusOr<GgufFile> file = GgufFile::open(model.path);
  if (!file.ok()) return refuse({.http = 500, .type = "server_error", .code = "internal_error", .message = "the file of model '" + model.name + "' cannot be read"}, form);
  const GgufSummary summary = summarize_gguf(*file);
  const OllamaSettings settings = ollama_settings(api, model.name);
  const std::string parameters = parameter_lines(settings.parameters_json);
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object();
  if (const std::optional<Manifest> manifest = stored_model(api, model.name)) {
    const StatusOr<std::string> license = ModelStore(api.store->home).text_of(*manifest, "license");
    if (license.ok() && !license->empty()) json.field("license", repair_utf8(*license));
  }
  json.field("modelfile", repair_utf8(modelfile(model.name, settings, parameters)));
  if (!parameters.empty()) json.field("parameters", repair_utf8(parameters));
  json.field("template", repair_utf8(summary.chat_template));
  if (!settings.system.empty()) json.field("system", repair_utf8(settings.system));
  write_details(json, summary);
  if (!settings.messages_json.empty()) {
    simdjson::dom::parser parser;
    Json messages;
    if (parser.parse(settings.messages_json).get(messages) == simdjson::SUCCESS) json.key("messages").raw(simdjson::minify(messages));
  }
  json.key("model_info").begin_object();
  for (const auto& [key, value] : file->metadata()) {
    if (key == "tokenizer.chat_template") continue;  // told as `template`
    json.key(repair_utf8(key));
    write_value(json, value);
  }
  if (file->find("general.parameter_count") == nullptr) json.field("general.parameter_count", static_cast<int64_t>(summary.parameters));
  json.end_object().key("capabilities").begin_array().string("completion").end_array();
  json.field("modified_at", rfc3339(model.created)).end_object();
  return whole(std::move(response));
}

std::optional<ModelStatus> find_model(const ApiContext& api, const std::string& asked) {
  const std::string name = ollama_model_name(api, asked);
  for (ModelStatus& model : api.registry.models()) {
    if (model.name == name) return std::move(model);
  }
  return {};
}

}  // namespace

Refusal need_store(const ApiContext& api) {
  if (api.store != nullptr && api.store->serves_all) return {};
  return ApiError{.code = "failed_precondition",
                  .message = "this server serves the models that it was started with; start it without their names to manage the store through it"};
}

void ollama_greeting(ApiContext&, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  response.body = kGreeting;
  respond(whole(std::move(response)));
}

void ollama_version(ApiContext&, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  JsonWriter(response.body).begin_object().field("version", INFERENS_VERSION).end_object();
  respond(whole(std::move(response)));
}

void ollama_tags(ApiContext& api, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().key("models").begin_array();
  for (const ModelStatus& model : api.registry.models()) {
    const std::optional<GgufSummary> summary = summary_of(model.path);
    if (!summary) continue;  // its file is gone, and so is the model
    json.begin_object().field("name", model.name).field("model", model.name).field("modified_at", rfc3339(model.created));
    json.field("size", static_cast<int64_t>(summary->file_bytes));
    write_digest(json, api, model.name);
    write_details(json, *summary);
    json.end_object();
  }
  json.end_array().end_object();
  respond(whole(std::move(response)));
}

void ollama_ps(ApiContext& api, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().key("models").begin_array();
  const int64_t now = system_clock().unix_seconds();
  const std::vector<ModelLease> loaded = api.registry.loaded();
  for (const ModelStatus& model : api.registry.models()) {
    const auto lease = std::find_if(loaded.begin(), loaded.end(), [&](const ModelLease& l) { return l->name == model.name; });
    if (lease == loaded.end()) continue;
    json.begin_object().field("name", model.name).field("model", model.name).field("size", static_cast<int64_t>(model.bytes));
    write_digest(json, api, model.name);
    if (const std::optional<GgufSummary> summary = summary_of(model.path)) write_details(json, *summary);
    json.field("expires_at", rfc3339(model.expires_in < 0 ? kForEver : now + model.expires_in / 1'000'000'000));
    json.field("size_vram", 0).field("context_length", (*lease)->generator->model_info().context).end_object();
  }
  json.end_array().end_object();
  respond(whole(std::move(response)));
}

void ollama_show(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  NameCall call;
  if (Refusal r = parse(api, request, kShowFields, call)) return respond(refuse(*r, request.error_form()));
  const std::optional<ModelStatus> model = find_model(api, call.model);
  if (!model) return respond(refuse(model_not_found(call.model), request.error_form()));
  respond(shown(api, *model, request.error_form()));
}

void ollama_copy(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  NameCall call;
  Refusal r = parse(api, request, kCopyFields, call);
  if (!r) r = need_store(api);
  if (r) return respond(refuse(*r, request.error_form()));
  const Status copied = ModelStore(api.store->home).copy(call.source, call.destination);
  respond(copied.ok() ? whole(HttpResponse()) : refuse(to_api_error(copied), request.error_form()));
}

void ollama_delete(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  NameCall call;
  Refusal r = parse(api, request, kDeleteFields, call);
  if (!r) r = need_store(api);
  if (r) return respond(refuse(*r, request.error_form()));
  const StatusOr<uint64_t> freed = ModelStore(api.store->home).remove(call.model);
  if (!freed.ok()) return respond(refuse(to_api_error(freed.status()), request.error_form()));
  // Answers that run on it go on; its file stays until they have ended.
  const Status stopped = api.registry.stop(ollama_model_name(api, call.model));
  if (!stopped.ok() && stopped.code() != StatusCode::kNotFound) return respond(refuse(to_api_error(stopped), request.error_form()));
  respond(whole(HttpResponse()));
}

}  // namespace inferens
