// The chat in the terminal: reads turns, shows answers, keeps the history of the talk, and knows a few /commands.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/answer.h"
#include "cli/generation_flags.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "engine/generator.h"

namespace inferens {

struct ChatOptions {
  std::string model_name;
  std::string system;        // empty: none
  SamplingFlags sampling;
  bool verbose = false;      // a timing line after each answer
  std::string history_path;  // of typed lines
};

class Chat {
 public:
  Chat(Generator& generator, const ChatOptions& options);
  // Until /bye, Ctrl-D or two Ctrl-C. Errors of a turn are shown and the chat goes on; an error here is one of the terminal.
  Status run();

 private:
  enum class Input { kMessage, kCommand, kNothing, kEnd };
  Input read_message(std::string& message);
  Input read_rest_of_quote(std::string& message);
  bool run_command(const std::string& line);  // false: leave
  void set(const std::string& arguments);
  void show() const;
  void set_system(const std::string& text);
  void clear();
  Status answer(const std::string& message);

  Generator& generator_;
  ChatOptions options_;
  CLI::App settings_;  // the answer flags, writing to options_.sampling
  ChatPrompt prompt_;
  InterruptScope interrupt_;
  LineEditor editor_;
};

}  // namespace inferens
