// The program's entry: sets up what belongs to the process as a whole and hands over to the command line.
#include <clocale>
#include <csignal>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  // Only how characters are typed and shown follows the user's locale; numbers are read and written the same everywhere.
  // The terminal library needs a UTF-8 locale to edit UTF-8, also where none is set.
  const char* locale = std::setlocale(LC_CTYPE, "");
  if (locale == nullptr || std::string_view(locale) == "C" || std::string_view(locale) == "POSIX") std::setlocale(LC_CTYPE, "C.UTF-8");
  // A closed pipe behind us is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  return inferens::run_command_line(argc, argv);
}
