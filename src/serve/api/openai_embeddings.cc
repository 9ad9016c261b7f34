// POST /v1/embeddings: the hidden state of each text's last token, of length 1.
#include <openssl/evp.h>

#include <bit>
#include <cstring>
#include <limits>

#include "serve/api/embedding_answer.h"
#include "serve/api/openai_embeddings.h"
#include "serve/json_writer.h"

namespace inferens {
namespace {

constexpr double kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr size_t kMostInputs = 2048;
constexpr std::string_view kInputKinds = "'input' must be a string, an array of strings, an array of token ids, or an array of such arrays";

Refusal take_tokens(simdjson::dom::array list, EmbeddingCall& call) {
  std::vector<TokenId> tokens;
  for (const Json item : list) {
    if (!item.is_int64() || integer_of(item) < 0 || integer_of(item) > std::numeric_limits<TokenId>::max()) return bad_field("input", "invalid_type", std::string(kInputKinds));
    tokens.push_back(static_cast<TokenId>(integer_of(item)));
  }
  call.inputs.emplace_back(std::move(tokens));
  return {};
}

Refusal take_input(Json value, EmbeddingCall& call) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    call.inputs.emplace_back(std::string(text_of(value)));
    return {};
  }
  if (list.size() == 0) return bad_field("input", "invalid_value", "'input' is an empty array");
  if (list.at(0).is_number()) return take_tokens(list, call);
  if (list.size() > kMostInputs) return bad_field("input", "array_above_max_length", "'input' has " + std::to_string(list.size()) + " entries; at most 2048 are taken");
  for (const Json item : list) {
    simdjson::dom::array tokens;
    if (item.is_string()) {
      call.inputs.emplace_back(std::string(text_of(item)));
    } else if (item.get(tokens) == simdjson::SUCCESS) {
      if (Refusal r = take_tokens(tokens, call)) return r;
    } else {
      return bad_field("input", "invalid_type", std::string(kInputKinds));
    }
  }
  return {};
}

Refusal take_format(Json value, EmbeddingCall& call) {
  if (text_of(value) != "float" && text_of(value) != "base64") return bad_field("encoding_format", "invalid_value", "'encoding_format' must be float or base64");
  call.base64 = text_of(value) == "base64";
  return {};
}

