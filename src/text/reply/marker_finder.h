// Finds one marker in text that comes byte by byte, holding back what could still become it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace inferens {

// What formats of replies call white space.
inline bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

inline std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

class MarkerFinder {
 public:
  // An empty marker is never found. The marker's text outlives the finder.
  explicit MarkerFinder(std::string_view marker) : marker_(marker) {}

  // Takes the next byte. True: the marker is complete, and `released` has the last text before it. Else `released` has
  // what is certain not to belong to it.
  bool push(char c, std::string& released) {
    held_ += c;
    while (!marker_.starts_with(held_)) {
      released += held_.front();
      held_.erase(0, 1);
    }
    if (held_.empty() || held_ != marker_) return false;
    held_.clear();
    return true;
  }
  // The text has ended: what is held belongs to no marker.
  std::string take_held() { return std::exchange(held_, {}); }

 private:
  std::string_view marker_;
  std::string held_;
};

}  // namespace inferens
