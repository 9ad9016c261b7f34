// The endpoints: each takes a request that has arrived and answers, at once or later, on any thread.
#pragma once

#include <memory>

#include "serve/http_message.h"
#include "serve/model_registry.h"

namespace inferens {

class BackgroundRuns;
class CachedContents;
class ResponseStore;
class ServerMetrics;
class TaskThreads;
class Timelines;
struct StoreAccess;

// What all endpoints share. Outlives every answer.
struct ApiContext {
  ModelRegistry& registry;
  ServerMetrics& metrics;
  Timelines& timelines;
  TaskThreads& tasks;
  ResponseStore& responses;
  BackgroundRuns& background;
  CachedContents& cached_contents;
  bool lenient = false;  // unknown fields are ignored instead of refused
  const StoreAccess* store = nullptr;  // null: this server has none
};

void openai_chat(ApiContext& api, const HttpRequest& request, const Respond& respond);
void openai_completions(ApiContext& api, const HttpRequest& request, const Respond& respond);
void openai_embeddings(ApiContext& api, const HttpRequest& request, const Respond& respond);

void ollama_generate(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_chat(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_embed(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_embeddings(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_tags(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_show(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_ps(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_version(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_greeting(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_copy(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_delete(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_pull(ApiContext& api, const HttpRequest& request, const Respond& respond);
void ollama_create(ApiContext& api, const HttpRequest& request, const Respond& respond);

void anthropic_messages(ApiContext& api, const HttpRequest& request, const Respond& respond);
void anthropic_count_tokens(ApiContext& api, const HttpRequest& request, const Respond& respond);
void anthropic_list_models(ApiContext& api, const HttpRequest& request, const Respond& respond);
void anthropic_show_model(ApiContext& api, const HttpRequest& request, const Respond& respond);

void gemini_act(ApiContext& api, const HttpRequest& request, const Respond& respond);  // path ends in NAME:verb
void gemini_list_models(ApiContext& api, const HttpRequest& request, const Respond& respond);
void gemini_show_model(ApiContext& api, const HttpRequest& request, const Respond& respond);

void gemini_create_cache(ApiContext& api, const HttpRequest& request, const Respond& respond);
void gemini_list_caches(ApiContext& api, const HttpRequest& request, const Respond& respond);
void gemini_show_cache(ApiContext& api, const HttpRequest& request, const Respond& respond);
void gemini_update_cache(ApiContext& api, const HttpRequest& request, const Respond& respond);
void gemini_delete_cache(ApiContext& api, const HttpRequest& request, const Respond& respond);

void create_response(ApiContext& api, const HttpRequest& request, const Respond& respond);
void show_response(ApiContext& api, const HttpRequest& request, const Respond& respond);    // path ends in ID or ID/input_items
void change_response(ApiContext& api, const HttpRequest& request, const Respond& respond);  // path ends in ID/cancel
void forget_response(ApiContext& api, const HttpRequest& request, const Respond& respond);
void count_response_input(ApiContext& api, const HttpRequest& request, const Respond& respond);

void list_models(ApiContext& api, const HttpRequest& request, const Respond& respond);
void show_model(ApiContext& api, const HttpRequest& request, const Respond& respond);  // path ends in the name

void tokenize(ApiContext& api, const HttpRequest& request, const Respond& respond);
void detokenize(ApiContext& api, const HttpRequest& request, const Respond& respond);

void health(ApiContext& api, const HttpRequest& request, const Respond& respond);  // the process lives
void ready(ApiContext& api, const HttpRequest& request, const Respond& respond);   // models compute
void metrics(ApiContext& api, const HttpRequest& request, const Respond& respond);
void timeline(ApiContext& api, const HttpRequest& request, const Respond& respond);
void system_facts(ApiContext& api, const HttpRequest& request, const Respond& respond);
void loaded_models(ApiContext& api, const HttpRequest& request, const Respond& respond);
void stop_model(ApiContext& api, const HttpRequest& request, const Respond& respond);

}  // namespace inferens
