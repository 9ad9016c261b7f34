// What scope.cc works with: the variables of a scope while they are being found, and which special names a macro uses.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "text/jinja/ast.h"

namespace inferens::jinja {

// The variables of one scope while they are being found. Branches of an `if` work on copies.
struct Symbols {
  const Symbols* parent = nullptr;
  std::map<std::string, int>* slots = nullptr;  // shared by the copies
  std::set<std::string> refs, stores;
  std::map<std::string, Scope::Variable> loads;

  std::optional<VariableRef> find(const std::string& name) const {
    if (refs.contains(name)) return VariableRef{0, slots->at(name)};
    if (!parent) return std::nullopt;
    auto outer = parent->find(name);
    if (outer) ++outer->up;
    return outer;
  }
  std::optional<VariableRef> find_outer(const std::string& name) const {
    if (!parent) return std::nullopt;
    auto outer = parent->find(name);
    if (outer) ++outer->up;
    return outer;
  }
  void define(const std::string& name, Scope::Load load, VariableRef source = {}) {
    slots->emplace(name, static_cast<int>(slots->size()));
    refs.insert(name);
    loads[name] = {name, load, source};
  }
  void load(const std::string& name) {
    if (!find(name)) define(name, Scope::Load::kResolve);
  }
  void declare_parameter(const std::string& name) {
    stores.insert(name);
    define(name, Scope::Load::kParameter);
  }
  void store(const std::string& name) {
    stores.insert(name);
    if (refs.contains(name)) return;
    const auto outer = find_outer(name);
    define(name, outer ? Scope::Load::kAlias : Scope::Load::kUndefined, outer.value_or(VariableRef{}));
  }
  void merge_branches(const std::vector<Symbols>& branches) {
    std::set<std::string> stored;
    for (const Symbols& branch : branches) stored.insert(branch.stores.begin(), branch.stores.end());
    for (const std::string& name : stores) stored.erase(name);
    for (const Symbols& branch : branches) {
      refs.insert(branch.refs.begin(), branch.refs.end());
      stores.insert(branch.stores.begin(), branch.stores.end());
      for (const auto& [name, variable] : branch.loads) loads[name] = variable;
    }
    for (const std::string& name : stored) {
      const auto outer = find_outer(name);
      loads[name] = {name, outer ? Scope::Load::kAlias : Scope::Load::kResolve, outer.value_or(VariableRef{})};
    }
  }
};

template <class Visit>
void for_each_argument(const CallArguments& arguments, Visit&& visit) {
  for (const auto& argument : arguments.positional) visit(*argument);
  for (const auto& [name, argument] : arguments.keyword) visit(*argument);
  if (arguments.star) visit(*arguments.star);
  if (arguments.double_star) visit(*arguments.double_star);
}

template <class Visit>
void for_each_child(const Expression& node, Visit&& visit) {
  for (const auto& child : node.children) {
    if (child) visit(*child);
  }
  for_each_argument(node.arguments, visit);
}

// Whether a macro's body uses the special names: jinja2's find_undeclared, whose answer depends on the order of the
// tree.
class SpecialNames {
 public:
  explicit SpecialNames(const Body& body) { visit(body); }
  bool uses(const std::string& name) const { return found_.contains(name); }

 private:
  void visit(const Body& body) {
    for (const auto& statement : body) visit(*statement);
  }
  void visit_if(const ExpressionPtr& node) {
    if (node) visit(*node);
  }
  void visit(const Expression& node) {
    if (node.kind == Expression::Kind::kName && names_.contains(node.name)) found_.insert(node.name);
    for_each_child(node, [this](const Expression& child) { visit(child); });
  }
  void store(const Expression& target) {
    if (target.kind == Expression::Kind::kName) names_.erase(target.name);
    for_each_child(target, [this](const Expression& child) { store(child); });
  }
  void visit(const Statement& node) {
    if (node.kind == Statement::Kind::kBlock) return;
    if (node.kind == Statement::Kind::kCallBlock) visit_if(node.expression);
    for (const auto& name : node.signature.names) names_.erase(name);
    for (const auto& value : node.signature.defaults) visit(*value);
    if (node.target) store(*node.target);
    for (const auto& target : node.targets) store(*target);
    if (node.kind != Statement::Kind::kCallBlock) visit_if(node.expression);
    for (const auto& expression : node.expressions) visit(*expression);
    for (const auto& branch : node.branches) {
      visit_if(branch.condition);
      visit(branch.body);
    }
    if (node.kind == Statement::Kind::kSetBlock) visit_if(node.filter);
    visit(node.body);
    if (node.kind != Statement::Kind::kSetBlock) visit_if(node.filter);
    visit(node.otherwise);
    visit_if(node.test);
  }

  std::set<std::string> names_ = {"caller", "kwargs", "varargs"};
  std::set<std::string> found_;
};

}  // namespace inferens::jinja
