// JSON Schema to the grammar notation. Every keyword is either kept exactly by the grammar or refused by name with the
// JSON pointer to it; none is ignored but those that only describe (title, description, default, …).
//
// What a schema leaves open is read narrowly, as structured output is used: an object with "properties" has no others
// unless additionalProperties says so, and properties come in the order in which the schema names them.
#pragma once

#include <string>
#include <string_view>

#include "inferens/status.h"

namespace inferens {

// A whole grammar, with the rule "root". Errors begin with the JSON pointer, as "#/properties/age/multipleOf: …".
StatusOr<std::string> json_schema_to_ebnf(std::string_view schema);

}  // namespace inferens
