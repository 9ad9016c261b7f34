// Gemini's Schema object (OpenAPI 3.0's manner) as JSON Schema.
#pragma once

#include <string>

#include "serve/api_error.h"
#include "serve/json_reader.h"

namespace inferens {

// Appends the schema to `json`. Types in capitals, counts as strings, `nullable`, `propertyOrdering` and `ref` become what JSON
// Schema has for them; everything else is passed on as it is, for whoever reads the schema to keep or refuse.
Refusal gemini_schema_to_json(Json schema, const std::string& place, std::string& json);

}  // namespace inferens
