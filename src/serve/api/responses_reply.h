// The response object of OpenAI's Responses API, its items, and its stream.
#pragma once

#include <memory>
#include <string>

#include "serve/api/generation_answer.h"
#include "serve/json_writer.h"
#include "serve/response_store.h"

namespace inferens {

// The whole object.
void write_response(JsonWriter& json, const StoredResponse& response);
// One item of its input; `number` makes the id.
void write_input_item(JsonWriter& json, const StoredResponse& response, size_t number);

struct ResponseOptions {
  bool stream = false;
  bool obfuscate = false;
};

// Keeps `response` up to date in `store`, when it is stored there.
std::unique_ptr<EventTranslator> make_response_translator(StoredResponse response, ResponseStore* store, ResponseOptions options);

}  // namespace inferens
