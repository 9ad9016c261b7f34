// What tokenizer.ggml.* of a GGUF file says, checked: tokens, kinds, scores, special ids, flags. Knows nothing of how
// text is cut; the families build on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"
#include "inferens/generation.h"
#include "inferens/status.h"
#include "text/string_pool.h"
#include "text/tokenizer.h"

namespace inferens {

class Vocabulary {
 public:
  static StatusOr<std::unique_ptr<Vocabulary>> from_gguf(const GgufFile& file);
  Vocabulary(const Vocabulary&) = delete;  // the index points into the pool
  Vocabulary& operator=(const Vocabulary&) = delete;

  int32_t size() const { return static_cast<int32_t>(kinds_.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }
  std::string_view spelling(TokenId id) const { return spellings_[static_cast<size_t>(id)]; }  // as the file has it
  TokenKind kind(TokenId id) const { return kinds_[static_cast<size_t>(id)]; }
  std::optional<TokenId> find(std::string_view spelling) const;
  const StringPool& spellings() const { return spellings_; }
  const std::vector<float>& scores() const { return scores_; }  // empty, or one finite number for each token

  std::optional<TokenId> bos, eos, unknown, separator, cls, end_of_turn, end_of_message;
  // What the file says; families have their own defaults.
  std::optional<bool> add_bos, add_eos, add_separator, add_space_prefix, remove_extra_whitespaces;

 private:
  Vocabulary() = default;
  Status read_tokens(const GgufFile& file);
  Status read_kinds(const GgufFile& file);
  Status read_scores(const GgufFile& file);
  Status read_special_ids(const GgufFile& file);
  Status read_flags(const GgufFile& file);

  StringPool spellings_;
  std::optional<StringIndex> index_;
  std::vector<TokenKind> kinds_;
  std::vector<float> scores_;
};

}  // namespace inferens
