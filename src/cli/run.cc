// inferens run: one answer, or a chat.
#include <cstdio>
#include <optional>

#include "base/environment.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/chat.h"
#include "cli/flags.h"
#include "cli/generation_flags.h"
#include "cli/model_argument.h"
#include "cli/standard_input.h"
#include "cli/verbs.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Answer a prompt, or chat with a model\n"
    "With a PROMPT, or with text on standard input, one answer goes to standard output as it is made. Without, a chat "
    "starts. Standard output gets the answer and nothing else.";
constexpr const char* kExamples =
    "  inferens run smollm2 \"Why is the sky blue?\"\n"
    "  inferens run smollm2\n"
    "  inferens run ./model.gguf --system \"Answer in French.\" --temperature 0 Hello\n"
    "  inferens run smollm2 \"Summarize this:\" - < report.txt\n"
    "  inferens run smollm2 --raw --max-tokens 20 \"Once upon a time\"\n"
    "  inferens run smollm2 --json-schema person.json \"Invent a person\"\n"
    "  inferens run smollm2 --json --seed 7 \"Name three rivers\"";

struct Flags {
  std::string model;
  std::vector<std::string> prompt;
  std::string system;
  bool raw = false;
  bool json = false;
  std::string format;
  std::string json_schema;
  std::string grammar;
  bool verbose = false;
  SamplingFlags sampling;
  LoadFlags load;
};

// The words of the command line with "-" standing for standard input; without words, standard input alone.
StatusOr<std::string> prompt_text(const Flags& flags) {
  if (flags.prompt.empty()) return read_standard_input(LineBreakAtEnd::kDrop);
  std::string text;
  bool input_used = false;
  for (const std::string& word : flags.prompt) {
    std::string part = word;
    if (word == "-") {
      if (std::exchange(input_used, true)) return invalid_argument("'-' stands in the prompt twice; standard input can be read once");
      auto input = read_standard_input(LineBreakAtEnd::kDrop);
      if (!input.ok()) return input.status();
      part = *input;
    }
    const char* between = text.empty() ? "" : word == "-" ? "\n" : " ";
    text += between + part;
  }
  return text;
}

// --format, --json-schema and --grammar, of which one at most is given.
StatusOr<std::optional<OutputConstraint>> constraint_from(const Flags& flags) {
  using Kind = OutputConstraint::Kind;
  const int given = !flags.format.empty() + !flags.json_schema.empty() + !flags.grammar.empty();
  if (given == 0) return std::optional<OutputConstraint>();
  if (given > 1) return invalid_argument("--format, --json-schema and --grammar exclude each other; give one");
  if (!flags.format.empty()) return std::optional(OutputConstraint());
  constexpr size_t kLargest = size_t{1} << 20;
  const bool schema = !flags.json_schema.empty();
  auto source = read_file(schema ? flags.json_schema : flags.grammar, kLargest);
  if (!source.ok()) return source.status();
  return std::optional(OutputConstraint{schema ? Kind::kJsonSchema : Kind::kGrammar, std::move(*source), {}});
}

void set_prompt(const Flags& flags, std::string text, GenerationRequest& request) {
  if (flags.raw) {
    request.prompt = std::move(text);
    return;
  }
  ChatPrompt chat;
  if (!flags.system.empty()) {
    chat.messages.emplace_back();
    chat.messages.back().role = "system";
    chat.messages.back().content = flags.system;
  }
  chat.messages.emplace_back();
  chat.messages.back().role = "user";
  chat.messages.back().content = std::move(text);
  request.prompt = std::move(chat);
}

Status answer_once(Generator& generator, const Flags& flags, const std::string& name) {
  auto text = prompt_text(flags);
  if (!text.ok()) return text.status();
  if (text->empty()) return invalid_argument("the prompt is empty; give one behind the model's name or on standard input");
  if (!is_valid_utf8(*text)) return invalid_argument("the prompt is not UTF-8; convert it first, for example with iconv -t UTF-8");
  auto request = request_from(flags.sampling);
  if (!request.ok()) return request.status();
  auto constraint = constraint_from(flags);
  if (!constraint.ok()) return constraint.status();
  request->constraint = std::move(*constraint);
  set_prompt(flags, std::move(*text), *request);
  uint64_t seed = request->sampling.seed;
  InterruptScope interrupt;
  bool terminal = output_is_terminal();
  auto write = [&](std::string_view piece) { return flags.json ? ok_status() : write_answer_text(piece, terminal); };
  auto answer = generate_answer(generator, *request, interrupt, write);
  if (!answer.ok()) return answer.status().code() == StatusCode::kInvalidArgument ? answer.status().with_context("model '" + name + "'") : answer.status();
  Status written = write_answer_text(flags.json ? answer_json(*answer, name, seed) + "\n" : "\n", false);
  if (!written.ok()) return written;
  if (flags.verbose) std::fprintf(stderr, "%s\n", timing_line(*answer, seed).c_str());
  return answer->finish == FinishReason::kCancelled ? cancelled("the answer was stopped before its end") : ok_status();
}

