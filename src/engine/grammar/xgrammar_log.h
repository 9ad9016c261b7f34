// Xgrammar's log, taken over: it warns where it leaves a part of a grammar out, and that must become a refusal.
#pragma once

#include <string>
#include <vector>

namespace inferens {

// Collects the warnings of this thread while it lives. Without one they are dropped.
class XgrammarWarnings {
 public:
  XgrammarWarnings();
  ~XgrammarWarnings();
  XgrammarWarnings(const XgrammarWarnings&) = delete;
  XgrammarWarnings& operator=(const XgrammarWarnings&) = delete;

  const std::vector<std::string>& texts() const { return texts_; }
  void add(std::string text);

 private:
  std::vector<std::string> texts_;
};

}  // namespace inferens
