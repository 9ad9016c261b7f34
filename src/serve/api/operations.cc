// What operators ask: metrics, timelines, the machine, which models are in memory, and to take one out of it.
#include "base/worker_pool.h"
#include "engine/engine_stats.h"
#include "kernels/isa.h"
#include "serve/api/endpoints.h"
#include "serve/api/fields.h"
#include "serve/json_writer.h"
#include "serve/metrics.h"
#include "serve/timelines.h"

namespace inferens {
namespace {

void write_loaded(JsonWriter& json, const ModelStatus& model) {
  json.begin_object().field("model", model.name).field("bytes", static_cast<int64_t>(model.bytes)).field("users", model.users);
  model.expires_in < 0 ? json.null_field("expires_in_seconds") : json.field("expires_in_seconds", to_seconds(model.expires_in));
  json.end_object();
}

void write_engine(JsonWriter& json, const LoadedModel& model) {
  const ModelInfo& info = model.generator->model_info();
  const EngineStats stats = model.generator->stats();
  json.begin_object().field("model", model.name).field("architecture", info.architecture).field("file_bytes", static_cast<int64_t>(info.file_bytes));
  json.field("context", info.context).field("trained_context", info.trained_context).field("vocabulary", info.vocab_size);
  json.field("kv_type", kv_type_name(info.kv_type)).field("kv_bytes", static_cast<int64_t>(info.kv_bytes));
  json.field("chat_template", info.has_chat_template).field("system_fingerprint", model.fingerprint);
  json.field("load_seconds", to_seconds(model.load_time)).key("pages").begin_array();
  for (const EngineStats::Pages& p : stats.pages) {
    json.begin_object().field("total", p.total).field("free", p.free).field("cached", p.cached).end_object();
  }
  json.end_array().field("live_requests", stats.live_requests).field("running_sequences", stats.running_sequences).end_object();
}

struct StopCall {
  std::string model;
};

constexpr Field<StopCall> kStopFields[] = {
    {{.name = "model", .kinds = kString, .required = true}, [](Json v, StopCall& c) -> Refusal { c.model = text_of(v); return {}; }},
};
constexpr std::span<const Field<StopCall>> kStopTables[] = {kStopFields};

}  // namespace

void metrics(ApiContext& api, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = api.metrics.text();
  respond(whole(std::move(response)));
}

void timeline(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  constexpr std::string_view kBase = "/v1/requests/";
  constexpr std::string_view kEnd = "/timeline";
  std::string id = request.path.substr(kBase.size());
  std::optional<std::string> json;
  if (id.ends_with(kEnd)) json = api.timelines.json(id.substr(0, id.size() - kEnd.size()), request);
  if (!json) return respond(refuse({.http = 404, .code = "not_found", .message = "no such request is remembered; its id is the x-request-id of its answer"}));
  HttpResponse response;
  response.body = std::move(*json);
  respond(whole(std::move(response)));
}

void system_facts(ApiContext& api, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  JsonWriter json(response.body);
  const StatusOr<Isa> isa = choose_isa();
  json.begin_object().field("version", INFERENS_VERSION).field("isa", isa.ok() ? isa_name(*isa) : "none").key("available_isas").begin_array();
  for (const Isa one : available_isas()) json.string(isa_name(one));
  json.end_array().field("usable_cpus", usable_cpus()).key("models").begin_array();
  for (const ModelLease& model : api.registry.loaded()) write_engine(json, *model);
  json.end_array().end_object();
  respond(whole(std::move(response)));
}

void loaded_models(ApiContext& api, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().key("models").begin_array();
  for (const ModelStatus& model : api.registry.models()) {
    if (model.loaded) write_loaded(json, model);
  }
  json.end_array().end_object();
  respond(whole(std::move(response)));
}

void stop_model(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  JsonDocument body;
  StopCall call;
  if (Refusal r = body.parse(request.body)) return respond(refuse(*r));
  if (Refusal r = parse_fields<StopCall>(body.root(), kStopTables, "", api.lenient, call)) return respond(refuse(*r));
  if (const Status status = api.registry.stop(call.model); !status.ok()) return respond(refuse(to_api_error(status)));
  HttpResponse response;
  JsonWriter(response.body).begin_object().field("model", call.model).field("stopped", true).end_object();
  respond(whole(std::move(response)));
}

}  // namespace inferens
