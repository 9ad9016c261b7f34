#include "serve/api/output_constraint.h"

#include <utility>

#include "serve/api/fields.h"
#include "serve/api/gemini_schema.h"

namespace inferens {
namespace {

using Kind = OutputConstraint::Kind;

struct ResponseFormat {
  std::string_view type;
  std::optional<Json> schema;
};
using FormatField = Field<ResponseFormat>;
using FormatTable = std::span<const FormatField>;

constexpr FormatField kType[] = {
    {{.name = "type", .kinds = kString, .required = true}, [](Json v, ResponseFormat& f) -> Refusal { f.type = text_of(v); return {}; }},
};
constexpr FormatField kSchema[] = {
    {{.name = "schema", .kinds = kObject}, [](Json v, ResponseFormat& f) -> Refusal { f.schema = v; return {}; }},
};
// What OpenAI says about a schema. A schema is always kept to the letter, so that strict makes no difference.
constexpr FormatField kAboutSchema[] = {
    {{.name = "name", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "description", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "strict", .kinds = kBoolean, .treatment = Treatment::kEcho}},
};

Refusal take_json_schema(Json value, ResponseFormat& format) {
  static constexpr FormatTable kTables[] = {kSchema, kAboutSchema};
  return parse_fields<ResponseFormat>(value.get_object(), kTables, "response_format.json_schema.", false, format);
}

// field: the one that holds the type. place: of the schema.
Refusal constrain_by_type(const ResponseFormat& format, std::string_view field, const std::string& place, GenerationRequest& request) {
  if (format.type == "json_schema") {
    if (!format.schema) return bad_field(place, "missing_required_parameter", "'" + std::string(field) + "' of type json_schema needs '" + place + "'");
    return constrain_to_schema(field, *format.schema, request);
  }
  if (format.schema) return bad_field(place, "invalid_value", "'" + place + "' goes with type json_schema only");
  if (format.type == "json_object") return constrain(field, {}, request);
  if (format.type == "text") return {};
  return bad_field(std::string(field) + ".type", "invalid_value", "'" + std::string(field) + ".type' must be text, json_object or json_schema");
}

}  // namespace

Refusal constrain(std::string_view field, OutputConstraint constraint, GenerationRequest& request) {
  if (request.constraint) return bad_field(std::string(field), "invalid_value", "'" + std::string(field) + "' comes beside another constraint of the output; give one");
  constraint.field = field;
  request.constraint = std::move(constraint);
  return {};
}

Refusal constrain_to_schema(std::string_view field, Json schema, GenerationRequest& request) {
  OutputConstraint constraint;
  constraint.kind = Kind::kJsonSchema;
  constraint.source = schema.is_string() ? std::string(text_of(schema)) : std::string(simdjson::minify(schema));
  return constrain(field, std::move(constraint), request);
}

Refusal constrain_to_choice(std::string_view field, Json choices, GenerationRequest& request) {
  OutputConstraint constraint;
  constraint.kind = Kind::kChoice;
  for (const Json choice : choices.get_array()) {
    if (!choice.is_string() || text_of(choice).empty()) return bad_field(std::string(field), "invalid_type", "'" + std::string(field) + "' must be an array of strings that are not empty");
    constraint.choices.emplace_back(text_of(choice));
  }
  return constrain(field, std::move(constraint), request);
}

Refusal take_response_format(Json value, GenerationRequest& request) {
  static constexpr FormatField kFields[] = {{{.name = "json_schema", .kinds = kObject}, take_json_schema}};
  static constexpr FormatTable kTables[] = {kType, kFields};
  ResponseFormat format;
  if (Refusal r = parse_fields<ResponseFormat>(value.get_object(), kTables, "response_format.", false, format)) return r;
  return constrain_by_type(format, "response_format", "response_format.json_schema.schema", request);
}

Refusal take_text_format(Json value, GenerationRequest& request) {
  static constexpr FormatTable kTables[] = {kType, kSchema, kAboutSchema};
  ResponseFormat format;
  if (Refusal r = parse_fields<ResponseFormat>(value.get_object(), kTables, "text.format.", false, format)) return r;
  return constrain_by_type(format, "text.format", "text.format.schema", request);
}

Refusal take_ollama_format(Json value, GenerationRequest& request) {
  if (value.is_object()) return constrain_to_schema("format", value, request);
  if (text_of(value).empty()) return {};
  if (text_of(value) == "json") return constrain("format", {}, request);
  return bad_field("format", "invalid_value", "'format' must be \"json\" or a JSON schema");
}

Refusal take_anthropic_format(Json value, GenerationRequest& request) {
  static constexpr FormatTable kTables[] = {kType, kSchema};
  ResponseFormat format;
  if (Refusal r = parse_fields<ResponseFormat>(value.get_object(), kTables, "output_config.format.", false, format)) return r;
  if (format.type != "json_schema") return bad_field("output_config.format.type", "invalid_value", "output_config.format.type: must be json_schema");
  return constrain_by_type(format, "output_config.format", "output_config.format.schema", request);
}

Refusal take_gemini_format(const GeminiFormat& format, GenerationRequest& request) {
  const std::string& mime = format.mime_type;
  if (!mime.empty() && mime != "text/plain" && mime != "application/json" && mime != "text/x.enum") return bad_field("generationConfig.responseMimeType", "invalid_value", "'responseMimeType' must be text/plain, application/json or text/x.enum");
  if (format.schema && format.json_schema) return bad_field("generationConfig.responseJsonSchema", "invalid_value", "'responseSchema' and 'responseJsonSchema' exclude each other; give one");
  const char* field = format.json_schema ? "generationConfig.responseJsonSchema" : "generationConfig.responseSchema";
  if (!format.schema && !format.json_schema) {
    if (mime == "text/x.enum") return bad_field(field, "missing_required_parameter", "'responseMimeType' text/x.enum needs 'responseSchema' with the 'enum'");
    // Gemini's JSON mode does not promise an object.
    return mime == "application/json" ? constrain("generationConfig.responseMimeType", {Kind::kJsonSchema, R"({"type":["object","array"]})", {}, {}}, request) : Refusal();
  }
  if (mime.empty() || mime == "text/plain") return bad_field("generationConfig.responseMimeType", "invalid_value", (format.json_schema ? "'responseJsonSchema'" : "'responseSchema'") + std::string(" needs 'responseMimeType' to be application/json, or text/x.enum"));
  const Json schema = format.schema ? *format.schema : *format.json_schema;
  if (mime == "text/x.enum") {
    simdjson::dom::array values;
    if (schema.at_key("enum").get(values) != simdjson::SUCCESS) return bad_field(field, "invalid_value", "'responseMimeType' text/x.enum needs a schema with 'enum'");
    return constrain_to_choice(field, schema.at_key("enum").value(), request);
  }
  if (format.json_schema) return constrain_to_schema(field, schema, request);
  OutputConstraint constraint;
  constraint.kind = Kind::kJsonSchema;
  if (Refusal r = gemini_schema_to_json(schema, field, constraint.source)) return r;
  return constrain(field, std::move(constraint), request);
}

Refusal take_structured_outputs(Json value, GenerationRequest& request) {
  using Wanted = GenerationRequest;
  static constexpr Field<Wanted> kFields[] = {
      {{.name = "json", .kinds = kObject | kString}, [](Json v, Wanted& r) -> Refusal { return constrain_to_schema("structured_outputs.json", v, r); }},
      {{.name = "json_object", .kinds = kBoolean}, [](Json v, Wanted& r) -> Refusal { return boolean_of(v) ? constrain("structured_outputs.json_object", {}, r) : Refusal(); }},
      {{.name = "regex", .kinds = kString}, [](Json v, Wanted& r) -> Refusal { return constrain("structured_outputs.regex", {Kind::kRegex, std::string(text_of(v)), {}}, r); }},
      {{.name = "choice", .kinds = kArray}, [](Json v, Wanted& r) -> Refusal { return constrain_to_choice("structured_outputs.choice", v, r); }},
      {{.name = "grammar", .kinds = kString}, [](Json v, Wanted& r) -> Refusal { return constrain("structured_outputs.grammar", {Kind::kGrammar, std::string(text_of(v)), {}}, r); }},
      {{.name = "structural_tag", .treatment = Treatment::kRefuse}},
      {{.name = "disable_fallback", .treatment = Treatment::kRefuse, .harmless = "true|false"}},
      {{.name = "disable_any_whitespace", .treatment = Treatment::kRefuse, .harmless = "false"}},
      {{.name = "disable_additional_properties", .treatment = Treatment::kRefuse, .harmless = "false"}},
      {{.name = "whitespace_pattern", .treatment = Treatment::kRefuse}},
  };
  static constexpr std::span<const Field<Wanted>> kTables[] = {kFields};
  return parse_fields<Wanted>(value.get_object(), kTables, "structured_outputs.", false, request);
}

}  // namespace inferens
