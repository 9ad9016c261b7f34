// Recursive descent over jinja2's expression grammar. Operator chains are loops; only brackets and prefixes recurse.
#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace inferens::jinja {
namespace {

using Node = Expression::Kind;

struct Comparison {
  std::string_view spelling;
  Operator op;
};
constexpr std::array<Comparison, 6> kComparisons = {{{"==", Operator::kEq}, {"!=", Operator::kNe}, {"<", Operator::kLt},
                                                     {"<=", Operator::kLe}, {">", Operator::kGt}, {">=", Operator::kGe}}};

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
  double value = 0;
  const auto [end, error] = std::from_chars(token.value.data(), token.value.data() + token.value.size(), value);
  if (error == std::errc::result_out_of_range) {
    throw Failure(Failure::Kind::kUnsupported, "the number " + token.value + " is out of range", token.line);
  }
  return Value(value);
}

}  // namespace

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : parser_(parser) {
  if (parser_.nesting_ >= kMaxNesting) {
    throw Failure(Failure::Kind::kLimit, "brackets or blocks are nested more than 64 deep", parser_.current().line);
  }
  ++parser_.nesting_;
}

Token ExpressionParser::next() {
  Token token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  next();
  return true;
}

bool ExpressionParser::skip_operator(std::string_view op) {
  if (!is_operator(op)) return false;
  next();
  return true;
}

void ExpressionParser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) fail_here("expected '" + std::string(op) + "', got " + describe(current()));
}

std::string ExpressionParser::expect_any_name() {
  if (current().kind != Token::Kind::kName) fail_here("expected a name, got " + describe(current()));
  return next().value;
}

void ExpressionParser::expect(Token::Kind kind) {
  if (current().kind != kind) fail_here("expected " + describe({kind, 0, ""}) + ", got " + describe(current()));
  next();
}

void ExpressionParser::fail_here(const std::string& message) const {
  throw Failure(Failure::Kind::kSyntax, message, current().line);
}

std::string ExpressionParser::describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::kText: return "template text";
    case Token::Kind::kBlockBegin: return "'{%'";
    case Token::Kind::kBlockEnd: return "'%}'";
    case Token::Kind::kOutputBegin: return "'{{'";
    case Token::Kind::kOutputEnd: return "'}}'";
    case Token::Kind::kString: return "a string";
    case Token::Kind::kEnd: return "the end of the template";
    default: return "'" + token.value + "'";
  }
}

ExpressionPtr ExpressionParser::make(Node kind, int line) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExpressionPtr ExpressionParser::finish(ExpressionPtr node) const {
  int height = 0;
  const auto see = [&](const ExpressionPtr& child) {
    if (child) height = std::max(height, child->height);
  };
  for (const auto& child : node->children) see(child);
  for (const auto& child : node->arguments.positional) see(child);
  for (const auto& [name, child] : node->arguments.keyword) see(child);
  see(node->arguments.star);
  see(node->arguments.double_star);
  node->height = height + 1;
  if (node->height > kMaxExpressionHeight) {
    throw Failure(Failure::Kind::kLimit, "an expression is more than 200 operations deep", node->line);
  }
  return node;
}

