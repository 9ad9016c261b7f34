#include "cli/chat.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"
#include "cli/flags.h"

namespace inferens {
namespace {

constexpr const char* kPrompt = ">>> ";
constexpr const char* kContinued = "... ";
constexpr std::string_view kQuote = "\"\"\"";
constexpr const char* kHelp =
    R"(Type a message and press Enter.
  """ … """             a message of several lines; or end a line with \
  /clear                forget the talk so far
  /system [TEXT]        show or set the instructions before the talk
  /set NAME VALUE       change an answer flag, such as: /set temperature 0.2
  /show                 the model and the settings
  /bye                  leave; so do Ctrl-D and two Ctrl-C
Ctrl-C stops an answer.)";

// What is said about the chat goes to standard error when standard output is not the terminal.
FILE* screen() { return ::isatty(STDOUT_FILENO) == 1 ? stdout : stderr; }

void say(const std::string& text) {
  std::fprintf(screen(), "%s\n", text.c_str());
  std::fflush(screen());
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct Words {
  std::string first;
  std::string rest;
};
Words split_first(std::string_view text) {
  text = trimmed(text);
  size_t space = std::min(text.find(' '), text.size());
  return {std::string(text.substr(0, space)), std::string(trimmed(text.substr(space)))};
}

}  // namespace

Chat::Chat(Generator& generator, const ChatOptions& options) : generator_(generator), options_(options), editor_(options.history_path) {
  add_sampling_flags(settings_, options_.sampling);
  clear();
}

void Chat::clear() {
  prompt_.messages.clear();
  if (!options_.system.empty()) {
    ChatMessage system;
    system.role = "system";
    system.content = options_.system;
    prompt_.messages.push_back(std::move(system));
  }
}

Status Chat::run() {
  say("model " + options_.model_name + " · /help shows what can be typed, /bye leaves");
  std::string message;
  for (;;) {
    switch (read_message(message)) {
      case Input::kEnd: return ok_status();
      case Input::kNothing: break;
      case Input::kCommand:
        if (!run_command(message)) return ok_status();
        break;
      case Input::kMessage:
        if (Status s = answer(message); !s.ok()) say("inferens: " + s.message());
        break;
    }
  }
}

Chat::Input Chat::read_message(std::string& message) {
  message.clear();
  std::string line;
  bool continued = false;
  for (int interrupts = 0;;) {
    switch (editor_.read(continued ? kContinued : kPrompt, interrupt_, line)) {
      case LineEditor::Outcome::kEnd: say(""); return Input::kEnd;
      case LineEditor::Outcome::kInterrupted:
        if (++interrupts == 2) {
          say("");
          return Input::kEnd;
        }
        say("\n(Ctrl-C again, Ctrl-D or /bye leaves)");
        message.clear();
        continued = false;
        continue;
      case LineEditor::Outcome::kLine: break;
    }
    editor_.remember(line);
    if (!continued && std::string_view(line).starts_with(kQuote)) {
      message = line.substr(kQuote.size());
      return read_rest_of_quote(message);
    }
    continued = line.ends_with('\\');
    if (continued) line.pop_back();
    message += line;
    if (!continued && trimmed(message).empty()) return Input::kNothing;
    if (!continued) return message.starts_with('/') ? Input::kCommand : Input::kMessage;
    message += '\n';
  }
}

// `message` holds what followed the opening quote. A quoted text is never a command.
Chat::Input Chat::read_rest_of_quote(std::string& message) {
  while (!message.ends_with(kQuote)) {
    std::string line;
    switch (editor_.read(kContinued, interrupt_, line)) {
      case LineEditor::Outcome::kEnd: say(""); return Input::kEnd;
      case LineEditor::Outcome::kInterrupted: say(""); return Input::kNothing;
      case LineEditor::Outcome::kLine: break;
    }
    editor_.remember(line);
    // The line break behind an opening quote that stands alone is not part of the message.
    message += (message.empty() ? "" : "\n") + line;
  }
  message.resize(message.size() - kQuote.size());
  while (message.ends_with('\n')) message.pop_back();
  return trimmed(message).empty() ? Input::kNothing : Input::kMessage;
}

bool Chat::run_command(const std::string& line) {
  Words words = split_first(line);
  if (words.first == "/bye" || words.first == "/exit" || words.first == "/quit") return false;
  if (words.first == "/help" || words.first == "/?") {
    say(kHelp);
  } else if (words.first == "/clear") {
    clear();
    say("the talk is forgotten");
  } else if (words.first == "/system") {
    set_system(words.rest);
  } else if (words.first == "/set") {
    set(words.rest);
  } else if (words.first == "/show") {
    show();
  } else {
    say("there is no command '" + words.first + "'; /help shows those there are");
  }
  return true;
}

void Chat::set_system(const std::string& text) {
  if (text.empty()) return say(options_.system.empty() ? "no instructions are set" : options_.system);
  options_.system = text;
  bool has_system = !prompt_.messages.empty() && prompt_.messages.front().role == "system";
  if (!has_system) prompt_.messages.insert(prompt_.messages.begin(), ChatMessage{});
  prompt_.messages.front().role = "system";
  prompt_.messages.front().content = text;
}

void Chat::set(const std::string& arguments) {
  Words words = split_first(arguments);
  std::replace(words.first.begin(), words.first.end(), '_', '-');
  if (words.rest.empty()) return say("/set needs a name and a value, such as: /set temperature 0.2");
  SamplingFlags before = options_.sampling;
  Status s = set_flag(settings_, words.first, words.rest, "/set");
  if (s.ok()) s = request_from(options_.sampling).ok() ? ok_status() : request_from(options_.sampling).status();
  if (s.ok()) return;
  options_.sampling = before;
  say(s.message());
}

void Chat::show() const {
  const ModelInfo& info = generator_.model_info();
  say(info.name + " (" + info.architecture + "), context " + std::to_string(info.context) + " tokens");
  say("messages in the talk: " + std::to_string(prompt_.messages.size()));
  if (!options_.system.empty()) say("system: " + options_.system);
  auto request = request_from(options_.sampling);
  if (!request.ok()) return;
  const SamplingParams& s = request->sampling;
  std::fprintf(screen(), "temperature %g · top-k %d · top-p %g · min-p %g · repeat-penalty %g · seed %s\n", s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty,
               options_.sampling.seed ? std::to_string(s.seed).c_str() : "drawn anew");
}

Status Chat::answer(const std::string& message) {
  if (!is_valid_utf8(message)) return invalid_argument("the message is not UTF-8; set the terminal to UTF-8");
  auto request = request_from(options_.sampling);
  if (!request.ok()) return request.status();
  ChatMessage user;
  user.role = "user";
  user.content = message;
  prompt_.messages.push_back(std::move(user));
  request->prompt = prompt_;
  uint64_t seed = request->sampling.seed;
  bool terminal = ::isatty(STDOUT_FILENO) == 1;
  auto answer = generate_answer(generator_, *request, interrupt_, [&](std::string_view text) { return write_answer_text(text, terminal); });
  if (!answer.ok()) {
    prompt_.messages.pop_back();  // the talk stays as it was before this turn
    return answer.status();
  }
  if (Status s = write_answer_text(answer->finish == FinishReason::kCancelled ? "\n[stopped]\n" : "\n", false); !s.ok()) return s;
  if (options_.verbose) say(timing_line(*answer, seed));
  if (answer->text.empty()) {
    prompt_.messages.pop_back();
    return ok_status();
  }
  ChatMessage reply;
  reply.role = "assistant";
  reply.content = answer->text;
  prompt_.messages.push_back(std::move(reply));
  return ok_status();
}

}  // namespace inferens
