// Recursive descent over jinja2's expression grammar. Operator chains are loops; only brackets and prefixes recurse.
#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <array>

namespace inferens::jinja {
namespace {

using Node = Expression::Kind;

struct Comparison {
  std::string_view spelling;
  Operator op;
};
constexpr std::array<Comparison, 6> kComparisons = {{{"==", Operator::kEq},
                                                     {"!=", Operator::kNe},
                                                     {"<", Operator::kLt},
                                                     {"<=", Operator::kLe},
                                                     {">", Operator::kGt},
                                                     {">=", Operator::kGe}}};

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
    case Token::Kind::kText:
      return "template text";
    case Token::Kind::kBlockBegin:
      return "'{%'";
    case Token::Kind::kBlockEnd:
      return "'%}'";
    case Token::Kind::kOutputBegin:
      return "'{{'";
    case Token::Kind::kOutputEnd:
      return "'}}'";
    case Token::Kind::kString:
      return "a string";
    case Token::Kind::kEnd:
      return "the end of the template";
    default:
      return "'" + token.value + "'";
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

ExpressionPtr ExpressionParser::make_binary(Node kind, Operator op, ExpressionPtr left, ExpressionPtr right,
                                            int line) const {
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
  while (skip_operator("**"))
    left = make_binary(Node::kBinary, Operator::kPow, std::move(left), parse_unary(true), line);
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

}  // namespace inferens::jinja
