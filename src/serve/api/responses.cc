// OpenAI's /v1/responses: created, read again, cancelled and deleted; their input listed and counted.
#include <algorithm>

#include "base/clock.h"
#include "serve/api/generate.h"
#include "serve/api/messages.h"
#include "serve/api/openai_call.h"
#include "serve/api/responses_call.h"
#include "serve/api/responses_reply.h"
#include "serve/background_runs.h"
#include "serve/query.h"
#include "serve/sse.h"

namespace inferens {
namespace {

constexpr std::string_view kBase = "/v1/responses/";

ApiError response_not_found(const std::string& id) {
  return {.http = 404, .code = "not_found", .param = "response_id", .message = "Response with id '" + id.substr(0, 128) + "' not found."};
}

std::string echo_of(const ResponsesCall& c) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  c.has_instructions ? json.field("instructions", c.instructions) : json.null_field("instructions");
  c.base.max_tokens < 0 ? json.null_field("max_output_tokens") : json.field("max_output_tokens", c.base.max_tokens);
  json.null_field("max_tool_calls").key("metadata").raw(c.metadata_json).field("parallel_tool_calls", c.parallel_tool_calls);
  c.previous_response_id.empty() ? json.null_field("previous_response_id") : json.field("previous_response_id", c.previous_response_id);
  json.key("reasoning").begin_object().null_field("effort").null_field("summary").end_object();
  json.field("service_tier", c.flex ? "flex" : "default").field("store", c.store).field("temperature", c.base.sampling.temperature);
  json.key("text").begin_object().key("format").raw(c.format_json).end_object();
  json.field("tool_choice", "auto").key("tools").begin_array().end_array().field("top_logprobs", c.top_logprobs.value_or(0));
  json.field("top_p", c.base.sampling.top_p).field("truncation", "disabled");
  for (const auto& [name, value] : {std::pair("prompt_cache_key", &c.prompt_cache_key), std::pair("safety_identifier", &c.safety_identifier), std::pair("user", &c.user)}) {
    value->empty() ? json.null_field(name) : json.field(name, *value);
  }
  return text.substr(1);
}

// What was said up to the answer of an earlier response, without its instructions.
Refusal history_of(const ApiContext& api, const HttpRequest& http, const std::string& id, std::vector<ChatMessage>& history) {
  if (id.empty()) return {};
  std::optional<StoredResponse> previous = api.responses.find(id, http.key_id);
  if (!previous) {
    ApiError error = response_not_found(id);
    error.param = "previous_response_id";
    error.code = "previous_response_not_found";
    return error;
  }
  if (!previous->is_over()) return bad_field("previous_response_id", "invalid_value", "the response '" + id + "' is still being made");
  history = std::move(previous->history);
  history.insert(history.end(), previous->input.begin(), previous->input.end());
  history.push_back(text_message("assistant", std::move(previous->text)));
  return {};
}

ChatPrompt prompt_of(const ResponsesCall& call, const std::vector<ChatMessage>& history) {
  ChatPrompt prompt;
  if (!call.instructions.empty()) prompt.messages.push_back(text_message("system", call.instructions));
  prompt.messages.insert(prompt.messages.end(), history.begin(), history.end());
  prompt.messages.insert(prompt.messages.end(), call.input.begin(), call.input.end());
  return prompt;
}

Refusal prepare(ApiContext& api, const HttpRequest& http, const ResponsesCall& call, const std::vector<ChatMessage>& history, const ModelLease& model, Generation& out) {
  GenerationRequest request = call.base;
  ChatPrompt prompt = prompt_of(call, history);
  if (prompt.messages.empty()) return bad_field("input", "empty_array", "'input' is empty; give at least one message");
  if (Refusal r = check_messages_against(*model->generator, prompt)) return r;
  request.prompt = std::move(prompt);
  StoredResponse response;
  response.id = "resp_" + http.id;
  response.key_id = http.key_id;
  response.model = model->name;
  response.echo_json = echo_of(call);
  response.history = history;
  response.input = call.input;
  response.created = system_clock().unix_seconds();
  response.background = call.background;
  response.status = call.background ? ResponseStatus::kQueued : ResponseStatus::kInProgress;
  response.tells_logprobs = call.logprobs;
  if (call.store) api.responses.put(response);
  out.translator = make_response_translator(std::move(response), call.store ? &api.responses : nullptr, {call.stream, call.obfuscate});
  if (call.stream) out.stream_type = kSseContentType;
  out.requests.push_back(std::move(request));
  return {};
}

std::unique_ptr<Answer> told(const StoredResponse& response) {
  HttpResponse reply;
  JsonWriter json(reply.body);
  write_response(json, response);
  return whole(std::move(reply));
}

// What became of a request to run in the background: its answer runs, or it was refused.
void take_into_background(ApiContext& api, const HttpRequest& request, std::unique_ptr<Answer> answer, const Respond& respond) {
  const std::string id = "resp_" + request.id;
  const std::optional<StoredResponse> stored = api.responses.find(id, request.key_id);
  if (stored && !stored->is_over()) {
    api.background.add(id, std::move(answer));
    return respond(told(*stored));
  }
  api.responses.erase(id, request.key_id);
  respond(std::move(answer));
}

void list_input(const HttpRequest& request, const StoredResponse& response, const Respond& respond) {
  int64_t limit = 20;
  if (Refusal r = take_query_number(request.query, "limit", 1, 100, limit)) return respond(refuse(*r));
  const std::string order = query_value(request.query, "order").value_or("desc");
  if (order != "asc" && order != "desc") return respond(refuse(bad_field("order", "invalid_value", "'order' must be asc or desc")));
  // A message with several calls is several items.
  std::vector<std::string> items;
  std::vector<std::string> ids;
  for (size_t i = 0; i < response.input.size(); ++i) {
    std::string text;
    JsonWriter json(text);
    json.begin_array();
    write_input_item(json, response, i);
    json.end_array();
    simdjson::dom::parser parser;
    simdjson::dom::array written;
    if (parser.parse(text).get(written) != simdjson::SUCCESS) continue;
    for (const Json item : written) {
      ids.emplace_back(text_of(item["id"].value()));
      items.push_back(simdjson::minify(item));
    }
  }
  if (order == "desc") {
    std::reverse(items.begin(), items.end());
    std::reverse(ids.begin(), ids.end());
  }
  size_t first = 0;
  if (const auto after = query_value(request.query, "after")) first = static_cast<size_t>(std::find(ids.begin(), ids.end(), *after) - ids.begin()) + 1;
  first = std::min(first, items.size());
  const size_t end = std::min(items.size(), first + static_cast<size_t>(limit));
  HttpResponse reply;
  JsonWriter json(reply.body);
  json.begin_object().field("object", "list").key("data").begin_array();
  for (size_t i = first; i < end; ++i) json.raw(items[i]);
  json.end_array();
  first == end ? json.null_field("first_id").null_field("last_id") : json.field("first_id", ids[first]).field("last_id", ids[end - 1]);
  json.field("has_more", end < items.size()).end_object();
  respond(whole(std::move(reply)));
}

}  // namespace

