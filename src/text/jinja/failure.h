// How things go wrong inside this folder: one exception type, thrown anywhere below the door (template.h) and turned
// into a Status there. An interpreter unwinds from deep inside expressions, so a return code at every step would hide
// the rules.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace inferens::jinja {

class Failure : public std::runtime_error {
 public:
  enum class Kind {
    kSyntax,       // the template cannot be parsed
    kRuntime,      // what Python or Jinja would raise while rendering
    kRaised,       // the template's own raise_exception
    kLimit,        // a limit of budget.h
    kInput,        // what the caller gave beside the template (tools, extra variables) is wrong
    kUnsupported,  // understood, and refused by name
  };
  Failure(Kind kind, std::string message, int line = 0)
      : std::runtime_error(std::move(message)), kind_(kind), line_(line) {}
  Kind kind() const { return kind_; }
  int line() const { return line_; }  // 0: where the interpreter stands

 private:
  Kind kind_;
  int line_;
};

[[noreturn]] inline void fail(std::string message) {
  throw Failure(Failure::Kind::kRuntime, std::move(message));
}
[[noreturn]] inline void fail_input(std::string message) {
  throw Failure(Failure::Kind::kInput, std::move(message));
}
[[noreturn]] inline void fail_unsupported(std::string message) {
  throw Failure(Failure::Kind::kUnsupported, std::move(message));
}
[[noreturn]] inline void fail_limit(std::string message) {
  throw Failure(Failure::Kind::kLimit, std::move(message));
}

}  // namespace inferens::jinja
