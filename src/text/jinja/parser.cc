// Statements: everything between {% and %}, and what lies between tags.
#include "text/jinja/parser.h"

#include <algorithm>
#include <array>
#include <set>

#include "text/jinja/expression_parser.h"
#include "text/jinja/lexer.h"

namespace inferens::jinja {
namespace {

using Node = Statement::Kind;
using Words = std::initializer_list<std::string_view>;

class Parser : private ExpressionParser {
 public:
  explicit Parser(std::vector<Token> tokens) : ExpressionParser(std::move(tokens)) {}

  Body parse() { return parse_body({}, 0, ""); }

 private:
  StatementPtr make(Node kind) const {
    auto node = std::make_unique<Statement>();
    node->kind = kind;
    node->line = current().line;
    return node;
  }

  bool at_word(Words words) const {
    return std::any_of(words.begin(), words.end(), [this](std::string_view word) { return is_name(word); });
  }

  // Statements up to a tag named in `ends`, leaving that word as the current token. Without `ends`: to the template's
  // end.
  Body parse_body(Words ends, int opened_line, std::string_view opener) {
    const Nesting nesting(*this);
    Body body;
    for (;;) {
      switch (current().kind) {
        case Token::Kind::kText: {
          auto node = make(Node::kText);
          node->text = Text::trusted(next().value);
          body.push_back(std::move(node));
          break;
        }
        case Token::Kind::kOutputBegin: {
          auto node = make(Node::kOutput);
          next();
          node->expressions.push_back(parse_tuple(true));
          expect(Token::Kind::kOutputEnd);
          body.push_back(std::move(node));
          break;
        }
        case Token::Kind::kBlockBegin:
          next();
          if (at_word(ends)) return body;
          body.push_back(parse_statement());
          expect(Token::Kind::kBlockEnd);
          break;
        default:
          if (ends.size() == 0) return body;
          throw Failure(Failure::Kind::kSyntax, "{% " + std::string(opener) + " %} is not closed", opened_line);
      }
    }
  }

  // The body of a tag whose head has just been read, up to one of `ends`; the end word is left as the current token.
  Body parse_block_body(Words ends, const Statement& node, std::string_view opener) {
    skip_operator(":");
    expect(Token::Kind::kBlockEnd);
    return parse_body(ends, node.line, opener);
  }
  Body parse_closed_body(std::string_view end, const Statement& node, std::string_view opener) {
    Body body = parse_block_body({end}, node, opener);
    next();
    return body;
  }

  StatementPtr parse_statement() {
    if (current().kind != Token::Kind::kName) fail_here("expected a tag name, got " + describe(current()));
    struct Tag {
      std::string_view name;
      StatementPtr (Parser::*parse)();
    };
    static constexpr std::array<Tag, 13> kTags = {{{"for", &Parser::parse_for},
                                                   {"if", &Parser::parse_if},
                                                   {"set", &Parser::parse_set},
                                                   {"macro", &Parser::parse_macro},
                                                   {"call", &Parser::parse_call_block},
                                                   {"filter", &Parser::parse_filter_block},
                                                   {"with", &Parser::parse_with},
                                                   {"autoescape", &Parser::parse_autoescape},
                                                   {"generation", &Parser::parse_generation},
                                                   {"block", &Parser::parse_block},
                                                   {"print", &Parser::parse_print},
                                                   {"break", &Parser::parse_break},
                                                   {"continue", &Parser::parse_continue}}};
    const auto* tag = std::find_if(kTags.begin(), kTags.end(), [this](const Tag& t) { return is_name(t.name); });
    if (tag != kTags.end()) return (this->*tag->parse)();
    if (at_word({"extends", "include", "import", "from"})) {
      throw Failure(Failure::Kind::kUnsupported,
                    "{% " + current().value + " %} needs other template files, which a model does not have",
                    current().line);
    }
    fail_here("unknown tag '" + current().value + "'");
  }

  StatementPtr parse_for() {
    auto node = make(Node::kFor);
    next();
    node->target = parse_target(false);
    if (!skip_name("in")) fail_here("expected 'in', got " + describe(current()));
    node->expression = parse_tuple(false);
    if (skip_name("if")) node->test = parse_expression();
    node->recursive = skip_name("recursive");
    node->body = parse_block_body({"endfor", "else"}, *node, "for");
    if (next().value == "else") node->otherwise = parse_closed_body("endfor", *node, "for");
    return node;
  }

