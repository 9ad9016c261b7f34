// A macro, or the body of a call block: a function of the template's own.
#pragma once

#include "text/jinja/interpreter.h"

namespace inferens::jinja {

class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const Statement& definition, Frame& closure)
      : interpreter_(interpreter),
        definition_(definition),
        closure_(closure),
        autoescape_(interpreter.runtime().autoescape()) {}
  std::string_view type_name() const override { return "Macro"; }
  bool is_callable() const override { return true; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;
  Value call(Runtime&, const Arguments& arguments) override {
    return Value(interpreter_.call_macro(definition_, closure_, autoescape_, arguments));
  }
  const std::string& name() const { return definition_.name; }

 private:
  Interpreter& interpreter_;
  const Statement& definition_;
  Frame& closure_;
  bool autoescape_;
};

}  // namespace inferens::jinja
