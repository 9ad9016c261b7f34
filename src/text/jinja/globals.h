// The functions every template can call: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

void add_globals(Runtime& runtime, std::map<std::string, Value, std::less<>>& variables);

// namespace(…): the one thing a template can change.
class Namespace final : public Object {
 public:
  std::string_view type_name() const override { return "TemplateNamespace"; }
  std::optional<Value> attribute(Runtime&, std::string_view name) override;
  void set(std::string_view name, Value value);  // fails on names that start with an underscore
  const std::map<std::string, Value, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace inferens::jinja