void create_response(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<ResponsesCall>();
  auto history = std::make_shared<std::vector<ChatMessage>>();
  if (Refusal r = parse_responses_call(request, api.lenient, *call)) return respond(refuse(*r));
  if (Refusal r = history_of(api, request, call->previous_response_id, *history)) return respond(refuse(*r));
  const Respond take = !call->background ? respond : [&api, http = without_body(request), respond](std::unique_ptr<Answer> answer) {
    take_into_background(api, http, std::move(answer), respond);
  };
  generate(api, request, call->model, [&api, call, history, http = without_body(request)](const ModelLease& model, Generation& out) { return prepare(api, http, *call, *history, model, out); }, take);
}

void show_response(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  constexpr std::string_view kItems = "/input_items";
  std::string id = request.path.substr(kBase.size());
  const bool items = id.ends_with(kItems);
  if (items) id.resize(id.size() - kItems.size());
  const std::optional<StoredResponse> response = api.responses.find(id, request.key_id);
  if (!response) return respond(refuse(response_not_found(id)));
  if (items) return list_input(request, *response, respond);
  if (query_value(request.query, "stream") == "true") return respond(refuse(unsupported_field("stream", "a response is streamed while it is created only")));
  respond(told(*response));
}

void change_response(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  constexpr std::string_view kCancel = "/cancel";
  std::string id = request.path.substr(kBase.size());
  if (!id.ends_with(kCancel)) return respond(refuse({.http = 404, .code = "not_found", .message = "responses can be asked to /cancel, and nothing else"}));
  id.resize(id.size() - kCancel.size());
  std::optional<StoredResponse> response = api.responses.find(id, request.key_id);
  if (!response) return respond(refuse(response_not_found(id)));
  if (!response->background) return respond(refuse(bad_field("response_id", "invalid_value", "only a response with background true can be cancelled")));
  if (!response->is_over()) {
    api.responses.change(id, [](StoredResponse& r) {
      if (!r.is_over()) r.status = ResponseStatus::kCancelled;
    });
    api.background.drop(id);
    response = api.responses.find(id, request.key_id);
  }
  respond(response ? told(*response) : refuse(response_not_found(id)));
}

void forget_response(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  const std::string id = request.path.substr(kBase.size());
  if (!api.responses.erase(id, request.key_id)) return respond(refuse(response_not_found(id)));
  api.background.drop(id);
  HttpResponse reply;
  JsonWriter(reply.body).begin_object().field("id", id).field("object", "response").field("deleted", true).end_object();
  respond(whole(std::move(reply)));
}

void count_response_input(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<ResponsesCall>();
  auto history = std::make_shared<std::vector<ChatMessage>>();
  if (Refusal r = parse_responses_call(request, api.lenient, *call)) return respond(refuse(*r));
  if (Refusal r = history_of(api, request, call->previous_response_id, *history)) return respond(refuse(*r));
  with_model(api, request, call->model, [call, history](const ModelLease& model) {
    GenerationRequest one;
    one.prompt = prompt_of(*call, *history);
    const StatusOr<std::vector<TokenId>> tokens = model->generator->prompt_tokens(one);
    if (!tokens.ok()) return refuse(to_api_error(tokens.status()));
    HttpResponse reply;
    JsonWriter(reply.body).begin_object().field("object", "response.input_tokens").field("input_tokens", static_cast<int64_t>(tokens->size())).end_object();
    return whole(std::move(reply));
  }, respond);
}

}  // namespace inferens
