// Global functions.
#include "text/jinja/globals.h"

#include <ctime>

#include "text/jinja/dates.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

Value range(Runtime& runtime, const Arguments& arguments) {
  const auto& args = arguments.positional;
  if (!arguments.keyword.empty()) fail("range() takes no keyword arguments");
  if (args.empty() || args.size() > 3) fail("range expected 1 to 3 arguments");
  if (args.size() == 1) return make_range(runtime.budget(), 0, integer_argument(args[0]), 1);
  return make_range(runtime.budget(), integer_argument(args[0]), integer_argument(args[1]),
                    args.size() == 3 ? integer_argument(args[2]) : 1);
}

// dict(mapping or pairs, **more), as entries for whoever wants them.
DictPtr make_dict(Runtime& runtime, const Arguments& arguments) {
  DictBuilder dict(runtime.budget());
  if (arguments.positional.size() > 1) fail("dict expected at most 1 argument");
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::kDict)) {
      for (const auto& [key, value] : source.dict()->entries) dict.set(key, value);
    } else {
      for (const Value& pair : collect(runtime, source)) {
        const std::vector<Value> parts = collect(runtime, pair);
        if (parts.size() != 2) fail("dictionary update sequence element has not length 2");
        dict.set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [key, value] : arguments.keyword) dict.set(Value(key), value);
  return dict.take();
}

class DictFunction final : public Object {
 public:
  std::string_view type_name() const override { return "TemplateDict"; }
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override { return Value(make_dict(runtime, arguments)); }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override {
    if (name != "fromkeys") return std::nullopt;
    return Value(runtime.make<Function>([](Runtime& r, const Arguments& arguments) {
      const auto args = arguments.bind("fromkeys", {{""}, {"", Value()}});
      DictBuilder dict(r.budget());
      for (Value& key : collect(r, args[0])) dict.set(std::move(key), args[1]);
      return Value(dict.take());
    }));
  }
};

Value make_namespace(Runtime& runtime, const Arguments& arguments) {
  auto* result = runtime.make<Namespace>();
  const DictPtr attributes = make_dict(runtime, arguments);
  for (const auto& [key, value] : attributes->entries) {
    if (key.is_text()) result->set(key.text().view(), value);
  }
  return Value(result);
}

// cycler(…): one of its values after the other.
class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name == "pos") return Value(static_cast<int64_t>(at_));
    if (name == "items") return make_tuple(runtime.budget(), items_);
    if (name == "next")
      return Value(runtime.make<Function>([this](Runtime&, const Arguments& arguments) {
        (void)arguments.bind("next", {});
        Value value = items_[at_];
        at_ = (at_ + 1) % items_.size();
        return value;
      }));
    if (name == "reset")
      return Value(runtime.make<Function>([this](Runtime&, const Arguments& arguments) {
        (void)arguments.bind("reset", {});
        at_ = 0;
        return Value();
      }));
    return std::nullopt;
  }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

// joiner(sep): nothing the first time, then its separator.
class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Value call(Runtime&, const Arguments& arguments) override {
    (void)arguments.bind("joiner", {});
    if (used_) return separator_;
    used_ = true;
    return Value(Text());
  }
  std::optional<Value> attribute(Runtime&, std::string_view name) override {
    if (name == "sep") return separator_;
    if (name == "used") return Value(used_);
    return std::nullopt;
  }

 private:
  Value separator_;
  bool used_ = false;
};

Value make_cycler(Runtime& runtime, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.keyword.empty()) fail("at least one item has to be provided");
  return Value(runtime.make<Cycler>(arguments.positional));
}

Value make_joiner(Runtime& runtime, const Arguments& arguments) {
  return Value(runtime.make<Joiner>(arguments.bind("joiner", {{"sep", Value(Text::untrusted(", "))}})[0]));
}

Value raise_exception(Runtime& runtime, const Arguments& arguments) {
  const Value message = arguments.bind("raise_exception", {{"message"}})[0];
  throw Failure(Failure::Kind::kRaised, to_text(runtime, message).str());
}

Value strftime_now(Runtime& runtime, const Arguments& arguments) {
  const Value format = arguments.bind("strftime_now", {{"format"}})[0];
  if (!format.is_text()) fail("strftime() argument 1 must be str, not " + std::string(type_name(format)));
  return Value(format_date(runtime.budget(), format.text(), runtime.clock().unix_seconds()));
}

Value refuse_lipsum(Runtime&, const Arguments&) {
  fail_unsupported("lipsum() makes random text, which a prompt cannot use");
}

}  // namespace

std::optional<Value> Namespace::attribute(Runtime&, std::string_view name) {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

void Namespace::set(std::string_view name, Value value) {
  if (name.starts_with('_')) fail("chat templates cannot store underscore-prefixed attributes on a namespace");
  values_.insert_or_assign(std::string(name), std::move(value));
}

void add_globals(Runtime& runtime, std::map<std::string, Value, std::less<>>& variables) {
  const auto add = [&](const char* name, Value (*body)(Runtime&, const Arguments&)) {
    variables.emplace(name, Value(runtime.make<Function>(body)));
  };
  add("range", range);
  add("namespace", make_namespace);
  add("cycler", make_cycler);
  add("joiner", make_joiner);
  add("raise_exception", raise_exception);
  add("strftime_now", strftime_now);
  add("lipsum", refuse_lipsum);
  variables.emplace("dict", Value(runtime.make<DictFunction>()));
}

}  // namespace inferens::jinja
