// Two walks per scope: the first collects what the scope loads and stores, the second gives names their slots and goes
// into the scopes inside it.
#include "text/jinja/scope.h"

#include <algorithm>
#include <map>

#include "text/jinja/filters.h"
#include "text/jinja/symbols.h"
#include "text/jinja/tests.h"

namespace inferens::jinja {
namespace {

class Resolver {
 public:
  void resolve(Program& program) {
    const Place root{false, false, true, false};
    with_scope(
        program.scope, nullptr, [&](Symbols& symbols) { analyze(program.body, symbols); },
        [&](const Symbols& symbols) { bind(program.body, symbols, root); });
  }

 private:
  // What surrounds a statement.
  struct Place {
    bool in_loop = false;     // break and continue are allowed
    bool inside_for = false;  // `loop` must not be assigned, however deep
    bool top_level = false;
    bool conditional = false;  // unknown filters are an error only when reached
    Place inner() const { return {in_loop, inside_for, false, false}; }
    Place function() const { return {false, inside_for, false, false}; }
    Place soft() const { return {in_loop, inside_for, top_level, true}; }
  };

  template <class Analyze, class Bind>
  void with_scope(Scope& scope, const Symbols* parent, Analyze&& analyze_scope, Bind&& bind_scope) {
    std::map<std::string, int> slots;
    Symbols symbols;
    symbols.parent = parent;
    symbols.slots = &slots;
    analyze_scope(symbols);
    bind_scope(symbols);
    scope.variables.resize(slots.size());
    for (const auto& [name, slot] : slots) scope.variables[static_cast<size_t>(slot)] = symbols.loads.at(name);
  }

  // ---- first walk ----

  void load_names(const Expression& node, Symbols& symbols) {
    if (node.kind == Expression::Kind::kName) symbols.load(node.name);
    for_each_child(node, [&](const Expression& child) { load_names(child, symbols); });
  }
  void load_names(const ExpressionPtr& node, Symbols& symbols) {
    if (node) load_names(*node, symbols);
  }
  void store_names(const Expression& target, Symbols& symbols, bool as_parameter) {
    if (target.kind == Expression::Kind::kName) {
      as_parameter ? symbols.declare_parameter(target.name) : symbols.store(target.name);
    } else if (target.kind == Expression::Kind::kNamespaceRef) {
      symbols.load(target.name);
    }
    for (const auto& child : target.children) store_names(*child, symbols, as_parameter);
  }

  void analyze(const Body& body, Symbols& symbols) {
    for (const auto& statement : body) analyze(*statement, symbols);
  }
  void analyze(const Statement& node, Symbols& symbols) {
    using Kind = Statement::Kind;
    switch (node.kind) {
      case Kind::kOutput:
      case Kind::kWith:
        for (const auto& expression : node.expressions) load_names(expression, symbols);
        break;
      case Kind::kFor:
      case Kind::kCallBlock:
        load_names(node.expression, symbols);
        break;
      case Kind::kFilterBlock:
        load_names(node.filter, symbols);
        break;
      case Kind::kMacro:
        symbols.store(node.name);
        break;
      case Kind::kSet:
        load_names(node.expression, symbols);
        store_names(*node.target, symbols, false);
        break;
      case Kind::kSetBlock:
        store_names(*node.target, symbols, false);
        break;
      case Kind::kIf:
        analyze_branches(node, 0, symbols);
        break;
      default:
        break;  // scopes of their own, and what has no names
    }
  }
  // An elif is an `if` in its own branch, as in jinja2's tree: its condition belongs to that branch's copy.
  void analyze_branches(const Statement& node, size_t first, Symbols& symbols) {
    load_names(node.branches[first].condition, symbols);
    budget_.step(3 * (symbols.refs.size() + symbols.loads.size() + symbols.stores.size()));
    std::vector<Symbols> copies(3, symbols);
    analyze(node.branches[first].body, copies[0]);
    if (first == 0) {
      for (size_t i = 1; i < node.branches.size(); ++i) {
        if (node.branches[i].condition) {
          analyze_branches(node, i, copies[1]);
        } else {
          analyze(node.branches[i].body, copies[2]);
        }
      }
    }
    symbols.merge_branches(copies);
  }

  // ---- second walk ----

