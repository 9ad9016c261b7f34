#include "text/reply/json_scanner.h"

namespace inferens {
namespace {

bool is_json_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

JsonScanner::State JsonScanner::bad() {
  place_ = Place::kBad;
  return State::kBad;
}

JsonScanner::State JsonScanner::push(char c) {
  if (place_ == Place::kString || place_ == Place::kEscape || place_ == Place::kHex) return in_string(c);
  if (place_ == Place::kNumber) return in_number(c);
  return step(c);
}

JsonScanner::State JsonScanner::step(char c) {
  if (place_ == Place::kLiteral) {
    if (c != literal_.front()) return bad();
    literal_.remove_prefix(1);
    return literal_.empty() ? value_ended() : State::kMore;
  }
  if (is_json_blank(c)) return State::kMore;
  switch (place_) {
    case Place::kFirstElement:
      if (c == ']') return close(false);
      return begin_value(c);
    case Place::kValue:
      return begin_value(c);
    case Place::kFirstKey:
      if (c == '}') return close(true);
      [[fallthrough]];
    case Place::kKey:
      if (c != '"') return bad();
      in_key_ = true;
      place_ = Place::kString;
      return State::kMore;
    case Place::kColon:
      if (c != ':') return bad();
      place_ = Place::kValue;
      return State::kMore;
    case Place::kAfter:
      if (c == '}' || c == ']') return close(c == '}');
      if (c != ',') return bad();
      place_ = open_.back() ? Place::kKey : Place::kValue;
      return State::kMore;
    default:
      return bad();
  }
}

JsonScanner::State JsonScanner::begin_value(char c) {
  if (c == '{' || c == '[') {
    if (open_.size() == kDeepest) return bad();
    open_.push_back(c == '{');
    place_ = c == '{' ? Place::kFirstKey : Place::kFirstElement;
    return State::kMore;
  }
  if (c == '"') {
    in_key_ = false;
    place_ = Place::kString;
    return State::kMore;
  }
  if (open_.empty()) return bad();
  if (c == '-' || is_digit(c)) {
    place_ = Place::kNumber;
    number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kDigits;
    return State::kMore;
  }
  literal_ = c == 't' ? "rue" : c == 'f' ? "alse" : c == 'n' ? "ull" : "";
  if (literal_.empty()) return bad();
  place_ = Place::kLiteral;
  return State::kMore;
}

JsonScanner::State JsonScanner::close(bool object) {
  if (open_.back() != object) return bad();
  open_.pop_back();
  return value_ended();
}

JsonScanner::State JsonScanner::value_ended() {
  place_ = open_.empty() ? Place::kEnd : Place::kAfter;
  return open_.empty() ? State::kDone : State::kMore;
}

JsonScanner::State JsonScanner::in_string(char c) {
  if (static_cast<unsigned char>(c) < 0x20) return bad();
  if (place_ == Place::kHex) {
    if (!is_hex(c)) return bad();
    if (--hex_left_ == 0) place_ = Place::kString;
    return State::kMore;
  }
  if (place_ == Place::kEscape) {
    if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) return bad();
    hex_left_ = 4;
    place_ = c == 'u' ? Place::kHex : Place::kString;
    return State::kMore;
  }
  if (c == '\\') {
    place_ = Place::kEscape;
    return State::kMore;
  }
  if (c != '"') return State::kMore;
  if (!in_key_) return value_ended();
  place_ = Place::kColon;
  return State::kMore;
}

bool JsonScanner::may_end_number() const {
  return number_ == Number::kZero || number_ == Number::kDigits || number_ == Number::kFraction ||
         number_ == Number::kExponentDigits;
}

JsonScanner::State JsonScanner::in_number(char c) {
  const bool digit = is_digit(c);
  const bool exponent = c == 'e' || c == 'E';
  const auto go = [&](Number next) {
    number_ = next;
    return State::kMore;
  };
  switch (number_) {
    case Number::kMinus:
      if (digit) return go(c == '0' ? Number::kZero : Number::kDigits);
      break;
    case Number::kZero:
    case Number::kDigits:
      if (digit && number_ == Number::kDigits) return State::kMore;
      if (c == '.') return go(Number::kPoint);
      if (exponent) return go(Number::kExponent);
      break;
    case Number::kPoint:
    case Number::kFraction:
      if (digit) return go(Number::kFraction);
      if (exponent && number_ == Number::kFraction) return go(Number::kExponent);
      break;
    case Number::kExponent:
      if (c == '+' || c == '-') return go(Number::kExponentSign);
      [[fallthrough]];
    case Number::kExponentSign:
    case Number::kExponentDigits:
      if (digit) return go(Number::kExponentDigits);
      break;
  }
  if (!may_end_number()) return bad();
  place_ = Place::kAfter;
  return step(c);
}

}  // namespace inferens
