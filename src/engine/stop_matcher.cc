#include "engine/stop_matcher.h"

#include <queue>
#include <utility>

namespace inferens {
namespace {

constexpr int32_t kNone = -1;

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops, bool include_stop)
    : stops_(std::move(stops)), include_stop_(include_stop) {
  find_columns();
  add_state(0);
  for (size_t i = 0; i < stops_.size(); ++i) insert(static_cast<int>(i));
  complete();
}

void StopMatcher::find_columns() {
  for (const std::string& stop : stops_) {
    for (char c : stop) {
      uint16_t& column = column_[static_cast<unsigned char>(c)];
      if (column == 0) column = static_cast<uint16_t>(columns_++);
    }
  }
}

int32_t StopMatcher::add_state(size_t depth) {
  states_.push_back({.depth = depth});
  next_.resize(next_.size() + columns_, kNone);
  return static_cast<int32_t>(states_.size() - 1);
}

// The trie of the stop strings. Of two equal ones the first is reported.
void StopMatcher::insert(int index) {
  const std::string& stop = stops_[static_cast<size_t>(index)];
  if (stop.empty()) return;
  int32_t state = 0;
  for (char c : stop) {
    int32_t child = next(state, column(c));
    if (child == kNone) {
      child = add_state(at(state).depth + 1);
      next(state, column(c)) = child;
    }
    state = child;
  }
  if (at(state).stop < 0) at(state).stop = index;
}

// Turns the trie into the automaton, breadth first: where a state has no child, it goes where its longest proper suffix
// that is also in the trie would go.
void StopMatcher::complete() {
  std::vector<int32_t> suffix(states_.size(), 0);
  std::queue<int32_t> todo;
  todo.push(0);
  while (!todo.empty()) {
    const int32_t state = todo.front();
    todo.pop();
    const int32_t shorter = suffix[static_cast<size_t>(state)];
    if (at(state).stop < 0) at(state).stop = at(shorter).stop;
    for (size_t c = 0; c < columns_; ++c) {
      const int32_t fallback = state == 0 ? 0 : next(shorter, c);
      int32_t& child = next(state, c);
      if (child == kNone) {
        child = fallback;
      } else {
        suffix[static_cast<size_t>(child)] = fallback;
        todo.push(child);
      }
    }
  }
}

StopMatcher::Result StopMatcher::push(std::string_view bytes) {
  if (found_ >= 0) return {.text = {}, .stop = found_};
  std::string text = std::exchange(held_, {});
  for (char c : bytes) {
    text.push_back(c);
    state_ = next(state_, column(c));
    found_ = at(state_).stop;
    if (found_ >= 0) break;
  }
  if (found_ < 0) {
    const size_t certain = text.size() - at(state_).depth;
    held_ = text.substr(certain);
    text.resize(certain);
  } else if (!include_stop_) {
    text.resize(text.size() - stops_[static_cast<size_t>(found_)].size());
  }
  return {.text = std::move(text), .stop = found_};
}

std::string StopMatcher::finish() {
  state_ = 0;
  return std::exchange(held_, {});
}

}  // namespace inferens
