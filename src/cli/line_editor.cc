#include "cli/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/utf8.h"

namespace inferens {
namespace {

constexpr int kHistoryLines = 1000;

struct FreeEditor {
  void operator()(EditLine* e) const { el_end(e); }
};
struct FreeHistory {
  void operator()(History* h) const { history_end(h); }
};

// Waits for a byte of the terminal or a Ctrl-C: 1, or 0 at the end, or -1 with errno EINTR.
int read_byte(int interrupt, char& byte) {
  std::array<pollfd, 2> sources = {{{STDIN_FILENO, POLLIN, 0}, {interrupt, POLLIN, 0}}};
  for (;;) {
    if (::poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR) return -1;
    if ((sources[1].revents & POLLIN) != 0) {
      errno = EINTR;
      return -1;
    }
    if (sources[0].revents == 0) continue;
    ssize_t n = ::read(STDIN_FILENO, &byte, 1);
    if (n >= 0) return static_cast<int>(n);
    if (errno != EINTR && errno != EAGAIN) return errno == EIO ? 0 : -1;  // EIO: the terminal is gone
  }
}

}  // namespace

struct LineEditor::State {
  static State& of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<State*>(data);
  }
  // One character of UTF-8. libedit's own reader would miss a Ctrl-C that comes just before it reads.
  static int read_character(EditLine* editor, wchar_t* character) {
    std::string bytes;
    char byte = 0;
    do {
      int n = read_byte(of(editor).interrupt, byte);
      if (n <= 0) return n;
      bytes += byte;
    } while (incomplete_utf8_suffix(bytes) == bytes.size());
    *character = static_cast<wchar_t>(decode_utf8(bytes, 0).value);
    return 1;
  }

  std::string history_path;
  std::string prompt;
  int interrupt = -1;
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
  char* (*prompt)(EditLine*) = [](EditLine* editor) { return State::of(editor).prompt.data(); };
  el_set(s.editor.get(), EL_PROMPT, prompt);
  el_set(s.editor.get(), EL_GETCFN, &State::read_character);
  el_set(s.editor.get(), EL_EDITOR, "emacs");
  el_set(s.editor.get(), EL_HIST, history, s.history.get());
  el_set(s.editor.get(), EL_BIND, "^R", "em-inc-search-prev", nullptr);
}

LineEditor::~LineEditor() = default;

LineEditor::Outcome LineEditor::read(const std::string& prompt, InterruptScope& interrupt, std::string& line) {
  State& s = *state_;
  s.prompt = prompt;
  s.interrupt = interrupt.descriptor();
  // Before the prompt is shown, not only before the first read as libedit would: what is typed at once is edited too.
  el_set(s.editor.get(), EL_PREP_TERM, 1);
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
