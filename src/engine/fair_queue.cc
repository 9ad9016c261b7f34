// Deficit round robin over keys.
#include "engine/fair_queue.h"

#include <algorithm>
#include <tuple>

#include "engine/request.h"

namespace inferens {
namespace {

// How far ahead of its share a key can get before it pays back: bounds the wait after a burst.
constexpr double kMostQuantaAhead = 4;
// Blocked heads of one key that are passed over in a step, so that a long line of them costs microseconds.
constexpr int kLookahead = 16;

}  // namespace

bool ByDeadline::operator()(const Sequence* a, const Sequence* b) const {
  const auto key = [](const Sequence* s) {
    return std::make_tuple(s->request->params().priority, s->deadline_ms, s->request->spec.id, s->index);
  };
  return key(a) < key(b);
}

void FairQueue::add(KeyAccount& account, Sequence& sequence) {
  KeyLine& line = account.lines[class_];
  if (line.sequences.empty()) ring_.push_back(&account);
  line.sequences.insert(&sequence);
  ++size_;
}

void FairQueue::remove(KeyAccount& account, Sequence& sequence) {
  KeyLine& line = account.lines[class_];
  if (line.sequences.erase(&sequence) == 0) return;
  --size_;
  if (!line.sequences.empty()) return;
  line.deficit_ms = std::min(line.deficit_ms, 0.0);  // an empty line saves nothing up
  const auto place = static_cast<size_t>(std::find(ring_.begin(), ring_.end(), &account) - ring_.begin());
  ring_.erase(ring_.begin() + static_cast<ptrdiff_t>(place));
  if (place < turn_) --turn_;
  if (place == turn_) turn_began_ = false;
  if (turn_ >= ring_.size()) turn_ = 0;
}

void FairQueue::end_turn() {
  turn_ = (turn_ + 1) % ring_.size();
  turn_began_ = false;
}

FairQueue::Turn FairQueue::next(double quantum_ms, uint64_t step) {
  // A key that is far ahead needs some rounds until its deficit is above zero again.
  const size_t most_turns = ring_.size() * static_cast<size_t>(kMostQuantaAhead + 2);
  for (size_t turns = 0; turns < most_turns; ++turns) {
    KeyLine& line = ring_[turn_]->lines[class_];
    if (!turn_began_) line.deficit_ms = std::min(line.deficit_ms + quantum_ms, quantum_ms);
    turn_began_ = true;
    if (line.deficit_ms > 0) {
      int looked = 0;
      for (Sequence* sequence : line.sequences) {
        if (sequence->skip_step != step) return {sequence, contended() ? line.deficit_ms : 1e12};
        if (++looked == kLookahead) break;
      }
    }
    end_turn();
  }
  return {};
}

void FairQueue::charge(KeyAccount& account, double ms, double quantum_ms) {
  double& deficit = account.lines[class_].deficit_ms;
  deficit = std::max(deficit - ms, -kMostQuantaAhead * quantum_ms);
}

}  // namespace inferens
