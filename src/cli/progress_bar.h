// Progress of a pull on standard error: a bar that redraws itself on a terminal, single lines otherwise.
#pragma once

#include <string>

#include "base/clock.h"
#include "store/progress.h"

namespace inferens {

class ProgressBar final : public Progress {
 public:
  explicit ProgressBar(const Clock& clock);
  ~ProgressBar() override;
  void begin(const std::string& what, uint64_t total, uint64_t done) override;
  void advance(uint64_t done) override;
  void end() override;
  void note(const std::string& line) override;

 private:
  void draw(uint64_t done);
  void clear_line();

  const Clock& clock_;
  bool terminal_;
  bool drawn_ = false;
  std::string what_;
  uint64_t total_ = 0;
  uint64_t start_bytes_ = 0;
  uint64_t done_ = 0;
  Nanos start_ = 0;
  Nanos last_draw_ = 0;
};

// "1.4 GB", powers of ten as disks and networks count.
std::string human_bytes(uint64_t bytes);

}  // namespace inferens