constexpr EmbeddingField kFields[] = {
    {{.name = "model", .kinds = kString, .example = R"("tiny")", .note = "a name of GET /v1/models", .required = true}, [](Json v, EmbeddingCall& c) -> Refusal { c.model = text_of(v); return {}; }},
    {{.name = "input", .kinds = kString | kArray, .example = R"(["Hi","there"])", .note = "a string, strings, token ids, or lists of token ids; at most 2048, none empty", .required = true}, take_input},
    {{.name = "encoding_format", .kinds = kString, .example = R"("base64")", .note = "float, or base64 of little-endian 32-bit floats; float when absent"}, take_format},
    {{.name = "dimensions", .kinds = kInteger, .example = "64", .note = "the model's own number only: none here was trained to be cut shorter", .low = 1, .high = kMaxInt32}, [](Json v, EmbeddingCall& c) -> Refusal { c.dimensions = integer_of(v); return {}; }},
    {{.name = "user", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("u")"}},
    // Extensions.
    {{.name = "add_special_tokens", .kinds = kBoolean, .example = "true"}, [](Json v, EmbeddingCall& c) -> Refusal { c.add_special_tokens = boolean_of(v); return {}; }},
    {{.name = "priority", .kinds = kInteger, .example = "1", .note = "smaller runs earlier", .low = -1000, .high = 1000}, [](Json v, EmbeddingCall& c) -> Refusal { c.priority = static_cast<int32_t>(integer_of(v)); return {}; }},
    {{.name = "truncate_prompt_tokens", .treatment = Treatment::kRefuse, .note = "a text is never cut"}},
};
constexpr std::span<const EmbeddingField> kTables[] = {kFields};

std::string base64_of(const std::vector<float>& numbers) {
  static_assert(std::endian::native == std::endian::little);
  const size_t bytes = numbers.size() * sizeof(float);
  std::string raw(bytes, '\0');
  std::memcpy(raw.data(), numbers.data(), bytes);
  std::string text((bytes + 2) / 3 * 4 + 1, '\0');  // it ends what it writes with a zero
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(raw.data()), static_cast<int>(bytes));
  text.resize(static_cast<size_t>(length));
  return text;
}

void write_reply(const EmbeddingResult& result, const std::string& model, bool base64, std::string& body) {
  JsonWriter json(body);
  json.begin_object().field("object", "list").field("model", model).key("data").begin_array();
  for (size_t i = 0; i < result.embeddings.size(); ++i) {
    json.begin_object().field("object", "embedding").field("index", static_cast<int64_t>(i)).key("embedding");
    if (base64) {
      json.string(base64_of(result.embeddings[i]));
    } else {
      json.begin_array();
      for (const float number : result.embeddings[i]) json.number(number);
      json.end_array();
    }
    json.end_object();
  }
  const TokenUsage& usage = result.usage;
  json.end_array().key("usage").begin_object().field("prompt_tokens", usage.prompt_tokens).field("total_tokens", usage.prompt_tokens);
  json.key("prompt_tokens_details").begin_object().field("cached_tokens", usage.cached_tokens).end_object().end_object();
  json.key("timings").begin_object().field("queue_ms", to_ms(result.timings.queued)).field("total_ms", to_ms(result.timings.total)).end_object();
  json.end_object();
}

// Texts to tokens, so that what is wrong with one is said by its number.
Refusal tokenize_inputs(const Generator& generator, EmbeddingRequest& request) {
  const int32_t context = generator.model_info().context;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    auto& input = request.inputs[i];
    if (const auto* const text = std::get_if<std::string>(&input)) {
      input = generator.tokenizer().encode(*text, {.add_special = request.add_special_tokens && !text->empty(), .parse_special = false});
    }
    const size_t tokens = std::get<std::vector<TokenId>>(input).size();
    const std::string name = request.inputs.size() == 1 ? "input" : "input[" + std::to_string(i) + "]";
    if (tokens == 0) return bad_field("input", "invalid_value", "'" + name + "' is empty");
    if (tokens > static_cast<size_t>(context)) {
      return bad_field("input", "context_length_exceeded", "'" + name + "' has " + std::to_string(tokens) + " tokens; the context is " + std::to_string(context) + " tokens");
    }
    for (const TokenId token : std::get<std::vector<TokenId>>(input)) {
      if (token >= generator.tokenizer().vocab_size()) return bad_field("input", "invalid_value", "'" + name + "' holds token " + std::to_string(token) + ", which is not in the vocabulary of " + std::to_string(generator.tokenizer().vocab_size()));
    }
  }
  return {};
}

// Whoever asks for fewer numbers expects a model that was trained to be cut short, which no causal model here was.
Refusal check_own_dimensions(std::optional<int64_t> dimensions, const ModelInfo& model) {
  if (!dimensions || *dimensions == model.hidden_size) return {};
  return bad_field("dimensions", "invalid_value", "'dimensions' is " + std::to_string(*dimensions) + "; this model's embeddings have " + std::to_string(model.hidden_size) + " numbers and were not trained to be cut");
}

}  // namespace

std::span<const std::span<const EmbeddingField>> openai_embedding_tables() { return kTables; }

void openai_embeddings(ApiContext& api, const HttpRequest& http, const Respond& respond) {
  EmbeddingCall call;
  JsonDocument body;
  if (Refusal r = body.parse(http.body)) return respond(refuse(*r));
  if (Refusal r = parse_fields<EmbeddingCall>(body.root(), kTables, "", api.lenient, call)) return respond(refuse(*r));
  EmbeddingRequest request;
  request.inputs = std::move(call.inputs);
  request.add_special_tokens = call.add_special_tokens;
  request.priority = call.priority;
  const CheckEmbeddings check = [dimensions = call.dimensions](const LoadedModel& model, EmbeddingRequest& r) {
    if (Refusal refusal = check_own_dimensions(dimensions, model.generator->model_info())) return refusal;
    return tokenize_inputs(*model.generator, r);
  };
  const WriteEmbeddings write = [model = call.model, base64 = call.base64](const EmbeddingResult& result, Nanos, std::string& out) { write_reply(result, model, base64, out); };
  embed(api, http, call.model, std::move(request), check, write, respond);
}

}  // namespace inferens
