#include "cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "store/names.h"

namespace inferens {
namespace {

constexpr Nanos kRedraw = 100'000'000;        // ten times a second looks smooth
constexpr Nanos kLogLine = 10'000'000'000;    // in a log, a line now and then
constexpr size_t kBarCells = 24;

size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string bar(double part) {
  auto full = static_cast<size_t>(part * kBarCells + 0.5);
  std::string cells;
  for (size_t i = 0; i < kBarCells; ++i) cells += i < full ? "█" : "░";
  return cells;
}

std::string duration(double seconds) {
  auto s = static_cast<uint64_t>(seconds + 0.5);
  if (s < 60) return std::to_string(s) + " s";
  return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
}

}  // namespace

std::string human_bytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (value /= 1000; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), value < 9.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text.data();
}

ProgressBar::ProgressBar(const Clock& clock) : clock_(clock), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear_line(); }

void ProgressBar::begin(const std::string& what, uint64_t total, uint64_t done) {
  what_ = printable(what);
  total_ = total;
  done_ = start_bytes_ = done;
  start_ = last_draw_ = clock_.now();
  if (terminal_) draw(done);
  else std::fprintf(stderr, "%s: %s%s\n", what_.c_str(), total > 0 ? human_bytes(total).c_str() : "size not known", done > 0 ? (", going on at " + human_bytes(done)).c_str() : "");
}

void ProgressBar::advance(uint64_t done) {
  done_ = done;
  Nanos now = clock_.now();
  if (now - last_draw_ < (terminal_ ? kRedraw : kLogLine)) return;
  last_draw_ = now;
  draw(done);
}

void ProgressBar::draw(uint64_t done) {
  double seconds = to_seconds(clock_.now() - start_);
  double speed = seconds > 0 ? static_cast<double>(done - std::min(done, start_bytes_)) / seconds : 0;
  std::string line = what_ + "  ";
  if (total_ > 0) {
    double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    std::string percent = std::to_string(static_cast<int>(part * 100)) + "%";
    std::string left = speed > 0 ? "  " + duration(static_cast<double>(total_ - std::min(total_, done)) / speed) + " left" : "";
    std::string figures = percent + "  " + human_bytes(done) + " of " + human_bytes(total_) + "  " + human_bytes(static_cast<uint64_t>(speed)) + "/s" + left;
    bool roomy = terminal_ && line.size() + kBarCells + 2 + figures.size() < terminal_columns();
    line += (roomy ? bar(part) + "  " : "") + figures;
  } else {
    line += human_bytes(done) + "  " + human_bytes(static_cast<uint64_t>(speed)) + "/s";
  }
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
  drawn_ = terminal_;
}

void ProgressBar::end() {
  if (terminal_) draw(done_);
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

void ProgressBar::note(const std::string& line) {
  clear_line();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressBar::clear_line() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace inferens