  StatementPtr parse_if() {
    auto node = make(Node::kIf);
    next();
    for (;;) {
      Statement::Branch branch;
      branch.condition = parse_tuple(false);
      branch.body = parse_block_body({"elif", "else", "endif"}, *node, "if");
      node->branches.push_back(std::move(branch));
      const std::string word = next().value;
      if (word == "elif") continue;
      if (word == "else") {
        Statement::Branch last;
        last.body = parse_closed_body("endif", *node, "if");
        node->branches.push_back(std::move(last));
      }
      return node;
    }
  }

  StatementPtr parse_set() {
    auto node = make(Node::kSet);
    next();
    node->target = parse_target(true);
    if (skip_operator("=")) {
      node->expression = parse_tuple(true);
      return node;
    }
    node->kind = Node::kSetBlock;
    node->filter = parse_filter_chain(nullptr, false);
    node->body = parse_closed_body("endset", *node, "set");
    return node;
  }

  void parse_signature(Signature& signature) {
    expect_operator("(");
    while (!is_operator(")")) {
      if (!signature.names.empty()) expect_operator(",");
      const std::string name = parse_target_name();
      if (std::find(signature.names.begin(), signature.names.end(), name) != signature.names.end()) {
        fail_here("duplicate argument '" + name + "'");
      }
      signature.names.push_back(name);
      if (skip_operator("=")) {
        signature.defaults.push_back(parse_expression());
      } else if (!signature.defaults.empty()) {
        fail_here("an argument without default follows one with a default");
      }
    }
    expect_operator(")");
  }

  StatementPtr parse_macro() {
    auto node = make(Node::kMacro);
    next();
    node->name = parse_target_name();
    parse_signature(node->signature);
    node->body = parse_closed_body("endmacro", *node, "macro");
    return node;
  }

  StatementPtr parse_call_block() {
    auto node = make(Node::kCallBlock);
    next();
    if (is_operator("(")) parse_signature(node->signature);
    node->expression = parse_expression();
    if (node->expression->kind != Expression::Kind::kCall) fail_here("{% call %} needs a call");
    node->body = parse_closed_body("endcall", *node, "call");
    return node;
  }

  StatementPtr parse_filter_block() {
    auto node = make(Node::kFilterBlock);
    next();
    node->filter = parse_filter_chain(nullptr, true);
    node->body = parse_closed_body("endfilter", *node, "filter");
    return node;
  }

  StatementPtr parse_with() {
    auto node = make(Node::kWith);
    next();
    while (current().kind != Token::Kind::kBlockEnd) {
      if (!node->targets.empty()) expect_operator(",");
      node->targets.push_back(parse_target(false));
      expect_operator("=");
      node->expressions.push_back(parse_expression());
    }
    node->body = parse_closed_body("endwith", *node, "with");
    return node;
  }

  StatementPtr parse_autoescape() {
    auto node = make(Node::kAutoescape);
    next();
    node->expression = parse_expression();
    node->body = parse_closed_body("endautoescape", *node, "autoescape");
    return node;
  }

  StatementPtr parse_generation() {
    auto node = make(Node::kScope);
    next();
    node->body = parse_closed_body("endgeneration", *node, "generation");
    return node;
  }

  StatementPtr parse_block() {
    auto node = make(Node::kBlock);
    next();
    node->name = expect_any_name();
    if (!block_names_.insert(node->name).second) fail_here("block '" + node->name + "' is defined twice");
    if (is_name("scoped") || is_name("required")) {
      throw Failure(Failure::Kind::kUnsupported,
                    "{% block … " + current().value + " %} is for templates made of several files", node->line);
    }
    node->body = parse_closed_body("endblock", *node, "block");
    skip_name(node->name);
    return node;
  }

  StatementPtr parse_print() {
    auto node = make(Node::kOutput);
    next();
    while (current().kind != Token::Kind::kBlockEnd) {
      if (!node->expressions.empty()) expect_operator(",");
      node->expressions.push_back(parse_expression());
    }
    return node;
  }

  StatementPtr parse_break() {
    auto node = make(Node::kBreak);
    next();
    return node;
  }
  StatementPtr parse_continue() {
    auto node = make(Node::kContinue);
    next();
    return node;
  }

  std::set<std::string> block_names_;
};

}  // namespace

Program parse_program(std::string_view source) {
  if (source.size() > kMaxSourceBytes) throw Failure(Failure::Kind::kLimit, "the template is above 1 MB", 1);
  Program program;
  program.body = Parser(tokenize(source)).parse();
  return program;
}

}  // namespace inferens::jinja
