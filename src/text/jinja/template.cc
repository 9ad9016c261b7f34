// Parse and render, with every failure turned into a Status.
#include "text/jinja/template.h"

#include <new>

#include "text/jinja/globals.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"
#include "text/jinja/scope.h"

namespace inferens::jinja {
namespace {

Status to_status(const Failure& failure, int line) {
  if (failure.kind() == Failure::Kind::kRaised || failure.kind() == Failure::Kind::kInput)
    return invalid_argument(failure.what());
  const std::string where = line > 0 ? "chat template line " + std::to_string(line) + ": " : "chat template: ";
  const std::string message = where + failure.what();
  switch (failure.kind()) {
    case Failure::Kind::kLimit:
      return resource_exhausted(message);
    case Failure::Kind::kUnsupported:
      return unsupported(message);
    default:
      return invalid_argument(message);
  }
}

}  // namespace

StatusOr<Template> Template::parse(std::string_view source) {
  Template result;
  try {
    result.program_ = parse_program(source);
    resolve_scopes(result.program_);
  } catch (const Failure& failure) {
    return to_status(failure, failure.line());
  } catch (const std::bad_alloc&) {
    return resource_exhausted("chat template: not enough memory to parse it");
  }
  return result;
}

StatusOr<Text> Template::render(const std::function<void(Runtime&, Variables&)>& fill, const Clock& clock) const {
  Runtime runtime(clock);
  Variables variables;
  Interpreter interpreter(program_, variables, runtime);
  try {
    fill(runtime, variables);
  } catch (const Failure& failure) {
    return to_status(failure, 0);
  }
  try {
    add_globals(runtime, variables);
    return interpreter.render();
  } catch (const Failure& failure) {
    return to_status(failure, failure.line() > 0 ? failure.line() : interpreter.line());
  } catch (const std::bad_alloc&) {
    return resource_exhausted("chat template: not enough memory to render it");
  }
}

}  // namespace inferens::jinja
