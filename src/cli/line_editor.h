// One line from the terminal with editing and history (libedit).
#pragma once

#include <memory>
#include <string>

#include "cli/interrupt.h"
#include "inferens/status.h"

namespace inferens {

class LineEditor {
 public:
  enum class Outcome {
    kLine,
    kInterrupted,  // Ctrl-C; what was typed is dropped
    kEnd,          // Ctrl-D on an empty line, or the terminal is gone
  };

  // Reads standard input. History is kept in `history_path`, readable by its owner only; a file that cannot be read or
  // written costs the history, not the chat.
  explicit LineEditor(const std::string& history_path);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // `line` comes without its line break. `interrupt` is the scope that notes Ctrl-C.
  Outcome read(const std::string& prompt, InterruptScope& interrupt, std::string& line);
  void remember(const std::string& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace inferens
