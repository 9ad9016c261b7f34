// Rows of text as an aligned table for people or as CSV (RFC 4180) for programs.
#pragma once

#include <string>
#include <vector>

namespace inferens {

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string to_text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// One line with its line end; cells with a comma, a quote or a line break are quoted.
std::string csv_line(const std::vector<std::string>& cells);

// `value` with that many digits after the point, whatever the locale.
std::string fixed(double value, int digits);
// The shortest text that reads back as the same number.
std::string shortest(double value);

}  // namespace inferens
