// Statements. Expressions are in evaluate.cc, macros in macro.cc, the loop variable in loop.cc.
#include "text/jinja/interpreter.h"

#include "text/jinja/filters.h"
#include "text/jinja/globals.h"
#include "text/jinja/loop.h"
#include "text/jinja/macro.h"
#include "text/jinja/print.h"

namespace inferens::jinja {

Text Interpreter::render() {
  Frame* root = enter(program_.scope, nullptr);
  Text out;
  capture(program_.body, *root, out);
  return out;
}

Value& Interpreter::variable(Frame& frame, VariableRef ref) {
  Frame* at = &frame;
  for (int up = ref.up; up > 0; --up) at = at->parent;
  return at->slots[static_cast<size_t>(ref.slot)];
}

Value Interpreter::resolve(const std::string& name) const {
  if (const auto found = exported_.find(name); found != exported_.end()) return found->second;
  if (const auto found = context_.find(name); found != context_.end()) return found->second;
  return Value::missing();
}

Frame* Interpreter::enter(const Scope& scope, Frame* parent) {
  // Frames are kept until the render ends, since macros may hold them.
  runtime_.budget().memory(sizeof(Frame) + 64 + scope.variables.size() * sizeof(Value));
  frames_.push_back(std::make_unique<Frame>());
  Frame* frame = frames_.back().get();
  frame->parent = parent;
  frame->slots.resize(scope.variables.size(), Value::missing());
  load_variables(scope, *frame);
  return frame;
}

void Interpreter::load_variables(const Scope& scope, Frame& frame) {
  for (size_t i = 0; i < scope.variables.size(); ++i) {
    const Scope::Variable& entry = scope.variables[i];
    switch (entry.load) {
      case Scope::Load::kParameter:
        break;
      case Scope::Load::kResolve:
        frame.slots[i] = resolve(entry.name);
        break;
      case Scope::Load::kAlias:
        frame.slots[i] = variable(frame, entry.source);
        break;
      case Scope::Load::kUndefined:
        frame.slots[i] = Value::missing();
        break;
    }
  }
}

Interpreter::Flow Interpreter::capture(const Body& body, Frame& frame, Text& out) {
  TextBuilder builder(runtime_.budget());
  TextBuilder* outer = out_;
  out_ = &builder;
  const Flow flow = run(body, frame);
  out_ = outer;
  out = builder.take();
  return flow;
}

void Interpreter::emit(const Value& value) {
  if (runtime_.autoescape()) {
    out_->append(escape(runtime_, value));
  } else {
    append_text(runtime_, value, *out_);
  }
}

// What a call or filter block gave: Jinja writes it as it is, and only text can be written.
void Interpreter::emit_text(const Value& value) {
  if (!value.is_text()) fail("a call or filter block gave " + std::string(type_name(value)) + " instead of text");
  out_->append(value.text());
}

Interpreter::Flow Interpreter::run(const Body& body, Frame& frame) {
  for (const auto& statement : body) {
    const Flow flow = run(*statement, frame);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::run(const Statement& node, Frame& frame) {
  using Kind = Statement::Kind;
  const Runtime::Depth depth(runtime_);
  runtime_.budget().step();
  line_ = node.line;
  switch (node.kind) {
    case Kind::kText:
      out_->append(node.text);
      break;
    case Kind::kOutput:
      for (const auto& expression : node.expressions) emit(evaluate(*expression, frame));
      break;
    case Kind::kIf:
      return run_if(node, frame);
    case Kind::kFor:
      if (node.recursive) {
        emit(Value(run_recursive_loop(node, frame, evaluate(*node.expression, frame), 0)));
        break;
      }
      return run_for(node, frame, evaluate(*node.expression, frame), 0);
    case Kind::kMacro:
      assign_name(*node.target, frame, Value(runtime_.make<Macro>(*this, node, frame)), node.top_level);
      break;
    case Kind::kCallBlock: {
      const Value caller(runtime_.make<Macro>(*this, node, frame));
      emit_text(evaluate_call(*node.expression, frame, &caller));
      break;
    }
    case Kind::kFilterBlock:
      return run_filter_block(node, frame);
    case Kind::kWith:
      return run_with(node, frame);
    case Kind::kSet:
      assign(*node.target, frame, evaluate(*node.expression, frame), node.top_level);
      break;
    case Kind::kSetBlock:
      return run_set_block(node, frame);
    case Kind::kAutoescape:
      return run_autoescape(node, frame);
    case Kind::kScope:
      return run(node.body, *enter(node.scope, &frame));
    case Kind::kBlock:
      return run(node.body, *enter(node.scope, nullptr));
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::run_if(const Statement& node, Frame& frame) {
  for (const auto& branch : node.branches) {
    if (!branch.condition || truthy(runtime_, evaluate(*branch.condition, frame))) return run(branch.body, frame);
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::run_for(const Statement& node, Frame& frame, const Value& items, int depth) {
  std::optional<int64_t> length = length_of(runtime_, items);
  Next next = iterate(runtime_, items);
  if (node.test) {
    length.reset();
    next = filter_items(node, frame, std::move(next));
  }
  auto* loop = runtime_.make<LoopContext>(*this, node, frame, std::move(next), length, depth);
  Frame* body_frame = enter(node.scope, &frame);
  // Jinja runs the else part unless a body ran to its end, so also after a first `break` or only `continue`s.
  bool entered = false, completed = false;
  for (Value item; loop->advance(item);) {
    runtime_.budget().step();
    if (entered) load_variables(node.scope, *body_frame);
    entered = true;
    variable(*body_frame, node.loop) = Value(loop);
    assign(*node.target, *body_frame, item, false);
    const Flow flow = run(node.body, *body_frame);
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kNormal;
  }
  if (!completed && !node.otherwise.empty()) return run(node.otherwise, *enter(node.else_scope, &frame));
  return Flow::kNormal;
}

// {% for … if test %}: the items that pass, tested one by one as the loop asks for them.
Next Interpreter::filter_items(const Statement& node, Frame& frame, Next next) {
  return [this, &node, next = std::move(next), test_frame = enter(node.test_scope, &frame)](Value& out) {
    while (next(out)) {
      assign(*node.targets[0], *test_frame, out, false);
      if (truthy(runtime_, evaluate(*node.test, *test_frame))) return true;
    }
    return false;
  };
}

Text Interpreter::run_recursive_loop(const Statement& node, Frame& frame, const Value& items, int depth) {
  const Runtime::CallDepth call_depth(runtime_);
  TextBuilder builder(runtime_.budget());
  TextBuilder* outer = out_;
  out_ = &builder;
  run_for(node, frame, items, depth);
  out_ = outer;
  return builder.take().as_markup(runtime_.autoescape());
}

Interpreter::Flow Interpreter::run_with(const Statement& node, Frame& frame) {
  Frame* inner = enter(node.scope, &frame);
  for (size_t i = 0; i < node.targets.size(); ++i)
    assign(*node.targets[i], *inner, evaluate(*node.expressions[i], frame), false);
  return run(node.body, *inner);
}

Interpreter::Flow Interpreter::run_set_block(const Statement& node, Frame& frame) {
  Frame* inner = enter(node.scope, &frame);
  Text body;
  if (const Flow flow = capture(node.body, *inner, body); flow != Flow::kNormal) return flow;
  Value value(body.as_markup(runtime_.autoescape()));
  if (node.filter) {
    value = evaluate_filter(*node.filter, *inner, &value);
    if (runtime_.autoescape()) value = Value(to_text(runtime_, value).as_markup(true));
  }
  assign(*node.target, frame, std::move(value), node.top_level);
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::run_filter_block(const Statement& node, Frame& frame) {
  Frame* inner = enter(node.scope, &frame);
  Text body;
  if (const Flow flow = capture(node.body, *inner, body); flow != Flow::kNormal) return flow;
  const Value value(body.as_markup(runtime_.autoescape()));
  emit_text(evaluate_filter(*node.filter, *inner, &value));
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::run_autoescape(const Statement& node, Frame& frame) {
  Frame* inner = enter(node.scope, &frame);
  const bool before = runtime_.autoescape();
  runtime_.set_autoescape(truthy(runtime_, evaluate(*node.expression, *inner)));
  const Flow flow = run(node.body, *inner);
  runtime_.set_autoescape(before);
  return flow;
}

void Interpreter::assign_name(const Expression& target, Frame& frame, Value value, bool top_level) {
  if (top_level) exported_.insert_or_assign(target.name, value);
  variable(frame, target.ref) = std::move(value);
}

void Interpreter::assign(const Expression& target, Frame& frame, Value value, bool top_level) {
  if (target.kind == Expression::Kind::kName) return assign_name(target, frame, std::move(value), top_level);
  if (target.kind == Expression::Kind::kNamespaceRef) {
    const Value owner = variable(frame, target.ref);
    auto* ns = owner.is(Kind::kObject) ? dynamic_cast<Namespace*>(owner.object()) : nullptr;
    if (!ns) fail("cannot assign attribute on non-namespace object");
    return ns->set(target.attribute, std::move(value));
  }
  const std::vector<Value> parts = collect(runtime_, value);
  if (parts.size() != target.children.size()) {
    fail((parts.size() < target.children.size() ? "not enough values to unpack (expected "
                                                : "too many values to unpack (expected ") +
         std::to_string(target.children.size()) + ")");
  }
  for (size_t i = 0; i < parts.size(); ++i) assign(*target.children[i], frame, parts[i], top_level);
}

}  // namespace inferens::jinja
