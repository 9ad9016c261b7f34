#include "engine/grammar/grammar_check.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "engine/grammar/ebnf.h"
#include "engine/grammar/json_schema.h"
#include "engine/grammar/regex_check.h"

namespace inferens {
namespace {

constexpr size_t kLargestGrammar = size_t{64} << 10;  // bytes, from outside
constexpr size_t kMostRules = 1000;
constexpr std::string_view kMacros[] = {"TagDispatch",      "Token", "ExcludeToken",
                                        "TokenTagDispatch", "Regex", "Substring"};
constexpr int kDeepestBrackets = 100;
constexpr size_t kMostRepeats = 10'000;
constexpr size_t kMostChoices = 10'000;
constexpr size_t kLargestChoices = size_t{256} << 10;

StatusOr<std::string> choices(const std::vector<std::string>& all) {
  size_t bytes = 0;
  std::string text;
  for (const std::string& choice : all) {
    if (choice.empty() || !is_valid_utf8(choice))
      return invalid_argument("choice: every choice must be UTF-8 text that is not empty");
    bytes += choice.size();
    text += (text.empty() ? "" : " | ") + ebnf_literal(choice);
  }
  if (all.empty()) return invalid_argument("choice: there is nothing to choose from");
  if (all.size() > kMostChoices || bytes > kLargestChoices) {
    return invalid_argument("choice: " + std::to_string(all.size()) + " choices of " + std::to_string(bytes) +
                            " bytes together; at most " + std::to_string(kMostChoices) + " and " +
                            std::to_string(kLargestChoices) + " are taken");
  }
  return "root ::= " + text + "\n";
}

Status grammar_error(size_t line, const std::string& what) {
  return invalid_argument("grammar: line " + std::to_string(line) + ": " + what);
}

// What the library's parser must not meet: brackets so deep that it would run out of stack, repetitions that it would
// write out, rules without number, and its own additions to the notation (macros that name tokens or take expressions
// of another kind, attributes of rules, lookahead), which would pass by the checks here. Literals, classes and comments
// are stepped over.
class GrammarScan {
 public:
  explicit GrammarScan(std::string_view text) : text_(text) {}

  // The grammar as the library shall read it.
  StatusOr<std::string> scan() {
    if (text_.size() > kLargestGrammar) {
      return invalid_argument("grammar: it has " + std::to_string(text_.size()) + " bytes; at most " +
                              std::to_string(kLargestGrammar) + " are taken");
    }
    // A NUL would be the end for the library, and what follows be left out.
    if (!is_valid_utf8(text_) || text_.find('\0') != std::string_view::npos) {
      return invalid_argument("grammar: it is not UTF-8 text");
    }
    for (; at_ < text_.size(); ++at_) {
      if (Status s = step(); !s.ok()) return s;
      if (rules_ > kMostRules) return grammar_error(line_, "more than " + std::to_string(kMostRules) + " rules");
    }
    if (rules_ == 0) {
      return invalid_argument(
          "grammar: it has no rule, as root ::= \"a\" | \"b\"; only this notation (EBNF, GBNF) is taken, Lark is not");
    }
    return std::move(out_) + std::string(text_.substr(copied_));
  }

 private:
  Status step() {
    switch (text_[at_]) {
      case '\n':
        ++line_;
        break;
      case '#':
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size()) - 1;
        break;
      case '"':
        return skip('"');
      case '[':
        return character_class();
      case '(':
        if (next_is("=")) return grammar_error(line_, "lookahead is not offered");
        if (++depth_ > kDeepestBrackets)
          return grammar_error(line_, "brackets nest deeper than " + std::to_string(kDeepestBrackets));
        break;
      case ')':
        --depth_;
        break;
      case '{':
        return repetition();
      case ':':
        return rule();
      default:
        return is_name(text_[at_]) ? name() : ok_status();
    }
    return ok_status();
  }

  bool next_is(std::string_view text) const { return text_.substr(at_ + 1).starts_with(text); }
  static bool is_name(char c) {
    return c == '_' || c == '-' || c == '.' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
  }

  Status name() {
    const size_t begin = at_;
    while (at_ + 1 < text_.size() && is_name(text_[at_ + 1])) ++at_;
    const std::string_view name = text_.substr(begin, at_ + 1 - begin);
    if (std::find(std::begin(kMacros), std::end(kMacros), name) == std::end(kMacros)) return ok_status();
    return grammar_error(line_, "'" + std::string(name) + "' cannot be the name of a rule here");
  }

  Status rule() {
    if (!next_is(":=")) return ok_status();  // a fault that the library names
    ++rules_;
    const size_t before = text_.substr(0, at_).find_last_not_of(" \t\r\n");
    const bool attributes = before != std::string_view::npos && text_[before] == ']';
    return attributes ? grammar_error(line_, "attributes of rules are not offered") : ok_status();
  }

  Status skip(char end) {
    const size_t line = line_;
    for (++at_; at_ < text_.size() && text_[at_] != end; ++at_) {
      if (text_[at_] == '\\')
        ++at_;
      else if (text_[at_] == '\n')
        ++line_;
    }
    return at_ < text_.size() ? ok_status() : grammar_error(line, "a literal or class without its end");
  }

  // The library counts surrogates to what a class with ^ leaves; in UTF-8 there are none.
  Status character_class() {
    if (next_is("^")) {
      out_ += text_.substr(copied_, at_ + 2 - copied_);
      out_ += "\\uD800-\\uDFFF";
      copied_ = at_ + 2;
    }
    return skip(']');
  }

  Status repetition() {
    size_t number = 0;
    for (; at_ < text_.size() && text_[at_] != '}' && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      number = c >= '0' && c <= '9' ? std::min(number * 10 + static_cast<size_t>(c - '0'), kMostRepeats + 1) : 0;
      if (number > kMostRepeats)
        return grammar_error(line_, "a repetition of more than " + std::to_string(kMostRepeats));
    }
    if (at_ < text_.size() && text_[at_] == '\n') --at_;
    return ok_status();
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
  size_t rules_ = 0;
  std::string out_;  // of the first copied_ bytes
  size_t copied_ = 0;
  int depth_ = 0;
};

}  // namespace

StatusOr<std::string> check_constraint(const OutputConstraint& constraint) {
  using Kind = OutputConstraint::Kind;
  switch (constraint.kind) {
    case Kind::kChoice:
      return choices(constraint.choices);
    case Kind::kGrammar:
      return GrammarScan(constraint.source).scan();
    case Kind::kRegex: {
      StatusOr<std::string> rule = regex_to_ebnf(constraint.source, RegexUse::kWholeText);
      if (!rule.ok()) return rule.status().with_context("regex");
      return "root ::= " + *rule + "\n";
    }
    default:
      break;
  }
  StatusOr<std::string> grammar =
      json_schema_to_ebnf(constraint.kind == Kind::kJsonObject ? R"({"type":"object"})" : constraint.source);
  if (!grammar.ok()) return grammar.status().with_context("json_schema");
  return std::move(*grammar);
}

}  // namespace inferens
