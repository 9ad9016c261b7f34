// Reads tests/golden/model/*.logits: expected logits made by transformers on the same weights. The format is described
// in tests/golden/model/README.md. Test code: a damaged file throws std::runtime_error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "inferens/generation.h"

namespace inferens::golden {

// The expected logits after tokens[0 … position].
struct LogitRow {
  int32_t position = 0;
  float max_abs = 0;          // largest |logit| of the whole row
  double log_sum_exp = 0;     // of the whole row
  std::vector<uint32_t> ids;  // ids[i] is the token of values[i]; all tokens in order when the row is stored whole
  std::vector<float> values;

  TokenId most_likely() const {
    return static_cast<TokenId>(
        ids[static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin())]);
  }
  // max |ours - expected| over the stored entries / max_abs. `logits` [vocab_size]. NaN counts as infinitely wrong.
  double relative_error(const float* logits) const {
    double worst = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      double difference = std::abs(static_cast<double>(logits[ids[i]]) - static_cast<double>(values[i]));
      if (!(difference < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, difference);
    }
    return worst / static_cast<double>(max_abs);
  }
};

// One sequence from position 0.
struct LogitRun {
  std::vector<TokenId> tokens;
  std::vector<LogitRow> rows;  // positions ascending
};

struct LogitFile {
  uint32_t vocab_size = 0;
  std::vector<LogitRun> runs;
};

class Cursor {
 public:
  explicit Cursor(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class T>
  T take() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> take_array(size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > (bytes_.size() - at_) / sizeof(T)) throw std::runtime_error("golden logits: file is cut short");
    std::vector<T> values(count);
    copy(values.data(), count * sizeof(T));
    return values;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  void copy(void* to, size_t size) {
    if (size > bytes_.size() - at_) throw std::runtime_error("golden logits: file is cut short");
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  std::string bytes_;
  size_t at_ = 0;
};

inline LogitRow read_row(Cursor& in, uint32_t vocab_size) {
  LogitRow row;
  row.position = static_cast<int32_t>(in.take<uint32_t>());
  row.max_abs = in.take<float>();
  row.log_sum_exp = in.take<double>();
  uint32_t entries = in.take<uint32_t>();
  if (entries == vocab_size) {
    row.ids.resize(entries);
    for (uint32_t i = 0; i < entries; ++i) row.ids[i] = i;
  } else {
    row.ids = in.take_array<uint32_t>(entries);
  }
  row.values = in.take_array<float>(entries);
  if (entries == 0 || *std::max_element(row.ids.begin(), row.ids.end()) >= vocab_size) {
    throw std::runtime_error("golden logits: token id out of range");
  }
  return row;
}

// path: for example INFERENS_TEST_DATA "/model/tiny/llama-f32.logits".
inline LogitFile read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  if (!stream) throw std::runtime_error("golden logits: cannot read " + path);
  Cursor in(std::move(bytes).str());
  std::vector<char> magic = in.take_array<char>(8);
  if (std::string(magic.begin(), magic.end()) != "IFLOGIT1") throw std::runtime_error("not golden logits: " + path);
  LogitFile file;
  file.vocab_size = in.take<uint32_t>();
  file.runs.resize(in.take<uint32_t>());
  for (LogitRun& run : file.runs) {
    run.tokens = in.take_array<TokenId>(in.take<uint32_t>());
    uint32_t rows = in.take<uint32_t>();
    for (uint32_t i = 0; i < rows; ++i) run.rows.push_back(read_row(in, file.vocab_size));
  }
  if (!in.at_end()) throw std::runtime_error("golden logits: bytes left over in " + path);
  return file;
}

}  // namespace inferens::golden
