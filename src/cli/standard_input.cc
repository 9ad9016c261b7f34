#include "cli/standard_input.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace inferens {
namespace {

constexpr size_t kMaxInput = size_t{64} << 20;

}  // namespace

bool input_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }
bool output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

StatusOr<std::string> read_standard_input(LineBreakAtEnd line_break) {
  std::string text;
  std::array<char, 1 << 14> buffer;
  for (;;) {
    ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed_precondition("cannot read standard input: " + std::system_category().message(errno));
    if (n == 0) break;
    text.append(buffer.data(), static_cast<size_t>(n));
    if (text.size() > kMaxInput) return invalid_argument("standard input is longer than 64 MiB, which no prompt can be");
  }
  if (line_break == LineBreakAtEnd::kKeep) return text;
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace inferens
