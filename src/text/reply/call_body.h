// What stands between the opening and the end of a tool call, in the notations that models use. A body is read byte by
// byte; it begins the call as soon as it is certain that there is one, and gives its text back when there is none.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "text/reply/reply_delta.h"
#include "text/reply/tool_set.h"

namespace inferens {

// Text that waits for a decision never grows beyond these.
constexpr size_t kLongestToolName = 256;
constexpr size_t kMostUndecided = size_t{64} << 10;
constexpr size_t kLongestParameter = size_t{4} << 20;  // of formats whose values can be passed on as a whole only

class CallBody {
 public:
  // What a body is read with.
  struct Context {
    const ToolSet& tools;
    ReplyWriter& writer;
    bool known_only = false;      // the opening is no certain sign, so the name must be that of a tool
    std::string_view close = {};  // the marker that ends the call; empty: none
  };
  enum class State {
    kMore,
    kEnded,        // this byte was the last one
    kEndedBefore,  // the byte before was; this one is not taken
    kNone,         // no call: undecided() has the text, this byte not included
  };

  virtual ~CallBody() = default;
  virtual State push(char c) = 0;
  // The reply has ended inside of the body.
  virtual void finish() {}
  // The text since the last call began or ended, for which nothing was written yet.
  virtual const std::string& undecided() const = 0;
};

// {"name":…,"arguments":{…}} or an array of such objects, under any of the names that models use for the two.
std::unique_ptr<CallBody> make_json_calls(const CallBody::Context& context);
// NAME, a separator, and the arguments as JSON. `separator` outlives the body.
std::unique_ptr<CallBody> make_named_call(const CallBody::Context& context, std::string_view separator);
// <function=NAME><parameter=KEY>VALUE</parameter>…</function>
std::unique_ptr<CallBody> make_function_tags(const CallBody::Context& context);
// [f(a=1, b="x"), g()] as Python writes calls, or calls without the brackets when not `listed`.
std::unique_ptr<CallBody> make_python_calls(const CallBody::Context& context, bool listed);

}  // namespace inferens
