// The one error type. A Status is ok or carries a code and one line that says what failed, where, and what to do.
// Exceptions of libraries are caught where the library is called and become a Status; none crosses the engine step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace inferens {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,    // the caller's input is wrong (HTTP 400, exit 2)
  kNotFound,           // the named thing does not exist (404)
  kAlreadyExists,      // the named thing exists and was not to be replaced (409)
  kPermissionDenied,   // known but not allowed (403)
  kUnauthenticated,    // who asks is not known (401)
  kFailedPrecondition, // right in itself, but not in this state
  kResourceExhausted,  // memory, queue, disk or quota is full (429, 507)
  kDataLoss,           // a file is damaged or hostile
  kUnsupported,        // understood, and not offered here
  kUnavailable,        // may work later (503)
  kDeadlineExceeded,   // a time limit ended it
  kCancelled,          // the caller ended it
  kInternal,           // a fault of ours (500)
};

std::string_view status_code_name(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // The same error with "context: " in front, for callers that know more of where it happened.
  Status with_context(std::string_view context) const;
  std::string to_string() const;  // "data loss: file x: …"

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status ok_status() { return {}; }
inline Status invalid_argument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
inline Status not_found(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
inline Status already_exists(std::string m) { return {StatusCode::kAlreadyExists, std::move(m)}; }
inline Status failed_precondition(std::string m) { return {StatusCode::kFailedPrecondition, std::move(m)}; }
inline Status resource_exhausted(std::string m) { return {StatusCode::kResourceExhausted, std::move(m)}; }
inline Status data_loss(std::string m) { return {StatusCode::kDataLoss, std::move(m)}; }
inline Status unsupported(std::string m) { return {StatusCode::kUnsupported, std::move(m)}; }
inline Status unavailable(std::string m) { return {StatusCode::kUnavailable, std::move(m)}; }
inline Status deadline_exceeded(std::string m) { return {StatusCode::kDeadlineExceeded, std::move(m)}; }
inline Status cancelled(std::string m) { return {StatusCode::kCancelled, std::move(m)}; }
inline Status internal_error(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

// A value or the reason why there is none. value() on an error is a programming fault and throws std::bad_variant_access.
template <class T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : v_(std::in_place_index<0>, std::move(status)) {}  // NOLINT: implicit by design
  StatusOr(T value) : v_(std::in_place_index<1>, std::move(value)) {}         // NOLINT: implicit by design
  bool ok() const { return v_.index() == 1; }
  Status status() const { return ok() ? Status() : std::get<0>(v_); }
  T& value() & { return std::get<1>(v_); }
  const T& value() const& { return std::get<1>(v_); }
  T&& value() && { return std::get<1>(std::move(v_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::get<1>(std::move(v_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> v_;
};

}  // namespace inferens
