// The innermost half of the expression grammar: literals, names, brackets, calls, subscripts, filters, tests, targets.
#include <charconv>

#include "text/jinja/expression_parser.h"
#include "text/jinja/numbers.h"

namespace inferens::jinja {
namespace {

using Node = Expression::Kind;

Value parse_integer(const Token& token) {
  std::string_view digits = token.value;
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10) digits.remove_prefix(2);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Failure(Failure::Kind::kUnsupported, "the integer " + token.value + " does not fit in 64 bits", token.line);
  }
  return Value(value);
}

Value parse_float(const Token& token) {
  const auto value = parse_double(token.value);
  if (!value) throw Failure(Failure::Kind::kSyntax, "not a number: " + token.value, token.line);
  return Value(*value);
}

}  // namespace

ExpressionPtr ExpressionParser::parse_named_primary() {
  const Token token = next();
  auto node = make(Node::kConstant, token.line);
  if (token.value == "true" || token.value == "True") {
    node->value = Value(true);
  } else if (token.value == "false" || token.value == "False") {
    node->value = Value(false);
  } else if (token.value == "none" || token.value == "None") {
    node->value = Value();
  } else {
    node->kind = Node::kName;
    node->name = token.value;
  }
  return node;
}

ExpressionPtr ExpressionParser::parse_primary() {
  const Token& token = current();
  const int line = token.line;
  auto node = make(Node::kConstant, line);
  switch (token.kind) {
    case Token::Kind::kName:
      return parse_named_primary();
    case Token::Kind::kString: {
      std::string joined;
      while (current().kind == Token::Kind::kString) joined += next().value;
      node->value = Value(Text::trusted(std::move(joined)));
      return node;
    }
    case Token::Kind::kInteger:
      node->value = parse_integer(next());
      return node;
    case Token::Kind::kFloat:
      node->value = parse_float(next());
      return node;
    default:
      break;
  }
  if (skip_operator("(")) {
    ExpressionPtr inner = parse_tuple(true, true);
    expect_operator(")");
    return inner;
  }
  if (is_operator("[")) return parse_list();
  if (is_operator("{")) return parse_dict();
  fail_here("unexpected " + describe(token));
}

