#include "bench/text_table.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"

namespace inferens {
namespace {

size_t width_of(const std::string& text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); i += decode_utf8(text, i).length) ++width;
  return width;
}

}  // namespace

std::string TextTable::to_text() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width_of(columns_[c].title));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string out;
  auto add_cell = [&](size_t c, const std::string& text) {
    std::string padding(widths[c] - width_of(text), ' ');
    bool left = columns_[c].align == Align::kLeft;
    out += (c == 0 ? "" : "  ") + (left ? text + padding : padding + text);
  };
  auto end_line = [&] {
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  };
  for (size_t c = 0; c < columns_.size(); ++c) add_cell(c, columns_[c].title);
  end_line();
  for (const auto& row : rows_) {
    for (size_t c = 0; c < columns_.size(); ++c) add_cell(c, row[c]);
    end_line();
  }
  return out;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (char c : cell) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\r\n";
}

std::string fixed(double value, int digits) {
  std::array<char, 400> buffer;  // the longest double has 309 digits before the point
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits);
  return {buffer.data(), end};
}

std::string shortest(double value) {
  std::array<char, 32> buffer;
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

}  // namespace inferens
