#include "text/vocabulary.h"

#include <cmath>
#include <limits>

#include "base/log.h"

namespace inferens {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kKinds = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";

Status wrong_count(std::string_view key, size_t have, size_t want) {
  return data_loss(std::string(key) + ": has " + std::to_string(have) + " entries where " + std::string(kTokens) +
                   " has " + std::to_string(want) + "; the file is damaged or was converted wrongly");
}

struct SpecialIdKey {
  std::string_view key;
  std::optional<TokenId> Vocabulary::* member;
};

constexpr SpecialIdKey kSpecialIds[] = {
    {"tokenizer.ggml.bos_token_id", &Vocabulary::bos},
    {"tokenizer.ggml.eos_token_id", &Vocabulary::eos},
    {"tokenizer.ggml.eot_token_id", &Vocabulary::end_of_turn},
    {"tokenizer.ggml.eom_token_id", &Vocabulary::end_of_message},
    {"tokenizer.ggml.unknown_token_id", &Vocabulary::unknown},
    {"tokenizer.ggml.seperator_token_id", &Vocabulary::separator},  // the format's own spelling
    {"tokenizer.ggml.cls_token_id", &Vocabulary::cls},
};

struct FlagKey {
  std::string_view key;
  std::optional<bool> Vocabulary::* member;
};

constexpr FlagKey kFlags[] = {
    {"tokenizer.ggml.add_bos_token", &Vocabulary::add_bos},
    {"tokenizer.ggml.add_eos_token", &Vocabulary::add_eos},
    {"tokenizer.ggml.add_sep_token", &Vocabulary::add_separator},
    {"tokenizer.ggml.add_space_prefix", &Vocabulary::add_space_prefix},
    {"tokenizer.ggml.remove_extra_whitespaces", &Vocabulary::remove_extra_whitespaces},
};

}  // namespace

StatusOr<std::unique_ptr<Vocabulary>> Vocabulary::from_gguf(const GgufFile& file) {
  auto vocabulary = std::unique_ptr<Vocabulary>(new Vocabulary());  // NOLINT: private constructor
  for (auto read : {&Vocabulary::read_tokens, &Vocabulary::read_kinds, &Vocabulary::read_scores,
                    &Vocabulary::read_special_ids, &Vocabulary::read_flags}) {
    if (Status s = ((*vocabulary).*read)(file); !s.ok()) return s;
  }
  return vocabulary;
}

std::optional<TokenId> Vocabulary::find(std::string_view spelling) const {
  const int32_t id = index_->find(spelling);
  if (id == StringIndex::kNone) return std::nullopt;
  return id;
}

Status Vocabulary::read_tokens(const GgufFile& file) {
  if (file.find(kTokens) == nullptr) {
    return not_found(std::string(kTokens) + ": missing, so the file has no tokenizer; use a file that carries one");
  }
  auto tokens = file.get_strings(kTokens);
  if (!tokens.ok()) return tokens.status();
  if (tokens->empty() || tokens->size() > static_cast<size_t>(std::numeric_limits<TokenId>::max())) {
    return data_loss(std::string(kTokens) + ": has " + std::to_string(tokens->size()) +
                     " entries, which is no vocabulary");
  }
  size_t bytes = 0;
  for (std::string_view token : *tokens) bytes += token.size();  // all of them lie in the file, so the sum fits
  spellings_.reserve(tokens->size(), bytes);
  for (std::string_view token : *tokens) spellings_.add(token);
  index_.emplace(spellings_, tokens->size());
  size_t repeated = 0;
  for (size_t i = 0; i < tokens->size(); ++i) repeated += index_->insert(static_cast<int32_t>(i)) ? 0 : 1;
  if (repeated > 0) {
    spdlog::warn("{}: {} entries repeat an earlier one; text never becomes these", kTokens, repeated);
  }
  kinds_.assign(tokens->size(), TokenKind::kNormal);
  return ok_status();
}

Status Vocabulary::read_kinds(const GgufFile& file) {
  if (file.find(kKinds) == nullptr) return ok_status();
  auto kinds = file.get_ints(kKinds);
  if (!kinds.ok()) return kinds.status();
  if (kinds->size() != kinds_.size()) return wrong_count(kKinds, kinds->size(), kinds_.size());
  for (size_t i = 0; i < kinds->size(); ++i) {
    const int64_t kind = (*kinds)[i];
    if (kind < 0 || kind > static_cast<int64_t>(TokenKind::kByte)) {
      return data_loss(std::string(kKinds) + ": entry " + std::to_string(i) + " is " + std::to_string(kind) +
                       ", which is no token type (0 to 6)");
    }
    if (kind != 0) kinds_[i] = static_cast<TokenKind>(kind);  // 0 is "undefined": as good as normal
  }
  return ok_status();
}

Status Vocabulary::read_scores(const GgufFile& file) {
  if (file.find(kScores) == nullptr) return ok_status();
  auto scores = file.get_floats(kScores);
  if (!scores.ok()) return scores.status();
  if (scores->size() != kinds_.size()) return wrong_count(kScores, scores->size(), kinds_.size());
  for (size_t i = 0; i < scores->size(); ++i) {
    if (!std::isfinite((*scores)[i])) {
      return data_loss(std::string(kScores) + ": entry " + std::to_string(i) + " is not a finite number");
    }
  }
  scores_ = std::move(*scores);
  return ok_status();
}

Status Vocabulary::read_special_ids(const GgufFile& file) {
  for (const SpecialIdKey& special : kSpecialIds) {
    if (file.find(special.key) == nullptr) continue;
    auto id = file.get_int(special.key);
    if (!id.ok()) return id.status();
    if (*id < 0 || *id >= size()) {
      return data_loss(std::string(special.key) + ": is " + std::to_string(*id) + ", outside the vocabulary of " +
                       std::to_string(size()) + " tokens; the file is damaged or was converted wrongly");
    }
    this->*special.member = static_cast<TokenId>(*id);
  }
  return ok_status();
}

Status Vocabulary::read_flags(const GgufFile& file) {
  for (const FlagKey& flag : kFlags) {
    if (file.find(flag.key) == nullptr) continue;
    auto value = file.get_bool(flag.key);
    if (!value.ok()) return value.status();
    this->*flag.member = *value;
  }
  return ok_status();
}

}  // namespace inferens