bool ExpressionParser::at_tuple_end() const {
  return current().kind == Token::Kind::kOutputEnd || current().kind == Token::Kind::kBlockEnd || is_operator(")");
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, bool explicit_parentheses) {
  auto node = make(Node::kTuple, current().line);
  bool is_tuple = false;
  for (;;) {
    if (!node->children.empty()) expect_operator(",");
    if (at_tuple_end()) break;
    node->children.push_back(parse_expression(with_conditional));
    if (!is_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!node->children.empty()) return std::move(node->children[0]);
    if (!explicit_parentheses) fail_here("expected an expression, got " + describe(current()));
  }
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_list() {
  auto node = make(Node::kList, current().line);
  expect_operator("[");
  while (!is_operator("]")) {
    if (!node->children.empty()) expect_operator(",");
    if (is_operator("]")) break;
    node->children.push_back(parse_expression());
  }
  expect_operator("]");
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_dict() {
  auto node = make(Node::kDict, current().line);
  expect_operator("{");
  while (!is_operator("}")) {
    if (!node->children.empty()) expect_operator(",");
    if (is_operator("}")) break;
    node->children.push_back(parse_expression());
    expect_operator(":");
    node->children.push_back(parse_expression());
  }
  expect_operator("}");
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
  for (;;) {
    if (is_operator(".") || is_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filters_and_tests(ExpressionPtr node) {
  for (;;) {
    if (is_operator("|")) {
      node = parse_filter_chain(std::move(node), false);
    } else if (is_name("is")) {
      node = parse_test(std::move(node));
    } else if (is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr node) {
  const Token token = next();
  if (token.value == ".") {
    const Token attribute = next();
    if (attribute.kind == Token::Kind::kName) {
      auto result = make(Node::kAttribute, token.line);
      result->name = attribute.value;
      result->children.push_back(std::move(node));
      return finish(std::move(result));
    }
    if (attribute.kind != Token::Kind::kInteger) fail_here("expected a name or number after '.'");
    auto index = make(Node::kConstant, token.line);
    index->value = parse_integer(attribute);
    return make_binary(Node::kItem, Operator::kAdd, std::move(node), std::move(index), token.line);
  }
  auto arguments = make(Node::kTuple, token.line);
  while (!is_operator("]")) {
    if (!arguments->children.empty()) expect_operator(",");
    arguments->children.push_back(parse_subscribed());
  }
  expect_operator("]");
  ExpressionPtr index =
      arguments->children.size() == 1 ? std::move(arguments->children[0]) : finish(std::move(arguments));
  return make_binary(Node::kItem, Operator::kAdd, std::move(node), std::move(index), token.line);
}

ExpressionPtr ExpressionParser::parse_subscribed() {
  auto slice = make(Node::kSlice, current().line);
  const auto ends = [this] { return is_operator("]") || is_operator(",") || is_operator(":"); };
  if (!is_operator(":")) {
    ExpressionPtr first = parse_expression();
    if (!is_operator(":")) return first;
    slice->children.push_back(std::move(first));
  } else {
    slice->children.push_back(nullptr);
  }
  next();
  slice->children.push_back(ends() ? nullptr : parse_expression());
  const bool has_step = skip_operator(":") && !is_operator("]") && !is_operator(",");
  slice->children.push_back(has_step ? parse_expression() : nullptr);
  return finish(std::move(slice));
}

CallArguments ExpressionParser::parse_arguments() {
  CallArguments result;
  expect_operator("(");
  const auto require = [this](bool ok) {
    if (!ok) fail_here("invalid syntax for function call expression");
  };
  for (bool first = true; !is_operator(")"); first = false) {
    if (!first) {
      expect_operator(",");
      if (is_operator(")")) break;
    }
    if (skip_operator("*")) {
      require(!result.star && !result.double_star);
      result.star = parse_expression();
    } else if (skip_operator("**")) {
      require(!result.double_star);
      result.double_star = parse_expression();
    } else if (current().kind == Token::Kind::kName && look().kind == Token::Kind::kOperator && look().value == "=") {
      require(!result.double_star);
      std::string name = next().value;
      next();
      result.keyword.emplace_back(std::move(name), parse_expression());
    } else {
      require(!result.star && !result.double_star && result.keyword.empty());
      result.positional.push_back(parse_expression());
    }
  }
  expect_operator(")");
  return result;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr node) {
  auto call = make(Node::kCall, current().line);
  call->children.push_back(std::move(node));
  call->arguments = parse_arguments();
  return finish(std::move(call));
}

ExpressionPtr ExpressionParser::parse_filter_chain(ExpressionPtr node, bool start_inline) {
  while (start_inline || skip_operator("|")) {
    start_inline = false;
    auto filter = make(Node::kFilter, current().line);
    filter->name = expect_any_name();
    while (skip_operator(".")) filter->name += "." + expect_any_name();
    if (is_operator("(")) filter->arguments = parse_arguments();
    filter->children.push_back(std::move(node));
    node = finish(std::move(filter));
  }
  return node;
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr node) {
  auto test = make(Node::kTest, next().line);
  const bool negated = skip_name("not");
  test->name = expect_any_name();
  while (skip_operator(".")) test->name += "." + expect_any_name();
  test->children.push_back(std::move(node));
  const Token::Kind kind = current().kind;
  const bool literal = kind == Token::Kind::kString || kind == Token::Kind::kInteger || kind == Token::Kind::kFloat;
  const bool operand = literal || is_operator("[") || is_operator("{") ||
                       (kind == Token::Kind::kName && !is_name("else") && !is_name("or") && !is_name("and"));
  if (is_operator("(")) {
    test->arguments = parse_arguments();
  } else if (operand) {
    if (is_name("is")) fail_here("tests cannot be chained with 'is'");
    test->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  const int line = test->line;
  ExpressionPtr result = finish(std::move(test));
  return negated ? make_unary(Operator::kNot, std::move(result), line) : std::move(result);
}

std::string ExpressionParser::parse_target_name() {
  if (current().kind != Token::Kind::kName) fail_here("expected a name, got " + describe(current()));
  ExpressionPtr node = parse_named_primary();
  if (node->kind != Node::kName) fail_here("cannot assign to a constant");
  return node->name;
}

ExpressionPtr ExpressionParser::parse_target_part(bool with_namespace) {
  const Nesting nesting(*this);
  const int line = current().line;
  if (skip_operator("(")) {
    auto tuple = make(Node::kTuple, line);
    bool is_tuple = false;
    while (!is_operator(")")) {
      tuple->children.push_back(parse_target_part(with_namespace));
      if (!skip_operator(",")) break;
      is_tuple = true;
    }
    expect_operator(")");
    if (!is_tuple && tuple->children.size() == 1) return std::move(tuple->children[0]);
    return finish(std::move(tuple));
  }
  auto node = make(Node::kName, line);
  node->name = parse_target_name();
  if (with_namespace && skip_operator(".")) {
    node->kind = Node::kNamespaceRef;
    node->attribute = expect_any_name();
  }
  return node;
}

ExpressionPtr ExpressionParser::parse_target(bool with_namespace) {
  auto tuple = make(Node::kTuple, current().line);
  bool is_tuple = false;
  for (;;) {
    if (!tuple->children.empty()) expect_operator(",");
    if (at_tuple_end()) break;
    tuple->children.push_back(parse_target_part(with_namespace));
    if (!is_operator(",")) break;
    is_tuple = true;
  }
  if (tuple->children.empty()) fail_here("expected a name to assign to, got " + describe(current()));
  return is_tuple ? finish(std::move(tuple)) : std::move(tuple->children[0]);
}

}  // namespace inferens::jinja