  void bind(ExpressionPtr& node, const Symbols& symbols, bool conditional) {
    if (node) bind(*node, symbols, conditional);
  }
  void bind(Expression& node, const Symbols& symbols, bool conditional) {
    using Kind = Expression::Kind;
    if (node.kind == Kind::kName || node.kind == Kind::kNamespaceRef) {
      const auto ref = symbols.find(node.name);
      if (!ref) throw Failure(Failure::Kind::kSyntax, "the name '" + node.name + "' cannot be resolved", node.line);
      node.ref = *ref;
    }
    if (node.kind == Kind::kConditional) conditional = true;
    if (node.kind == Kind::kFilter) node.filter = find_filter(node.name);
    if (node.kind == Kind::kTest) node.test = find_test(node.name);
    if (node.kind == Kind::kFilter && !node.filter && !conditional) {
      throw Failure(Failure::Kind::kSyntax, "no filter named '" + node.name + "'", node.line);
    }
    if (node.kind == Kind::kTest && !node.test && !conditional) {
      throw Failure(Failure::Kind::kSyntax, "no test named '" + node.name + "'", node.line);
    }
    for (auto& child : node.children) bind(child, symbols, conditional);
    for (auto& argument : node.arguments.positional) bind(argument, symbols, conditional);
    for (auto& [name, argument] : node.arguments.keyword) bind(argument, symbols, conditional);
    bind(node.arguments.star, symbols, conditional);
    bind(node.arguments.double_star, symbols, conditional);
  }
  void bind_target(Expression& target, const Symbols& symbols, const Place& place) {
    if (target.kind == Expression::Kind::kName && target.name == "loop" && place.inside_for) {
      throw Failure(Failure::Kind::kSyntax, "cannot assign to the special variable 'loop' inside a loop", target.line);
    }
    if (target.kind == Expression::Kind::kTuple) {
      for (auto& child : target.children) bind_target(*child, symbols, place);
    } else {
      bind(target, symbols, false);
    }
  }

  void bind(Body& body, const Symbols& symbols, const Place& place) {
    for (auto& statement : body) bind(*statement, symbols, place);
  }
  void bind(Statement& node, const Symbols& symbols, const Place& place) {
    using Kind = Statement::Kind;
    node.top_level = place.top_level;
    switch (node.kind) {
      case Kind::kText:
        return;
      case Kind::kOutput:
        for (auto& expression : node.expressions) bind(expression, symbols, place.conditional);
        return;
      case Kind::kIf:
        for (auto& branch : node.branches) {
          bind(branch.condition, symbols, true);
          bind(branch.body, symbols, place.soft());
        }
        return;
      case Kind::kSet:
        bind(node.expression, symbols, place.conditional);
        bind_target(*node.target, symbols, place);
        return;
      case Kind::kBreak:
      case Kind::kContinue:
        if (!place.in_loop)
          throw Failure(Failure::Kind::kSyntax, "break and continue belong inside a for loop", node.line);
        return;
      case Kind::kFor:
        return bind_for(node, symbols, place);
      case Kind::kMacro:
      case Kind::kCallBlock:
        return bind_callable(node, symbols, place);
      case Kind::kWith:
        return bind_with(node, symbols, place);
      default:
        return bind_plain_scope(node, symbols, place);
    }
  }

  void bind_for(Statement& node, const Symbols& symbols, const Place& place) {
    bind(node.expression, symbols, place.conditional);
    Place body_place = place.inner();
    body_place.in_loop = body_place.inside_for = true;
    with_scope(
        node.scope, &symbols,
        [&](Symbols& inner) {
          inner.declare_parameter("loop");
          store_names(*node.target, inner, true);
          analyze(node.body, inner);
        },
        [&](const Symbols& inner) {
          node.loop = *inner.find("loop");
          bind_target(*node.target, inner, body_place);
          bind(node.body, inner, body_place);
        });
    if (node.test) bind_loop_test(node, symbols);
    if (!node.otherwise.empty()) {
      with_scope(
          node.else_scope, &symbols, [&](Symbols& inner) { analyze(node.otherwise, inner); },
          [&](const Symbols& inner) {
            bind(node.otherwise, inner, node.recursive ? place.function() : place.inner());
          });
    }
  }
  // The test has a scope with the loop's target in it, at the same slots as a second copy of the target.
  void bind_loop_test(Statement& node, const Symbols& symbols) {
    with_scope(
        node.test_scope, &symbols,
        [&](Symbols& inner) {
          store_names(*node.target, inner, true);
          load_names(node.test, inner);
        },
        [&](const Symbols& inner) {
          node.targets.push_back(copy_target(*node.target));
          bind_target(*node.targets.back(), inner, Place{});
          bind(node.test, inner, false);
        });
  }
  static ExpressionPtr copy_target(const Expression& target) {
    auto copy = std::make_unique<Expression>();
    copy->kind = target.kind;
    copy->line = target.line;
    copy->name = target.name;
    for (const auto& child : target.children) copy->children.push_back(copy_target(*child));
    return copy;
  }

