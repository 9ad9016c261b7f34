// Calling macros: how arguments meet parameters (jinja2.runtime.Macro), then the body with its output caught.
#include "text/jinja/macro.h"

#include <algorithm>

namespace inferens::jinja {
namespace {

// Takes a keyword out of the list.
std::optional<Value> pop(std::vector<std::pair<Text, Value>>& keywords, std::string_view name) {
  const auto it =
      std::find_if(keywords.begin(), keywords.end(), [&](const auto& entry) { return entry.first.view() == name; });
  if (it == keywords.end()) return std::nullopt;
  Value value = std::move(it->second);
  keywords.erase(it);
  return value;
}

// The parameters' values by place (missing where the default applies), then caller, kwargs and varargs where used.
struct BoundArguments {
  std::vector<Value> values;
  Value caller, kwargs, varargs;
};

BoundArguments bind(Budget& budget, const Statement& definition, const Arguments& arguments) {
  const Signature& signature = definition.signature;
  const std::string name = "macro '" + definition.name + "'";
  auto keywords = arguments.keyword;
  BoundArguments bound;
  const size_t count = signature.names.size();
  const size_t positional = std::min(count, arguments.positional.size());
  bound.values.assign(arguments.positional.begin(), arguments.positional.begin() + static_cast<ptrdiff_t>(positional));
  for (size_t i = positional; i < count; ++i) {
    bound.values.push_back(pop(keywords, signature.names[i]).value_or(Value::missing()));
  }
  if (signature.uses_caller && !signature.names_caller) {
    const auto caller = pop(keywords, "caller");
    bound.caller = caller && !caller->is_none() ? *caller : Value::undefined("No caller defined");
  }
  if (signature.uses_kwargs) {
    DictBuilder kwargs(budget);
    for (auto& [key, value] : keywords) kwargs.set(Value(key), value);
    bound.kwargs = Value(kwargs.take());
  } else if (!keywords.empty()) {
    fail(name + " takes no keyword argument '" + keywords[0].first.str() + "'");
  }
  std::vector<Value> rest(arguments.positional.begin() + static_cast<ptrdiff_t>(positional),
                          arguments.positional.end());
  if (!signature.uses_varargs && !rest.empty())
    fail(name + " takes not more than " + std::to_string(count) + " argument(s)");
  bound.varargs = make_tuple(budget, std::move(rest));
  return bound;
}

}  // namespace

std::optional<Value> Macro::attribute(Runtime& runtime, std::string_view name) {
  const Signature& signature = definition_.signature;
  if (name == "name") return Value(Text::trusted(definition_.name));
  if (name == "catch_kwargs") return Value(signature.uses_kwargs);
  if (name == "catch_varargs") return Value(signature.uses_varargs);
  if (name == "caller") return Value(signature.uses_caller);
  if (name == "explicit_caller") return Value(signature.names_caller);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const auto& argument : signature.names) names.emplace_back(Text::trusted(argument));
    return make_tuple(runtime.budget(), std::move(names));
  }
  return std::nullopt;
}

Value Interpreter::macro_argument(const Statement& definition, Frame& frame, size_t index) {
  const Signature& signature = definition.signature;
  const size_t required = signature.names.size() - signature.defaults.size();
  if (index >= required) return evaluate(*signature.defaults[index - required], frame);
  return Value::undefined("parameter '" + signature.names[index] + "' was not provided");
}

Text Interpreter::call_macro(const Statement& definition, Frame& closure, bool autoescape, const Arguments& arguments) {
  const Runtime::CallDepth depth(runtime_);
  const Signature& signature = definition.signature;
  BoundArguments bound = bind(runtime_.budget(), definition, arguments);
  Frame* frame = enter(definition.scope, &closure);
  for (size_t i = 0; i < bound.values.size(); ++i) variable(*frame, signature.slots[i]) = std::move(bound.values[i]);
  if (signature.uses_caller && !signature.names_caller) variable(*frame, signature.caller) = bound.caller;
  if (signature.uses_kwargs) variable(*frame, signature.kwargs) = bound.kwargs;
  if (signature.uses_varargs) variable(*frame, signature.varargs) = bound.varargs;
  for (size_t i = 0; i < signature.names.size(); ++i) {
    Value& slot = variable(*frame, signature.slots[i]);
    if (slot.is(Kind::kMissing)) slot = macro_argument(definition, *frame, i);
  }
  const bool callers = runtime_.autoescape();
  runtime_.set_autoescape(autoescape);
  Text out;
  capture(definition.body, *frame, out);
  runtime_.set_autoescape(callers);
  return out.as_markup(callers);
}

}  // namespace inferens::jinja
