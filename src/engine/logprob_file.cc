#include "engine/logprob_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/checked.h"
#include "formats/half.h"

namespace inferens {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is written and read as memory stands");

constexpr std::array<char, 8> kMagic = {'I', 'F', 'L', 'P', 'R', 'O', 'B', '1'};
constexpr uint32_t kNoStartToken = ~uint32_t{0};

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t vocab_size = 0;
  uint32_t window = 0;
  uint32_t score_from = 0;
  uint32_t start_token = kNoStartToken;
  uint64_t tokens_hash = 0;
  uint64_t positions = 0;
};
static_assert(sizeof(Header) == 40, "no padding may get into the file");

struct RecordHead {
  uint32_t most_likely = 0;
  float next_token_logprob = 0;
};
static_assert(sizeof(RecordHead) == 8, "no padding may get into the file");

Header header_of(const LogprobFileKey& key) {
  Header h;
  h.vocab_size = key.vocab_size;
  h.window = key.window;
  h.score_from = key.score_from;
  h.start_token = key.start_token ? static_cast<uint32_t>(*key.start_token) : kNoStartToken;
  h.tokens_hash = key.tokens_hash;
  h.positions = key.positions;
  return h;
}

uint64_t record_bytes(uint32_t vocab_size) {
  return sizeof(RecordHead) + uint64_t{vocab_size} * sizeof(uint16_t);
}

Status differs(std::string_view what, uint64_t theirs, uint64_t ours) {
  return invalid_argument("was made with another " + std::string(what) + " (" + std::to_string(theirs) +
                          ", this run has " + std::to_string(ours) + "); make it again with the same text and options");
}

Status check_header(const Header& h, const Header& expected) {
  if (h.magic != kMagic) return data_loss("is not a file of log-probabilities written by --save-logprobs");
  if (h.vocab_size != expected.vocab_size) return differs("vocabulary size", h.vocab_size, expected.vocab_size);
  if (h.window != expected.window) return differs("window", h.window, expected.window);
  if (h.score_from != expected.score_from) {
    return differs("first scored offset", h.score_from, expected.score_from);
  }
  if (h.start_token != expected.start_token) return differs("start token", h.start_token, expected.start_token);
  if (h.positions != expected.positions) return differs("number of positions", h.positions, expected.positions);
  if (h.tokens_hash != expected.tokens_hash)
    return differs("text: hash of tokens", h.tokens_hash, expected.tokens_hash);
  return ok_status();
}

}  // namespace

uint64_t hash_tokens(std::span<const TokenId> tokens) {
  // FNV-1a, 64 bits: it tells texts apart, it does not have to withstand forgery.
  uint64_t hash = 0xcbf29ce484222325;
  for (TokenId token : tokens) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((static_cast<uint32_t>(token) >> shift) & 0xff)) * 0x100000001b3;
    }
  }
  return hash;
}

LogprobWriter::LogprobWriter(std::string path, std::ofstream stream, const LogprobFileKey& key)
    : path_(std::move(path)),
      partial_path_(path_ + ".part"),
      stream_(std::move(stream)),
      left_(key.positions),
      halves_(key.vocab_size) {}

LogprobWriter::LogprobWriter(LogprobWriter&& other) noexcept
    : path_(std::move(other.path_)),
      partial_path_(std::exchange(other.partial_path_, {})),
      stream_(std::move(other.stream_)),
      left_(other.left_),
      halves_(std::move(other.halves_)) {}

LogprobWriter::~LogprobWriter() {
  if (partial_path_.empty()) return;
  stream_.close();
  std::error_code ignored;  // a file that cannot be removed is no reason to fail
  std::filesystem::remove(partial_path_, ignored);
}

StatusOr<LogprobWriter> LogprobWriter::create(const std::string& path, const LogprobFileKey& key) {
  std::ofstream stream(path + ".part", std::ios::binary | std::ios::trunc);
  Header header = header_of(key);
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  if (!stream) return unavailable(path + ".part: cannot be written; check that the folder exists and is yours");
  return LogprobWriter(path, std::move(stream), key);
}

Status LogprobWriter::append(TokenId most_likely, float next_token_logprob, std::span<const float> logprobs) {
  if (left_ == 0 || logprobs.size() != halves_.size()) {
    return internal_error(path_ + ": more positions or another vocabulary than its header says");
  }
  --left_;
  for (size_t i = 0; i < halves_.size(); ++i) halves_[i] = float_to_half(logprobs[i]);
  RecordHead head{static_cast<uint32_t>(most_likely), next_token_logprob};
  stream_.write(reinterpret_cast<const char*>(&head), sizeof head);
  stream_.write(reinterpret_cast<const char*>(halves_.data()),
                static_cast<std::streamsize>(halves_.size() * sizeof(uint16_t)));
  if (!stream_) return resource_exhausted(partial_path_ + ": cannot be written; is the disk full?");
  return ok_status();
}

Status LogprobWriter::finish() {
  if (left_ != 0) return internal_error(path_ + ": " + std::to_string(left_) + " positions were not written");
  stream_.close();
  if (!stream_) return resource_exhausted(partial_path_ + ": cannot be written; is the disk full?");
  std::error_code error;
  std::filesystem::rename(partial_path_, path_, error);
  if (error) return unavailable(path_ + ": cannot be put in place: " + error.message());
  partial_path_.clear();
  return ok_status();
}

StatusOr<LogprobReader> LogprobReader::open(const std::string& path, const LogprobFileKey& expected) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  if (file->size() < sizeof(Header)) return data_loss(path + ": too short for a file of log-probabilities");
  Header header;
  std::memcpy(&header, file->bytes().data(), sizeof header);
  if (Status s = check_header(header, header_of(expected)); !s.ok()) return Status(s.code(), path + ": " + s.message());
  auto body = checked_mul<uint64_t>(header.positions, record_bytes(header.vocab_size));
  if (!body || file->size() - sizeof(Header) != *body) {
    return data_loss(path + ": damaged: its size is not that of " + std::to_string(header.positions) +
                     " positions; make it again");
  }
  return LogprobReader(std::move(*file), header.vocab_size);
}

LogprobRecord LogprobReader::record(uint64_t position) const {
  const uint64_t bytes = record_bytes(vocab_size_);
  std::span<const std::byte> all = file_.bytes().subspan(sizeof(Header) + position * bytes, bytes);
  RecordHead head;
  std::memcpy(&head, all.data(), sizeof head);
  return {static_cast<TokenId>(head.most_likely), head.next_token_logprob, all.subspan(sizeof head)};
}

}  // namespace inferens