  void bind_callable(Statement& node, const Symbols& symbols, const Place& place) {
    Signature& signature = node.signature;
    if (node.kind == Statement::Kind::kMacro) {
      node.target = std::make_unique<Expression>();
      node.target->kind = Expression::Kind::kName;
      node.target->name = node.name;
      bind(*node.target, symbols, false);
    } else {
      bind(node.expression, symbols, place.conditional);
    }
    const SpecialNames special(node.body);
    const auto named = [&](const char* name) {
      return std::find(signature.names.begin(), signature.names.end(), name) != signature.names.end();
    };
    signature.names_caller = named("caller");
    signature.uses_caller = special.uses("caller");
    signature.uses_kwargs = special.uses("kwargs") && !named("kwargs");
    signature.uses_varargs = special.uses("varargs") && !named("varargs");
    check_caller_default(node);
    with_scope(
        node.scope, &symbols,
        [&](Symbols& inner) {
          for (const auto& name : signature.names) inner.declare_parameter(name);
          for (const auto& value : signature.defaults) load_names(value, inner);
          analyze(node.body, inner);
          if (signature.uses_caller && !signature.names_caller) inner.declare_parameter("caller");
          if (signature.uses_kwargs) inner.declare_parameter("kwargs");
          if (signature.uses_varargs) inner.declare_parameter("varargs");
        },
        [&](const Symbols& inner) {
          for (const auto& name : signature.names) signature.slots.push_back(*inner.find(name));
          if (signature.uses_caller) signature.caller = *inner.find("caller");
          if (signature.uses_kwargs) signature.kwargs = *inner.find("kwargs");
          if (signature.uses_varargs) signature.varargs = *inner.find("varargs");
          for (auto& value : signature.defaults) bind(value, inner, false);
          bind(node.body, inner, place.function());
        });
  }
  void check_caller_default(const Statement& node) const {
    const Signature& signature = node.signature;
    if (!signature.uses_caller || !signature.names_caller) return;
    const auto at = std::find(signature.names.begin(), signature.names.end(), "caller") - signature.names.begin();
    if (static_cast<size_t>(at) + signature.defaults.size() < signature.names.size()) {
      throw Failure(Failure::Kind::kSyntax, "the special argument 'caller' must be left out or have a default",
                    node.line);
    }
  }

  void bind_with(Statement& node, const Symbols& symbols, const Place& place) {
    for (auto& value : node.expressions) bind(value, symbols, place.conditional);
    with_scope(
        node.scope, &symbols,
        [&](Symbols& inner) {
          for (const auto& target : node.targets) store_names(*target, inner, true);
          analyze(node.body, inner);
        },
        [&](const Symbols& inner) {
          for (auto& target : node.targets) bind_target(*target, inner, Place{});
          bind(node.body, inner, place.inner());
        });
  }

  // Set blocks, filter blocks, autoescape, generation and blocks.
  void bind_plain_scope(Statement& node, const Symbols& symbols, const Place& place) {
    using Kind = Statement::Kind;
    if (node.kind == Kind::kSetBlock) bind_target(*node.target, symbols, place);
    const bool function = node.kind == Kind::kScope || node.kind == Kind::kBlock;
    Place inner_place = function ? place.function() : place.inner();
    if (node.kind == Kind::kBlock) inner_place = Place{};
    with_scope(
        node.scope, node.kind == Kind::kBlock ? nullptr : &symbols,
        [&](Symbols& inner) {
          load_names(node.expression, inner);
          analyze(node.body, inner);
          load_names(node.filter, inner);
        },
        [&](const Symbols& inner) {
          bind(node.expression, inner, false);
          bind(node.filter, inner, false);
          bind(node.body, inner, inner_place);
        });
  }

  Budget budget_;  // branches copy what is known so far, and a hostile template has many
};

}  // namespace

void resolve_scopes(Program& program) {
  Resolver().resolve(program);
}

}  // namespace inferens::jinja
