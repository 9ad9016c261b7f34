// POST /tokenize and /detokenize, in vLLM's words.
#include <limits>

#include "base/utf8.h"
#include "serve/api/endpoints.h"
#include "serve/api/fields.h"
#include "serve/api/generate.h"
#include "serve/api/openai_call.h"
#include "serve/json_writer.h"

namespace inferens {
namespace {

constexpr size_t kMostTokens = 1'000'000;

struct TokenCall {
  OpenAiCall text;  // model, prompt or messages, add_special_tokens
  bool has_prompt = false;
  bool has_messages = false;
  bool strings = false;
  std::vector<TokenId> tokens;
};

using TokenField = Field<TokenCall>;

constexpr FieldInfo kModel{.name = "model", .kinds = kString, .example = R"("tiny")", .required = true};

constexpr TokenField kTokenizeFields[] = {
    {kModel, [](Json v, TokenCall& c) -> Refusal { c.text.model = text_of(v); return {}; }},
    {{.name = "prompt", .kinds = kString}, [](Json v, TokenCall& c) -> Refusal { c.text.base.prompt = std::string(text_of(v)); c.has_prompt = true; return {}; }},
    {{.name = "messages", .kinds = kArray}, [](Json v, TokenCall& c) -> Refusal { c.has_messages = true; return take_messages(v, c.text); }},
    {{.name = "add_special_tokens", .kinds = kBoolean}, [](Json v, TokenCall& c) -> Refusal { c.text.base.add_special_tokens = boolean_of(v); return {}; }},
    {{.name = "add_generation_prompt", .kinds = kBoolean}, [](Json v, TokenCall& c) -> Refusal { c.text.chat.add_generation_prompt = boolean_of(v); return {}; }},
    {{.name = "continue_final_message", .kinds = kBoolean}, [](Json v, TokenCall& c) -> Refusal { c.text.chat.continue_final_message = boolean_of(v); return {}; }},
    {{.name = "return_token_strs", .kinds = kBoolean}, [](Json v, TokenCall& c) -> Refusal { c.strings = boolean_of(v); return {}; }},
    {{.name = "chat_template", .treatment = Treatment::kRefuse, .note = "templates come with the model, never with a request"}},
};

Refusal take_tokens(Json value, TokenCall& call) {
  simdjson::dom::array list = value.get_array();
  for (const Json item : list) {
    if (!item.is_int64() || integer_of(item) < 0 || integer_of(item) > std::numeric_limits<int32_t>::max()) return bad_field("tokens", "invalid_type", "'tokens' must be an array of token ids");
    if (call.tokens.size() == kMostTokens) return bad_field("tokens", "array_above_max_length", "'tokens' has more than 1000000 entries");
    call.tokens.push_back(static_cast<TokenId>(integer_of(item)));
  }
  return {};
}

constexpr TokenField kDetokenizeFields[] = {
    {kModel, [](Json v, TokenCall& c) -> Refusal { c.text.model = text_of(v); return {}; }},
    {{.name = "tokens", .kinds = kArray, .required = true}, take_tokens},
};

Refusal parse(const HttpRequest& request, bool lenient, std::span<const TokenField> fields, TokenCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(request.body)) return r;
  const std::span<const TokenField> tables[] = {fields};
  return parse_fields<TokenCall>(body.root(), tables, "", lenient, call);
}

std::unique_ptr<Answer> tokens_of(const Generator& generator, TokenCall& call) {
  if (call.has_messages) {
    if (Refusal r = check_messages_against(generator, call.text.chat)) return refuse(*r);
    call.text.base.prompt = std::move(call.text.chat);
  }
  const StatusOr<std::vector<TokenId>> tokens = generator.prompt_tokens(call.text.base);
  if (!tokens.ok()) return refuse(to_api_error(tokens.status()));
  HttpResponse response;
  JsonWriter json(response.body);
  json.begin_object().field("count", static_cast<int64_t>(tokens->size())).field("max_model_len", generator.model_info().context);
  json.key("tokens").begin_array();
  for (const TokenId token : *tokens) json.integer(token);
  json.end_array();
  if (call.strings) {
    json.key("token_strs").begin_array();
    for (const TokenId token : *tokens) json.string(repair_utf8(generator.tokenizer().token_bytes(token)));
    json.end_array();
  }
  json.end_object();
  return whole(std::move(response));
}

std::unique_ptr<Answer> text_from(const Generator& generator, const TokenCall& call) {
  for (const TokenId token : call.tokens) {
    if (token >= generator.tokenizer().vocab_size()) {
      return refuse(bad_field("tokens", "invalid_value", "token " + std::to_string(token) + " is not in the vocabulary of " + std::to_string(generator.tokenizer().vocab_size())));
    }
  }
  HttpResponse response;
  JsonWriter(response.body).begin_object().field("prompt", repair_utf8(generator.tokenizer().decode(call.tokens, false))).end_object();
  return whole(std::move(response));
}

}  // namespace

void tokenize(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<TokenCall>();
  if (Refusal r = parse(request, api.lenient, kTokenizeFields, *call)) return respond(refuse(*r));
  if (call->has_prompt == call->has_messages) return respond(refuse(bad_field("prompt", "missing_required_parameter", "give either 'prompt' or 'messages'")));
  with_model(api, request, call->text.model, [call](const ModelLease& model) { return tokens_of(*model->generator, *call); }, respond);
}

void detokenize(ApiContext& api, const HttpRequest& request, const Respond& respond) {
  auto call = std::make_shared<TokenCall>();
  if (Refusal r = parse(request, api.lenient, kDetokenizeFields, *call)) return respond(refuse(*r));
  with_model(api, request, call->text.model, [call](const ModelLease& model) { return text_from(*model->generator, *call); }, respond);
}

}  // namespace inferens
