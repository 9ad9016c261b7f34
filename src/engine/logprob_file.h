// A file of log-probabilities of a whole vocabulary at many positions of a text: written by one perplexity run, read by
// another to measure how far apart they are.
//
// Little endian: "IFLPROB1", then u32 vocabulary, u32 window, u32 score_from, u32 start token or 2^32 - 1, u64 hash of
// the tokens, u64 positions; then per position u32 the most likely token, f32 log-probability of the text's next token,
// and f16[vocabulary] log-probabilities. Half floats keep 11 bits of a log-probability, so a position's divergence is
// off by at most about 1e-4 either way, and the mean over thousands by about 1e-6.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

// What must agree between two runs for their positions to be comparable.
struct LogprobFileKey {
  uint32_t vocab_size = 0;
  uint32_t window = 0;
  uint32_t score_from = 0;
  std::optional<TokenId> start_token;
  uint64_t tokens_hash = 0;  // hash_tokens of the whole text
  uint64_t positions = 0;
};

uint64_t hash_tokens(std::span<const TokenId> tokens);

// Writes beside `path` and renames at finish(): a reader never sees half a file, and a run that ends early leaves none.
class LogprobWriter {
 public:
  static StatusOr<LogprobWriter> create(const std::string& path, const LogprobFileKey& key);
  LogprobWriter(LogprobWriter&& other) noexcept;
  LogprobWriter& operator=(LogprobWriter&&) = delete;
  LogprobWriter(const LogprobWriter&) = delete;
  LogprobWriter& operator=(const LogprobWriter&) = delete;
  ~LogprobWriter();

  // logprobs [vocab_size]. Exactly key.positions calls before finish().
  Status append(TokenId most_likely, float next_token_logprob, std::span<const float> logprobs);
  Status finish();

 private:
  LogprobWriter(std::string path, std::ofstream stream, const LogprobFileKey& key);
  std::string path_;
  std::string partial_path_;  // empty once renamed or moved from
  std::ofstream stream_;
  uint64_t left_ = 0;
  std::vector<uint16_t> halves_;
};

struct LogprobRecord {
  TokenId most_likely = 0;
  float next_token_logprob = 0;
  std::span<const std::byte> halves;  // vocab_size half floats, unaligned
};

class LogprobReader {
 public:
  // Checks that the file is whole and that its key is `expected`; the error names the first thing that differs.
  static StatusOr<LogprobReader> open(const std::string& path, const LogprobFileKey& expected);
  LogprobRecord record(uint64_t position) const;  // position < key.positions

 private:
  LogprobReader(MappedFile file, uint32_t vocab_size) : file_(std::move(file)), vocab_size_(vocab_size) {}
  MappedFile file_;
  uint32_t vocab_size_ = 0;
};

}  // namespace inferens
