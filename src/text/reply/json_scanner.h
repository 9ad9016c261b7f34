// Checks JSON byte by byte and tells where in it the next byte stands, so that a value can be passed on while it is
// still being written. Strict (RFC 8259), with a limit on depth, and without recursion.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace inferens {

class JsonScanner {
 public:
  static constexpr size_t kDeepest = 128;

  enum class State { kMore, kDone, kBad };
  // What the next byte may be.
  enum class Place {
    kValue,
    kFirstElement,  // or the array's end
    kFirstKey,      // or the object's end
    kKey,
    kColon,
    kAfter,  // a value inside an array or object: a comma or the end
    kString,
    kEscape,
    kHex,
    kNumber,
    kLiteral,
    kEnd,
    kBad,
  };

  // Takes the next byte of one value, which must be an object, an array or a string; blanks before it are taken. kDone:
  // this byte ended it. After kDone or kBad nothing more may be pushed.
  State push(char c);
  // Open arrays and objects.
  size_t depth() const { return open_.size(); }
  Place place() const { return place_; }

 private:
  enum class Number { kMinus, kZero, kDigits, kPoint, kFraction, kExponent, kExponentSign, kExponentDigits };

  State step(char c);
  State bad();
  State begin_value(char c);
  State close(bool object);
  State value_ended();
  State in_string(char c);
  State in_number(char c);
  bool may_end_number() const;

  Place place_ = Place::kValue;
  std::vector<bool> open_;  // true: an object
  bool in_key_ = false;
  int hex_left_ = 0;
  std::string_view literal_;  // what of true, false or null is still to come
  Number number_ = Number::kMinus;
};

}  // namespace inferens
