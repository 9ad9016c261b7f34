// The attribute="a.b.0" argument that many filters share.
#pragma once

#include <vector>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

class AttributePath {
 public:
  // attribute: None (the item itself), a dotted string, or an integer. default_value: used for what is undefined on the
  // way.
  AttributePath(Runtime& runtime, const Value& attribute, bool ignore_case = false, Value default_value = Value());
  Value get(const Value& item) const;

 private:
  Runtime* runtime_;
  std::vector<Value> parts_;
  bool ignore_case_;
  Value default_;
};

// A comma-separated list of paths, for sort.
std::vector<AttributePath> split_attribute_paths(Runtime& runtime, const Value& attribute, bool ignore_case);

}  // namespace inferens::jinja
