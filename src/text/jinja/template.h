// The door of this folder: source in, text with provenance out, errors as Status. Behind it errors are exceptions
// (failure.h); none leaves.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "inferens/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"

namespace inferens::jinja {

using Variables = std::map<std::string, Value, std::less<>>;

// Immutable once parsed; render may run on many threads at once.
class Template {
 public:
  static StatusOr<Template> parse(std::string_view source);
  // `fill` sets the variables, and may throw Failure. Limits: budget.h.
  // raise_exception's text comes back as invalid_argument, word for word; every other error names the line.
  StatusOr<Text> render(const std::function<void(Runtime&, Variables&)>& fill, const Clock& clock) const;

 private:
  Program program_;
};

}  // namespace inferens::jinja
