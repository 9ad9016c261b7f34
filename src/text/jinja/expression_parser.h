// The expression half of the parser. The statement half (parser.cc) builds on it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace inferens::jinja {

class ExpressionParser {
 protected:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // A level of brackets, blocks or prefix operators.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Token next();
  bool is_name(std::string_view name) const { return current().kind == Token::Kind::kName && current().value == name; }
  bool is_operator(std::string_view op) const {
    return current().kind == Token::Kind::kOperator && current().value == op;
  }
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view op);
  void expect_operator(std::string_view op);
  std::string expect_any_name();
  void expect(Token::Kind kind);
  [[noreturn]] void fail_here(const std::string& message) const;
  static std::string describe(const Token& token);

  ExpressionPtr parse_expression(bool with_conditional = true);
  ExpressionPtr parse_tuple(bool with_conditional, bool explicit_parentheses = false);
  ExpressionPtr parse_target(bool with_namespace);
  std::string parse_target_name();
  ExpressionPtr parse_filter_chain(ExpressionPtr node, bool start_inline);

 private:
  ExpressionPtr make(Expression::Kind kind, int line) const;
  ExpressionPtr finish(ExpressionPtr node) const;  // sets and checks the height
  ExpressionPtr make_unary(Operator op, ExpressionPtr operand, int line) const;
  ExpressionPtr make_binary(Expression::Kind kind, Operator op, ExpressionPtr left, ExpressionPtr right,
                            int line) const;
  ExpressionPtr parse_conditional();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filter);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_named_primary();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_filters_and_tests(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr node);
  ExpressionPtr parse_subscribed();
  ExpressionPtr parse_call(ExpressionPtr node);
  ExpressionPtr parse_test(ExpressionPtr node);
  ExpressionPtr parse_target_part(bool with_namespace);
  CallArguments parse_arguments();
  bool at_tuple_end() const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace inferens::jinja
