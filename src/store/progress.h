// What a long store operation tells its user while it runs: the command line draws a bar, a server streams events.
#pragma once

#include <cstdint>
#include <string>

namespace inferens {

class Progress {
 public:
  virtual ~Progress() = default;
  // A file starts: `done` of `total` bytes are there already (a resumed download). total 0: not known.
  virtual void begin(const std::string& what, uint64_t total, uint64_t done) = 0;
  virtual void advance(uint64_t done) = 0;  // bytes there now
  virtual void end() = 0;
  virtual void note(const std::string& line) = 0;
  // True: whoever waits is gone. A transfer stops soon; what has come stays for the next try.
  virtual bool cancelled() const { return false; }
};

class NoProgress final : public Progress {
 public:
  void begin(const std::string&, uint64_t, uint64_t) override {}
  void advance(uint64_t) override {}
  void end() override {}
  void note(const std::string&) override {}
};

}  // namespace inferens
