// Expressions.
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/tests.h"

namespace inferens::jinja {

Value Interpreter::evaluate(const Expression& node, Frame& frame) {
  using Kind = Expression::Kind;
  const Runtime::Depth depth(runtime_);
  runtime_.budget().step();
  switch (node.kind) {
    case Kind::kConstant:
      return node.value;
    case Kind::kName:
      return evaluate_name(node, frame);
    case Kind::kTuple:
      return make_tuple(runtime_.budget(), evaluate_all(node.children, frame));
    case Kind::kList:
      return make_list(runtime_.budget(), evaluate_all(node.children, frame));
    case Kind::kDict:
      return evaluate_dict(node, frame);
    case Kind::kAttribute:
      return get_attribute(runtime_, evaluate(*node.children[0], frame), node.name);
    case Kind::kItem:
      return evaluate_item(node, frame);
    case Kind::kCall:
      return evaluate_call(node, frame, nullptr);
    case Kind::kFilter:
      return evaluate_filter(node, frame, nullptr);
    case Kind::kTest:
      return Value(evaluate_test(node, frame));
    case Kind::kUnary:
      return unary(runtime_, node.op, evaluate(*node.children[0], frame));
    case Kind::kBinary: {
      const Value left = evaluate(*node.children[0], frame);
      return binary(runtime_, node.op, left, evaluate(*node.children[1], frame));
    }
    case Kind::kAnd:
    case Kind::kOr: {
      Value left = evaluate(*node.children[0], frame);
      const bool decided = truthy(runtime_, left) == (node.kind == Kind::kOr);
      return decided ? left : evaluate(*node.children[1], frame);
    }
    case Kind::kConcat:
      return evaluate_concat(node, frame);
    case Kind::kCompare:
      return evaluate_compare(node, frame);
    case Kind::kConditional:
      return evaluate_conditional(node, frame);
    case Kind::kSlice:
      fail("unhashable type: 'slice'");
    case Kind::kNamespaceRef:
      break;
  }
  fail("not an expression");
}

Value Interpreter::evaluate_name(const Expression& node, Frame& frame) {
  const Value& value = variable(frame, node.ref);
  return value.is(Kind::kMissing) ? Value::undefined("'" + node.name + "' is undefined") : value;
}

Value Interpreter::evaluate_conditional(const Expression& node, Frame& frame) {
  if (truthy(runtime_, evaluate(*node.children[0], frame))) return evaluate(*node.children[1], frame);
  if (node.children[2]) return evaluate(*node.children[2], frame);
  return Value::undefined("the inline if-expression on line " + std::to_string(node.line) +
                          " evaluated to false and no else section was defined");
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExpressionPtr>& nodes, Frame& frame) {
  std::vector<Value> values;
  values.reserve(nodes.size());
  for (const auto& node : nodes) values.push_back(evaluate(*node, frame));
  return values;
}

Value Interpreter::evaluate_dict(const Expression& node, Frame& frame) {
  DictBuilder dict(runtime_.budget());
  for (size_t i = 0; i < node.children.size(); i += 2) {
    Value key = evaluate(*node.children[i], frame);
    dict.set(std::move(key), evaluate(*node.children[i + 1], frame));
  }
  return Value(dict.take());
}

Value Interpreter::evaluate_item(const Expression& node, Frame& frame) {
  const Value object = evaluate(*node.children[0], frame);
  const Expression& index = *node.children[1];
  if (index.kind != Expression::Kind::kSlice) return get_item(runtime_, object, evaluate(index, frame));
  std::vector<Value> bounds;
  for (const auto& bound : index.children) bounds.push_back(bound ? evaluate(*bound, frame) : Value());
  return get_slice(runtime_, object, bounds[0], bounds[1], bounds[2]);
}

Arguments Interpreter::evaluate_arguments(const CallArguments& arguments, Frame& frame) {
  Arguments result;
  result.positional = evaluate_all(arguments.positional, frame);
  for (const auto& [name, node] : arguments.keyword)
    result.keyword.emplace_back(Text::trusted(name), evaluate(*node, frame));
  if (arguments.star) {
    for (Value& value : collect(runtime_, evaluate(*arguments.star, frame)))
      result.positional.push_back(std::move(value));
  }
  if (arguments.double_star) {
    const Value extra = evaluate(*arguments.double_star, frame);
    if (!extra.is(Kind::kDict)) fail("argument after ** must be a mapping, not " + std::string(type_name(extra)));
    for (const auto& [key, value] : extra.dict()->entries) {
      if (!key.is_text()) fail("keywords must be strings");
      result.keyword.emplace_back(key.text(), value);
    }
  }
  for (size_t i = 0; i < result.keyword.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (result.keyword[i].first.view() == result.keyword[j].first.view()) {
        fail("got multiple values for keyword argument '" + result.keyword[i].first.str() + "'");
      }
    }
    runtime_.budget().step(i);
  }
  return result;
}

