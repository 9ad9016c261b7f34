#include "cli/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <unistd.h>

#include <cstdio>

namespace inferens {
namespace {

constexpr int kHistoryLines = 1000;

struct FreeEditor {
  void operator()(EditLine* e) const { el_end(e); }
};
struct FreeHistory {
  void operator()(History* h) const { history_end(h); }
};

}  // namespace

struct LineEditor::State {
  std::string history_path;
  std::string prompt;
  HistEvent event{};
  std::unique_ptr<History, FreeHistory> history;
  std::unique_ptr<EditLine, FreeEditor> editor;  // uses history and prompt: destroyed first
};

LineEditor::LineEditor(const std::string& history_path) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.history_path = history_path;
  s.history.reset(history_init());
  history(s.history.get(), &s.event, H_SETSIZE, kHistoryLines);
  history(s.history.get(), &s.event, H_SETUNIQUE, 1);
  history(s.history.get(), &s.event, H_LOAD, history_path.c_str());
  // With standard output in a pipe only answers go there.
  FILE* screen = ::isatty(STDOUT_FILENO) == 1 ? stdout : stderr;
  s.editor.reset(el_init("inferens", stdin, screen, stderr));
  el_set(s.editor.get(), EL_CLIENTDATA, &s);
  char* (*prompt)(EditLine*) = [](EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return static_cast<State*>(data)->prompt.data();
  };
  el_set(s.editor.get(), EL_PROMPT, prompt);
  el_set(s.editor.get(), EL_EDITOR, "emacs");
  el_set(s.editor.get(), EL_HIST, history, s.history.get());
  el_set(s.editor.get(), EL_BIND, "^R", "em-inc-search-prev", nullptr);
}

LineEditor::~LineEditor() = default;

LineEditor::Outcome LineEditor::read(const std::string& prompt, InterruptScope& interrupt, std::string& line) {
  State& s = *state_;
  s.prompt = prompt;
  int count = 0;
  const char* text = el_gets(s.editor.get(), &count);
  if (interrupt.take()) {
    // libedit keeps what was typed for its next line; the user asked to drop it.
    el_reset(s.editor.get());
    return Outcome::kInterrupted;
  }
  if (text == nullptr || count <= 0) return Outcome::kEnd;
  line.assign(text, static_cast<size_t>(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return Outcome::kLine;
}

void LineEditor::remember(const std::string& line) {
  if (line.empty()) return;
  State& s = *state_;
  history(s.history.get(), &s.event, H_ENTER, line.c_str());
  // What was asked may be private; H_SAVE keeps the mode of a file that exists.
  int fd = ::open(s.history_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  ::close(fd);
  history(s.history.get(), &s.event, H_SAVE, s.history_path.c_str());
}

}  // namespace inferens
