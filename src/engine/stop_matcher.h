// Finds stop strings in text that comes in pieces. What could still become a stop string is held back, so that no part
// of one is ever shown; everything else goes out at once. Works on bytes: pieces may cut characters anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inferens {

class StopMatcher {
 public:
  // Empty stop strings are left out. include_stop: the stop string found is part of the text.
  explicit StopMatcher(std::vector<std::string> stops, bool include_stop = false);

  struct Result {
    std::string text;  // certain from now on, after what earlier calls gave
    int stop = -1;     // which stop string was found (its index in `stops`), or -1
  };

  // Takes the next bytes. The stop string that ends first wins; of several that end together, the longest. After one
  // was found, later bytes are dropped and the result is that stop with no text.
  Result push(std::string_view bytes);
  // The text has ended without a stop string: gives what was held back.
  std::string finish();
  // Bytes held back at the moment, always fewer than the longest stop string has.
  size_t held() const { return held_.size(); }

 private:
  // Aho and Corasick, "Efficient string matching" (1975), as a table: one step per byte, however many stop strings.
  // Bytes that no stop string has share one column, which keeps the table small.
  struct State {
    size_t depth = 0;  // length of the longest beginning of a stop string that the text ends with
    int stop = -1;     // the longest stop string that the text ends with
  };
  void find_columns();
  void insert(int index);
  void complete();
  int32_t add_state(size_t depth);
  size_t column(char byte) const { return column_[static_cast<unsigned char>(byte)]; }
  int32_t& next(int32_t state, size_t column) { return next_[static_cast<size_t>(state) * columns_ + column]; }
  State& at(int32_t state) { return states_[static_cast<size_t>(state)]; }

  std::vector<std::string> stops_;
  bool include_stop_;
  std::array<uint16_t, 256> column_ = {};
  size_t columns_ = 1;
  std::vector<State> states_;
  std::vector<int32_t> next_;  // [states, columns]
  int32_t state_ = 0;
  int found_ = -1;
  std::string held_;  // the last depth bytes
};

}  // namespace inferens
