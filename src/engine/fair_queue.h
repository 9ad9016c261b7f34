// The order in which sequences of one class get prefill time: API keys take turns by deficit round robin, so that a
// key's share does not grow with the number or size of its requests. Inside a key: priority, then deadline. Source:
// Shreedhar and Varghese, "Efficient fair queuing using deficit round robin" (1996), with milliseconds as bytes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace inferens {

struct Sequence;

struct ByDeadline {
  bool operator()(const Sequence* a, const Sequence* b) const;
};

// What one API key has waiting in one class.
struct KeyLine {
  std::set<Sequence*, ByDeadline> sequences;
  double deficit_ms = 0;  // service it may still take in its turn; below 0: taken ahead
};

constexpr size_t kSchedulingClasses = 4;

struct KeyAccount {
  std::array<KeyLine, kSchedulingClasses> lines;
  int32_t requests = 0;  // that point here
};

class FairQueue {
 public:
  explicit FairQueue(size_t scheduling_class) : class_(scheduling_class) {}

  void add(KeyAccount& account, Sequence& sequence);
  void remove(KeyAccount& account, Sequence& sequence);
  size_t size() const { return size_; }

  struct Turn {
    Sequence* sequence = nullptr;  // null when every one is skipped in this step
    double ms = 0;                 // what is left of its key's turn
  };
  // Whose turn it is. The turn of a key ends when it has been charged `quantum_ms` or has nothing to give.
  Turn next(double quantum_ms, uint64_t step);
  bool contended() const { return ring_.size() > 1; }
  // Service that a key got, by prefill or by decoding.
  void charge(KeyAccount& account, double ms, double quantum_ms);

  template <class F>
  void for_each(F&& f) const {
    for (const KeyAccount* account : ring_) {
      for (Sequence* sequence : account->lines[class_].sequences) f(*sequence);
    }
  }

 private:
  void end_turn();

  size_t class_;
  std::vector<KeyAccount*> ring_;  // keys that have something waiting
  size_t turn_ = 0;
  bool turn_began_ = false;
  size_t size_ = 0;
};

}  // namespace inferens
