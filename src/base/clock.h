// The one clock: monotonic nanoseconds. Everything that measures or waits takes a Clock, so that tests and the simulator
// can bring their own time.
#pragma once

#include <cstdint>

namespace inferens {

using Nanos = int64_t;

constexpr double to_ms(Nanos t) { return static_cast<double>(t) * 1e-6; }
constexpr double to_seconds(Nanos t) { return static_cast<double>(t) * 1e-9; }
constexpr Nanos from_ms(double ms) { return static_cast<Nanos>(ms * 1e6); }

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanos now() const = 0;            // monotonic, any origin
  virtual int64_t unix_seconds() const = 0; // wall time, for `created` fields and dates in templates only
};

// The machine's own clock. Thread safe.
const Clock& system_clock();

// A clock that moves only when told. Not thread safe.
class FakeClock final : public Clock {
 public:
  Nanos now() const override { return now_; }
  int64_t unix_seconds() const override { return unix_; }
  void advance(Nanos by) { now_ += by; }
  void set_unix_seconds(int64_t s) { unix_ = s; }

 private:
  Nanos now_ = 0;
  int64_t unix_ = 0;
};

}  // namespace inferens
