// Gemini's models/NAME:embedContent and :batchEmbedContents.
#include "serve/api/embedding_answer.h"
#include "serve/api/gemini_call.h"
#include "serve/api/gemini_embed.h"
#include "serve/json_writer.h"

namespace inferens {
namespace {

constexpr size_t kMostRequests = 2048;
constexpr std::string_view kNoTasks = "the model makes one kind of embedding";

// One text, and of how many numbers its embedding should be.
struct EmbedCall {
  std::string text;
  int64_t dimensions = 0;
};
using EmbedField = Field<EmbedCall>;

struct BatchCall {
  std::vector<EmbedCall> requests;
  bool lenient = false;
};

constexpr EmbedField kFields[] = {
    {{.name = "content", .kinds = kObject | kString, .required = true}, [](Json v, EmbedCall& c) -> Refusal { return take_gemini_text(v, "content", c.text); }},
    {{.name = "outputDimensionality", .kinds = kInteger, .low = 1, .high = 1e6}, [](Json v, EmbedCall& c) -> Refusal { c.dimensions = integer_of(v); return {}; }},
    {{.name = "model", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "taskType", .kinds = kString, .treatment = Treatment::kEcho, .note = kNoTasks}},
    {{.name = "title", .kinds = kString, .treatment = Treatment::kEcho, .note = kNoTasks}},
};
constexpr std::span<const EmbedField> kTables[] = {kFields};

Refusal take_requests(Json value, BatchCall& call) {
  const simdjson::dom::array list = value.get_array();
  if (list.size() == 0) return bad_field("requests", "empty_array", "'requests' is empty; give at least one");
  if (list.size() > kMostRequests) return bad_field("requests", "array_above_max_length", "'requests' has more than 2048 entries");
  for (const Json item : list) {
    const std::string at = "requests[" + std::to_string(call.requests.size()) + "]";
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(at, "invalid_type", "'" + at + "' must be an object");
    if (Refusal r = parse_fields<EmbedCall>(object, kTables, at + ".", call.lenient, call.requests.emplace_back(), camel_case)) return r;
  }
  return {};
}

constexpr Field<BatchCall> kBatchFields[] = {
    {{.name = "requests", .kinds = kArray, .required = true}, take_requests},
    {{.name = "model", .kinds = kString, .treatment = Treatment::kEcho}},
};
constexpr std::span<const Field<BatchCall>> kBatchTables[] = {kBatchFields};

void write_embedding(JsonWriter& json, std::vector<float> embedding, int64_t dimensions) {
  shorten_embedding(embedding, static_cast<size_t>(dimensions));
  json.begin_object().key("values").begin_array();
  for (const float x : embedding) json.number(x);
  json.end_array().end_object();
}

}  // namespace

void gemini_embed(ApiContext& api, const HttpRequest& request, const std::string& model, bool batch, const Respond& respond) {
  JsonDocument body;
  auto call = std::make_shared<BatchCall>();
  call->lenient = api.lenient;
  Refusal r = body.parse(request.body);
  if (!r && batch) r = parse_fields<BatchCall>(body.root(), kBatchTables, "", api.lenient, *call, camel_case);
  if (!r && !batch) r = parse_fields<EmbedCall>(body.root(), kTables, "", api.lenient, call->requests.emplace_back(), camel_case);
  if (r) return respond(refuse(*r, request.error_form()));
  EmbeddingRequest embedding;
  for (const EmbedCall& one : call->requests) embedding.inputs.emplace_back(one.text);
  const auto check = [call](const LoadedModel& loaded, EmbeddingRequest&) -> Refusal {
    for (const EmbedCall& one : call->requests) {
      if (Refusal bad = check_dimensions(loaded, one.dimensions, "outputDimensionality")) return bad;
    }
    return {};
  };
  const auto write = [call, batch](const EmbeddingResult& result, Nanos, std::string& out) {
    JsonWriter json(out);
    json.begin_object().key(batch ? "embeddings" : "embedding");
    if (batch) json.begin_array();
    for (size_t i = 0; i < result.embeddings.size(); ++i) write_embedding(json, result.embeddings[i], call->requests[i].dimensions);
    if (batch) json.end_array();
    json.key("usageMetadata").begin_object().field("promptTokenCount", result.usage.prompt_tokens).end_object().end_object();
  };
  embed(api, request, model, std::move(embedding), check, write, respond);
}

}  // namespace inferens