Value Interpreter::evaluate_call(const Expression& node, Frame& frame, const Value* caller) {
  const Expression& callee_node = *node.children[0];
  Value self, callee;
  Method method = nullptr;
  if (callee_node.kind == Expression::Kind::kAttribute) {
    // The common x.method(…) needs no method object.
    self = evaluate(*callee_node.children[0], frame);
    method = find_method(self, callee_node.name);
    if (!method) callee = get_attribute(runtime_, self, callee_node.name);
  } else {
    callee = evaluate(callee_node, frame);
  }
  Arguments arguments = evaluate_arguments(node.arguments, frame);
  if (caller) arguments.keyword.emplace_back(Text::trusted("caller"), *caller);
  line_ = node.line;
  if (!method) return runtime_.call(callee, arguments);
  charge_walk(self);
  return method(runtime_, self, arguments);
}

// Methods, filters and tests may look at a whole text; that is paid for here, once.
void Interpreter::charge_walk(const Value& value) {
  if (value.is_text()) runtime_.budget().step(value.text().size() / 32);
}

Value Interpreter::evaluate_filter(const Expression& node, Frame& frame, const Value* body) {
  Value value;
  if (node.children[0]) {
    // In a filter block the innermost filter of the chain takes the body.
    const bool chained = body && node.children[0]->kind == Expression::Kind::kFilter;
    value = chained ? evaluate_filter(*node.children[0], frame, body) : evaluate(*node.children[0], frame);
  } else if (body) {
    value = *body;
  }
  const Arguments arguments = evaluate_arguments(node.arguments, frame);
  line_ = node.line;
  if (!node.filter) fail("no filter named '" + node.name + "'");
  charge_walk(value);
  return node.filter->apply(runtime_, value, arguments);
}

bool Interpreter::evaluate_test(const Expression& node, Frame& frame) {
  const Value value = evaluate(*node.children[0], frame);
  const Arguments arguments = evaluate_arguments(node.arguments, frame);
  line_ = node.line;
  if (!node.test) fail("no test named '" + node.name + "'");
  charge_walk(value);
  return node.test->apply(runtime_, value, arguments);
}

Value Interpreter::evaluate_compare(const Expression& node, Frame& frame) {
  Value left = evaluate(*node.children[0], frame);
  for (size_t i = 0; i < node.comparisons.size(); ++i) {
    Value right = evaluate(*node.children[i + 1], frame);
    if (!compare_with(runtime_, node.comparisons[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_concat(const Expression& node, Frame& frame) {
  const std::vector<Value> parts = evaluate_all(node.children, frame);
  bool markup = false;
  if (runtime_.autoescape()) {
    for (const Value& part : parts) markup = markup || (part.is_text() && part.text().is_markup());
  }
  TextBuilder out(runtime_.budget());
  for (const Value& part : parts) {
    if (markup) {
      out.append(escape(runtime_, part));
    } else {
      append_text(runtime_, part, out);
    }
  }
  return Value(out.take().as_markup(markup));
}

}  // namespace inferens::jinja