ExpressionPtr ExpressionParser::make_unary(Operator op, ExpressionPtr operand, int line) const {
  auto node = make(Node::kUnary, line);
  node->op = op;
  node->children.push_back(std::move(operand));
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::make_binary(Node kind, Operator op, ExpressionPtr left, ExpressionPtr right, int line) const {
  auto node = make(kind, line);
  node->op = op;
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_expression(bool with_conditional) {
  const Nesting nesting(*this);
  return with_conditional ? parse_conditional() : parse_or();
}

ExpressionPtr ExpressionParser::parse_conditional() {
  const int line = current().line;
  ExpressionPtr value = parse_or();
  while (skip_name("if")) {
    auto node = make(Node::kConditional, line);
    node->children.push_back(parse_or());
    node->children.push_back(std::move(value));
    node->children.push_back(skip_name("else") ? parse_expression() : nullptr);
    value = finish(std::move(node));
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_or() {
  const int line = current().line;
  ExpressionPtr left = parse_and();
  while (skip_name("or")) left = make_binary(Node::kOr, Operator::kAdd, std::move(left), parse_and(), line);
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  const int line = current().line;
  ExpressionPtr left = parse_not();
  while (skip_name("and")) left = make_binary(Node::kAnd, Operator::kAdd, std::move(left), parse_not(), line);
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  const int line = next().line;
  return make_unary(Operator::kNot, parse_not(), line);
}

ExpressionPtr ExpressionParser::parse_compare() {
  auto node = make(Node::kCompare, current().line);
  node->children.push_back(parse_sum());
  for (;;) {
    const auto* comparison = std::find_if(kComparisons.begin(), kComparisons.end(),
                                          [this](const Comparison& c) { return is_operator(c.spelling); });
    if (comparison != kComparisons.end()) {
      next();
      node->comparisons.push_back(comparison->op);
    } else if (skip_name("in")) {
      node->comparisons.push_back(Operator::kIn);
    } else if (is_name("not") && look().kind == Token::Kind::kName && look().value == "in") {
      next();
      next();
      node->comparisons.push_back(Operator::kNotIn);
    } else {
      break;
    }
    node->children.push_back(parse_sum());
  }
  return node->comparisons.empty() ? std::move(node->children[0]) : finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_sum() {
  const int line = current().line;
  ExpressionPtr left = parse_concat();
  while (is_operator("+") || is_operator("-")) {
    const Operator op = next().value == "+" ? Operator::kAdd : Operator::kSub;
    left = make_binary(Node::kBinary, op, std::move(left), parse_concat(), line);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  auto node = make(Node::kConcat, current().line);
  node->children.push_back(parse_product());
  while (skip_operator("~")) node->children.push_back(parse_product());
  return node->children.size() == 1 ? std::move(node->children[0]) : finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_product() {
  const int line = current().line;
  ExpressionPtr left = parse_power();
  while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
    const std::string spelling = next().value;
    const Operator op = spelling == "*"    ? Operator::kMul
                        : spelling == "/"  ? Operator::kDiv
                        : spelling == "//" ? Operator::kFloorDiv
                                           : Operator::kMod;
    left = make_binary(Node::kBinary, op, std::move(left), parse_power(), line);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_power() {
  const int line = current().line;
  ExpressionPtr left = parse_unary(true);
  while (skip_operator("**")) left = make_binary(Node::kBinary, Operator::kPow, std::move(left), parse_unary(true), line);
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filter) {
  ExpressionPtr node;
  if (is_operator("-") || is_operator("+")) {
    const Nesting nesting(*this);
    const Token sign = next();
    node = make_unary(sign.value == "-" ? Operator::kNeg : Operator::kPos, parse_unary(false), sign.line);
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filters_and_tests(std::move(node)) : std::move(node);
}

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
    case Token::Kind::kName: return parse_named_primary();
    case Token::Kind::kString: {
      std::string joined;
      while (current().kind == Token::Kind::kString) joined += next().value;
      node->value = Value(Text::trusted(std::move(joined)));
      return node;
    }
    case Token::Kind::kInteger: node->value = parse_integer(next()); return node;
    case Token::Kind::kFloat: node->value = parse_float(next()); return node;
    default: break;
  }
  if (skip_operator("(")) {
    ExpressionPtr inner = parse_tuple(true, "", true);
    expect_operator(")");
    return inner;
  }
  if (is_operator("[")) return parse_list();
  if (is_operator("{")) return parse_dict();
  fail_here("unexpected " + describe(token));
}

bool ExpressionParser::at_tuple_end(std::string_view end_name) const {
  return current().kind == Token::Kind::kOutputEnd || current().kind == Token::Kind::kBlockEnd || is_operator(")") ||
         (!end_name.empty() && is_name(end_name));
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, std::string_view end_name, bool explicit_parentheses) {
  auto node = make(Node::kTuple, current().line);
  bool is_tuple = false;
  for (;;) {
    if (!node->children.empty()) expect_operator(",");
    if (at_tuple_end(end_name)) break;
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
  ExpressionPtr index = arguments->children.size() == 1 ? std::move(arguments->children[0]) : finish(std::move(arguments));
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

ExpressionPtr ExpressionParser::parse_target(std::string_view end_name, bool with_namespace) {
  auto tuple = make(Node::kTuple, current().line);
  bool is_tuple = false;
  for (;;) {
    if (!tuple->children.empty()) expect_operator(",");
    if (at_tuple_end(end_name) || is_operator("=")) break;
    tuple->children.push_back(parse_target_part(with_namespace));
    if (!is_operator(",")) break;
    is_tuple = true;
  }
  if (tuple->children.empty()) fail_here("expected a name to assign to, got " + describe(current()));
  return is_tuple ? finish(std::move(tuple)) : std::move(tuple->children[0]);
}

}  // namespace inferens::jinja
