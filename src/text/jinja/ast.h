// The syntax tree: expressions and statements as the parser makes them, and the scopes that scope.cc works out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/jinja/value.h"

namespace inferens::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class Operator {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kNeg,
  kPos,
  kNot,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn
};

// Where a variable lives: `up` scopes above the current one, at `slot`.
struct VariableRef {
  int up = -1;
  int slot = -1;
};

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> keyword;
  ExpressionPtr star;         // *args
  ExpressionPtr double_star;  // **kwargs
};

struct Filter;  // filters.h
struct Test;    // tests.h

struct Expression {
  enum class Kind {
    kConstant,      // value
    kName,          // name, ref
    kNamespaceRef,  // name (the namespace), attribute; only as a target of set
    kTuple,         // children
    kList,          // children
    kDict,          // children: key, value, key, value…
    kAttribute,     // children[0] . name
    kItem,          // children[0] [children[1]]
    kSlice,         // children: start, stop, step (each may be null); only as children[1] of kItem
    kCall,          // children[0] (arguments)
    kFilter,        // children[0] | name(arguments); children[0] null: the body of a filter block
    kTest,          // children[0] is name(arguments)
    kUnary,         // op children[0]
    kBinary,        // children[0] op children[1]
    kAnd,
    kOr,
    kConcat,       // children joined by ~
    kCompare,      // children[0] comparisons[0] children[1] comparisons[1] …
    kConditional,  // children: test, then, else (may be null)
  };
  Kind kind = Kind::kConstant;
  int line = 0;
  int height = 1;
  Operator op = Operator::kAdd;
  Value value;
  std::string name;
  std::string attribute;
  VariableRef ref;
  std::vector<ExpressionPtr> children;
  std::vector<Operator> comparisons;
  CallArguments arguments;
  const Filter* filter = nullptr;  // null: unknown, an error when it is reached
  const Test* test = nullptr;
};

// What a scope does with each of its variables when it is entered (jinja2's idtracking, which decides what templates
// see).
struct Scope {
  enum class Load { kParameter, kResolve, kAlias, kUndefined };
  struct Variable {
    std::string name;
    Load load = Load::kUndefined;
    VariableRef source;  // kAlias: seen from inside this scope
  };
  std::vector<Variable> variables;  // by slot
};

struct Statement;
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

struct Signature {
  std::vector<std::string> names;
  std::vector<VariableRef> slots;
  std::vector<ExpressionPtr> defaults;  // for the last names
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  bool names_caller = false;  // "caller" is among the names
  VariableRef caller, kwargs, varargs;
};

struct Statement {
  enum class Kind {
    kText,         // text
    kOutput,       // expressions
    kFor,          // target, expression (iterable), test, body, otherwise, recursive; scope, test_scope, else_scope
    kIf,           // branches
    kMacro,        // name, target, signature, body; scope
    kCallBlock,    // expression (a kCall), signature, body; scope
    kFilterBlock,  // filter, body; scope
    kWith,         // expressions (values), targets, body; scope
    kSet,          // target, expression
    kSetBlock,     // target, filter (may be null), body; scope
    kAutoescape,   // expression, body; scope
    kScope,        // body; scope: what {% generation %} makes
    kBlock,        // name, body; scope, which sees only the template's own variables
    kBreak,
    kContinue,
  };
  struct Branch {
    ExpressionPtr condition;  // null: else
    Body body;
  };
  Kind kind = Kind::kText;
  int line = 0;
  std::string name;
  Text text;
  ExpressionPtr expression;
  ExpressionPtr target;
  ExpressionPtr test;
  ExpressionPtr filter;
  std::vector<ExpressionPtr> expressions;
  std::vector<ExpressionPtr> targets;
  std::vector<Branch> branches;
  Signature signature;
  Body body;
  Body otherwise;
  bool recursive = false;
  bool top_level = false;  // kSet, kSetBlock, kMacro: visible to blocks
  VariableRef loop;        // kFor
  Scope scope, test_scope, else_scope;
};

struct Program {
  Body body;
  Scope scope;
};

}  // namespace inferens::jinja
