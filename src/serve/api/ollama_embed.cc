// Ollama's POST /api/embed, and the older /api/embeddings.
#include "serve/api/embedding_answer.h"
#include "serve/api/ollama_embed.h"
#include "serve/api/ollama_reply.h"

namespace inferens {
namespace {

constexpr size_t kMostInputs = 2048;

Refusal take_input(Json value, OllamaEmbedCall& call) {
  if (value.is_string()) {
    call.inputs.emplace_back(text_of(value));
    return {};
  }
  const simdjson::dom::array list = value.get_array();
  if (list.size() > kMostInputs) return bad_field("input", "array_above_max_length", "'input' has more than 2048 texts");
  for (const Json item : list) {
    if (!item.is_string()) return bad_field("input", "invalid_type", "'input' must be a string or an array of strings");
    call.inputs.emplace_back(text_of(item));
  }
  return {};
}

// Of options nothing has a part in embeddings; their names and values are checked.
Refusal take_options(Json value, OllamaEmbedCall&) {
  OllamaCall ignored;
  return parse_fields<OllamaCall>(value.get_object(), ollama_option_tables(), "options.", false, ignored);
}

constexpr OllamaEmbedField kCommon[] = {
    {{.name = "model", .kinds = kString, .example = R"("tiny")", .required = true}, [](Json v, OllamaEmbedCall& c) -> Refusal { c.model = text_of(v); return {}; }},
    {{.name = "keep_alive", .kinds = kNumber | kString, .example = R"("10m")"}, [](Json v, OllamaEmbedCall& c) -> Refusal { return take_keep_alive(v, c.keep_alive); }},
    {{.name = "options", .kinds = kObject, .treatment = Treatment::kEcho, .example = "{}", .note = "checked; none has a part in embeddings"}, take_options},
};
constexpr OllamaEmbedField kEmbed[] = {
    {{.name = "input", .kinds = kString | kArray, .example = R"(["Hi"])", .note = "texts, none of them empty", .required = true}, take_input},
    {{.name = "dimensions", .kinds = kInteger, .example = "8", .note = "the first so many numbers, with length 1 again", .low = 1, .high = 1e6}, [](Json v, OllamaEmbedCall& c) -> Refusal { c.dimensions = integer_of(v); return {}; }},
    {{.name = "truncate", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "false", .note = "a text that does not fit is refused and never cut"}},
};
constexpr OllamaEmbedField kEmbeddings[] = {
    {{.name = "prompt", .kinds = kString, .example = R"("Hi")", .required = true}, [](Json v, OllamaEmbedCall& c) -> Refusal { c.inputs.emplace_back(text_of(v)); return {}; }},
};
constexpr std::span<const OllamaEmbedField> kEmbedTables[] = {kEmbed, kCommon};
constexpr std::span<const OllamaEmbedField> kEmbeddingsTables[] = {kEmbeddings, kCommon};

void write_vector(JsonWriter& json, std::vector<float> embedding, int64_t dimensions) {
  shorten_embedding(embedding, static_cast<size_t>(dimensions));
  json.begin_array();
  for (const float x : embedding) json.number(x);
  json.end_array();
}

void answer(ApiContext& api, const HttpRequest& request, const WriteEmbeddings& write, OllamaEmbedCall& call, const Respond& respond) {
  EmbeddingRequest embedding;
  for (std::string& text : call.inputs) embedding.inputs.emplace_back(std::move(text));
  embed(api, request, ollama_model_name(api, call.model), std::move(embedding), [&api, dimensions = call.dimensions, keep_alive = call.keep_alive](const LoadedModel& model, EmbeddingRequest&) {
    keep_model(api, model.name, keep_alive);
    return check_dimensions(model, dimensions, "dimensions");
  }, write, respond);
}

Refusal parse(const ApiContext& api, const HttpRequest& request, OllamaEmbedTables tables, OllamaEmbedCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(request.body)) return r;
  return parse_fields<OllamaEmbedCall>(body.root(), tables, "", api.lenient, call);
}

}  // namespace

OllamaEmbedTables ollama_embed_tables() { return kEmbedTables; }

void ollama_embed(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  OllamaEmbedCall call;
  if (Refusal r = parse(api, request, kEmbedTables, call)) return respond(refuse(*r, request.error_form()));
  const WriteEmbeddings write = [model = call.model, dimensions = call.dimensions](const EmbeddingResult& result, Nanos loading, std::string& body) {
    JsonWriter json(body);
    json.begin_object().field("model", model).key("embeddings").begin_array();
    for (const std::vector<float>& embedding : result.embeddings) write_vector(json, embedding, dimensions);
    json.end_array();
    write_duration(json, "total_duration", loading + result.timings.total);
    write_duration(json, "load_duration", loading);
    json.field("prompt_eval_count", result.usage.prompt_tokens).end_object();
  };
  answer(api, request, write, call, respond);
}

void ollama_embeddings(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  OllamaEmbedCall call;
  if (Refusal r = parse(api, request, kEmbeddingsTables, call)) return respond(refuse(*r, request.error_form()));
  const WriteEmbeddings write = [](const EmbeddingResult& result, Nanos, std::string& body) {
    JsonWriter json(body);
    json.begin_object().key("embedding");
    write_vector(json, result.embeddings.front(), 0);
    json.end_object();
  };
  answer(api, request, write, call, respond);
}

}  // namespace inferens
