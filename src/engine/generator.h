// The front of generation for the command line, the server and the benchmark: a model, its tokenizer, its chat template
// and an engine as one thing. Templates and tokenizing run on the caller's thread; everything after on the engine's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/embedding.h"
#include "engine/request_id.h"
#include "inferens/generation.h"
#include "inferens/status.h"
#include "model/load.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace inferens {

class Engine;
class GrammarService;
struct EngineOptions;
struct EngineStats;

struct GeneratorOptions {
  std::string model_path;  // a .gguf file
  int threads = 0;         // 0: what affinity and cgroup quota give
  int32_t context = 0;     // tokens; 0: what the model was made for, as far as kv_memory holds it
  KvType kv_type = KvType::kF16;
  size_t kv_memory = 0;       // bytes for keys and values; 0: a share of the machine's memory
  int32_t max_queued = 0;     // requests that may wait for their turn; 0: as SchedulerOptions says
  bool float_path = false;    // products in float32 instead of int8 (checks of accuracy)
  std::string packed_home;    // $INFERENS_HOME, where packed weights are kept for the next start; empty: they are not
  std::string chat_template;  // Jinja source in place of the model's own; empty: the model's own
};

// What of it concerns the model alone.
LoadOptions load_options(const GeneratorOptions& options);

struct ModelInfo {
  std::string name;          // general.name, else the file's name
  std::string architecture;  // general.architecture
  std::string path;
  uint64_t file_bytes = 0;
  int32_t vocab_size = 0;
  int32_t trained_context = 0;  // what the model was made for
  int32_t context = 0;          // the longest prompt + output this generator takes
  KvType kv_type = KvType::kF16;
  uint64_t kv_bytes = 0;    // memory of the page pool
  int32_t hidden_size = 0;  // numbers in an embedding
  bool has_chat_template = false;
};

class Generator {
 public:
  // Loads everything from a file and starts the engine. Errors name the file, the reason and the remedy.
  static StatusOr<std::unique_ptr<Generator>> load(const GeneratorOptions& options);

  // From parts (tests, other loaders). chat_template may be null: then template_problem says why chats are refused.
  struct Parts {
    std::unique_ptr<Model> model;
    std::shared_ptr<const Tokenizer> tokenizer;
    std::shared_ptr<const ChatTemplate> chat_template;
    Status template_problem;
    ModelInfo info;  // context and kv_bytes are filled in
  };
  static StatusOr<std::unique_ptr<Generator>> make(Parts parts, const EngineOptions& options);

  ~Generator();  // cancels what runs; every sink gets its last event before this returns
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Checks, renders and tokenizes on this thread, then queues. An error here means that the sink is never called.
  // invalid_argument: the request (a prompt that is too long names both numbers); resource_exhausted: the queue is
  // full, with a hint when to retry; unavailable: draining. After ok the sink gets events until kDone or kError. Thread
  // safe.
  StatusOr<RequestId> generate(GenerationRequest request, EventSink sink);

  // Makes a constraint ready, so that generate() with it does not wait for its compile. `done` is called once, here or
  // on the compiling thread, and must be quick. Its status is what generate() would refuse the constraint with.
  void prepare(const OutputConstraint& constraint, std::function<void(Status)> done) const;

  // The same as generate(), and returns when the request has ended; the error of kError, if any, is returned and not
  // sunk.
  Status generate_and_wait(GenerationRequest request, EventSink sink);

  // Asks for an end. The acknowledgement is the events: kFinished (kCancelled) per choice still running, then kDone,
  // after which all its memory is back. Unknown or ended ids are ignored. Thread safe, does not wait; may be called
  // from a sink.
  void cancel(RequestId id);

  // The embeddings of some texts, one for each input, computed beside everything else that runs. Checks and tokenizes
  // on this thread. Errors as of generate(), and then the sink is never called; they name the input.
  StatusOr<std::shared_ptr<EmbeddingJob>> embed(EmbeddingRequest request, EmbeddingSink sink);

  // What the prompt of this request is as tokens (tokenize endpoints, token counts). Thread safe.
  StatusOr<std::vector<TokenId>> prompt_tokens(const GenerationRequest& request) const;

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ChatTemplate* chat_template() const { return chat_template_.get(); }
  const Status& template_problem() const { return template_problem_; }
  const ModelInfo& model_info() const { return info_; }
  EngineStats stats() const;
  Engine& engine() { return *engine_; }

 private:
  Generator(Parts parts, std::unique_ptr<Engine> engine);

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const ChatTemplate> chat_template_;
  Status template_problem_;
  ModelInfo info_;
  std::unique_ptr<GrammarService> grammars_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace inferens
