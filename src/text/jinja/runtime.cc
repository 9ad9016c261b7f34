// Calls and generators.
#include "text/jinja/runtime.h"

namespace inferens::jinja {

Value Runtime::call(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) fail_undefined(callee);
  if (!callee.is(Kind::kObject)) fail("'" + std::string(type_name(callee)) + "' object is not callable");
  const Depth depth(*this);
  budget_.step();
  return callee.object()->call(*this, arguments);
}

Next Generator::iterate(Runtime& runtime) {
  return [this, &runtime](Value& out) {
    if (running_) fail("generator already executing");
    const Runtime::Depth depth(runtime);
    runtime.budget().step();
    running_ = true;
    const bool more = next_(out);
    running_ = false;
    if (!more) next_ = [](Value&) { return false; };
    return more;
  };
}

}  // namespace inferens::jinja
