// Walks the tree. One per render; the program is shared and never changed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"

namespace inferens::jinja {

// The variables of a scope while it runs.
struct Frame {
  Frame* parent = nullptr;
  std::vector<Value> slots;
};

class Interpreter {
 public:
  Interpreter(const Program& program, const std::map<std::string, Value, std::less<>>& variables, Runtime& runtime)
      : program_(program), context_(variables), runtime_(runtime) {}

  Text render();
  Runtime& runtime() { return runtime_; }
  int line() const { return line_; }  // of the last statement or call begun, for error messages

  // For macros and recursive loops, which come back here when they are called.
  // autoescape: what it was where the macro was defined.
  Text call_macro(const Statement& definition, Frame& closure, bool autoescape, const Arguments& arguments);
  Text run_recursive_loop(const Statement& node, Frame& frame, const Value& items, int depth);

 private:
  enum class Flow { kNormal, kBreak, kContinue };

  Frame* enter(const Scope& scope, Frame* parent);
  void load_variables(const Scope& scope, Frame& frame);
  Value resolve(const std::string& name) const;
  static Value& variable(Frame& frame, VariableRef ref);

  Flow run(const Body& body, Frame& frame);
  Flow run(const Statement& node, Frame& frame);
  Flow run_if(const Statement& node, Frame& frame);
  Flow run_for(const Statement& node, Frame& frame, const Value& items, int depth);
  Flow run_with(const Statement& node, Frame& frame);
  Next filter_items(const Statement& node, Frame& frame, Next next);
  Flow run_set_block(const Statement& node, Frame& frame);
  Flow run_filter_block(const Statement& node, Frame& frame);
  Flow run_autoescape(const Statement& node, Frame& frame);
  void assign(const Expression& target, Frame& frame, Value value, bool top_level);
  void assign_name(const Expression& target, Frame& frame, Value value, bool top_level);
  // Runs `body` with its output caught.
  Flow capture(const Body& body, Frame& frame, Text& out);
  void emit(const Value& value);
  void emit_text(const Value& value);
  Value macro_argument(const Statement& definition, Frame& frame, size_t index);

  Value evaluate(const Expression& node, Frame& frame);
  Value evaluate_name(const Expression& node, Frame& frame);
  Value evaluate_item(const Expression& node, Frame& frame);
  Value evaluate_call(const Expression& node, Frame& frame, const Value* caller);
  Value evaluate_filter(const Expression& node, Frame& frame, const Value* body);
  void charge_walk(const Value& value);
  Value evaluate_compare(const Expression& node, Frame& frame);
  Value evaluate_concat(const Expression& node, Frame& frame);
  Value evaluate_dict(const Expression& node, Frame& frame);
  Value evaluate_conditional(const Expression& node, Frame& frame);
  bool evaluate_test(const Expression& node, Frame& frame);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& nodes, Frame& frame);
  Arguments evaluate_arguments(const CallArguments& arguments, Frame& frame);

  const Program& program_;
  const std::map<std::string, Value, std::less<>>& context_;
  std::map<std::string, Value, std::less<>> exported_;  // set at the top level: what blocks see
  Runtime& runtime_;
  TextBuilder* out_ = nullptr;
  int line_ = 1;
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace inferens::jinja