Status check_flags(const Flags& flags, bool chat) {
  if (flags.raw && !flags.system.empty()) return invalid_argument("--system needs the chat template, which --raw leaves out; write the instructions into the prompt");
  if (chat && flags.raw) return invalid_argument("--raw completes a text and has no chat; give a PROMPT");
  if (!flags.format.empty() && flags.format != "json") return invalid_argument("--format is '" + flags.format + "'; the one format is json");
  if (chat && !(flags.format + flags.json_schema + flags.grammar).empty()) return invalid_argument("--format, --json-schema and --grammar bind one answer; give a PROMPT");
  if (chat && flags.json) return invalid_argument("--json prints one answer; give a PROMPT");
  return request_from(flags.sampling).ok() ? ok_status() : request_from(flags.sampling).status();
}

// System text and settings that came with a pulled model, where the user gave none.
Status use_model_settings(const ModelStore& store, const ModelArgument& model, Flags& flags) {
  if (!model.manifest) return ok_status();
  auto settings = store.text_of(*model.manifest, "params");
  if (!settings.ok()) return settings.status();
  auto unknown = fill_from_model_settings(*settings, flags.sampling, flags.load);
  if (!unknown.ok()) return unknown.status();
  for (const std::string& key : *unknown) std::fprintf(stderr, "inferens: the model's setting '%s' is not known here and has no effect\n", key.c_str());
  auto system = store.text_of(*model.manifest, "system");
  if (!system.ok()) return system.status();
  if (flags.system.empty() && !flags.raw) flags.system = *system;
  return ok_status();
}

Status run(Flags flags) {
  bool chat = flags.prompt.empty() && input_is_terminal();
  if (Status s = check_flags(flags, chat); !s.ok()) return s;
  ModelStore store(home_directory());
  auto model = resolve_model(store, flags.model);
  if (!model.ok()) return model.status();
  if (Status s = use_model_settings(store, *model, flags); !s.ok()) return s;
  auto options = generator_options(flags.load, model->path);
  if (!options.ok()) return options.status();
  auto generator = Generator::load(*options);
  if (!generator.ok()) return generator.status();
  const Status& problem = (*generator)->template_problem();
  if (!flags.raw && !problem.ok()) return problem.with_context("the chat template of model '" + model->name + "' cannot be used (--raw still completes text, --chat-template gives another)");
  if (!chat) return answer_once(**generator, flags, model->name);
  if (Status s = make_directories(store.home()); !s.ok()) return s;
  ChatOptions chat_options{model->name, flags.system, flags.sampling, flags.verbose, store.home() + "/history"};
  return Chat(**generator, chat_options).run();
}

}  // namespace

void add_run(Verbs& verbs) {
  CLI::App& verb = verbs.add("run", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "MODEL", flags->model, "A name in the store, the path of a .gguf file, or a source, which is pulled when it is not there", true);
  verb.add_option("PROMPT", flags->prompt, "The prompt; several words are joined, '-' stands for standard input")->type_name("");
  add_text(verb, "--system", flags->system, "TEXT", "Instructions before the talk");
  add_switch(verb, "--raw", flags->raw, "Complete the prompt as it is, without the chat template")->configurable(false);
  add_switch(verb, "--json", flags->json, "Print one JSON object: text, finish reason, usage, timings")->configurable(false);
  add_text(verb, "--format", flags->format, "json", "Answer with a JSON object");
  add_text(verb, "--json-schema", flags->json_schema, "FILE", "Answer with JSON of this schema");
  add_text(verb, "--grammar", flags->grammar, "FILE", "Answer with a sentence of this grammar (EBNF or GBNF)");
  add_switch(verb, "-v,--verbose", flags->verbose, "End with a line of timings on standard error");
  add_sampling_flags(verb, flags->sampling);
  add_load_flags(verb, flags->load);
  verbs.on_chosen(verb, [flags] { return run(*flags); });
}

}  // namespace inferens
