// GET /v1/models and /v1/models/{id}.
#include "serve/api/endpoints.h"
#include "serve/json_writer.h"

namespace inferens {
namespace {

void write_model(JsonWriter& json, const ModelStatus& model) {
  json.begin_object().field("id", model.name).field("object", "model").field("created", model.created);
  json.field("owned_by", model.source).end_object();
}

}  // namespace

void list_models(ApiContext& api, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().field("object", "list").key("data").begin_array();
  for (const ModelStatus& model : api.registry.models()) write_model(json, model);
  json.end_array().end_object();
  respond(whole(std::move(response)));
}

void show_model(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  constexpr std::string_view kBase = "/v1/models/";
  const std::string name = request.path.substr(kBase.size());
  for (const ModelStatus& model : api.registry.models()) {
    if (model.name != name) continue;
    HttpResponse response;
    JsonWriter json(response.body);
    write_model(json, model);
    return respond(whole(std::move(response)));
  }
  respond(refuse(model_not_found(name)));
}

}  // namespace inferens
