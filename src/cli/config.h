// config.toml of $INFERENS_HOME: the part of TOML that settings need. Lines are empty, a # comment, [section], or
// key = value, where a value is a "basic" or 'literal' string on one line, a number, true or false. Anything else of TOML
// is refused with its line number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inferens/status.h"

namespace inferens {

class Config {
 public:
  struct Entry {
    std::string section;  // "" before the first section
    std::string key;
    std::string value;    // strings unquoted, the rest as written
    int line = 0;
  };

  Config() = default;
  // `path` names the text in errors. A key that a section has twice is an error.
  static StatusOr<Config> parse(std::string_view text, const std::string& path);
  // A file that does not exist is an empty one.
  static StatusOr<Config> load(const std::string& path);

  // The entry of that section, else of the top level; nullptr when there is none.
  const Entry* find(std::string_view section, std::string_view key) const;
  const std::vector<Entry>& entries() const { return entries_; }
  std::string place(const Entry& entry) const { return path_ + ":" + std::to_string(entry.line); }

 private:
  std::string path_;
  std::vector<Entry> entries_;
};

}  // namespace inferens
