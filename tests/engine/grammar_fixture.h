// Grammars over a vocabulary of the 256 bytes, so that every text can be tried, and the model may say anything.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar/grammar.h"
#include "engine/grammar/grammar_check.h"
#include "fake_tokenizer.h"

namespace inferens::testing {

inline FakeTokenizer byte_tokenizer() {
  std::vector<std::string> pieces;
  for (int i = 0; i < 256; ++i) pieces.emplace_back(1, static_cast<char>(i));
  return FakeTokenizer(std::move(pieces));
}

inline std::shared_ptr<const GrammarVocabulary> byte_vocabulary() {
  const FakeTokenizer tokenizer = byte_tokenizer();
  return *GrammarVocabulary::make(tokenizer, tokenizer.vocab_size());
}

// What an engine grants in tests: enough for everything honest.
inline WorkBudget::Limits test_budget() {
  return {.bytes = int64_t{256} << 20, .cpu_time = 60'000'000'000};
}

inline StatusOr<std::shared_ptr<const Grammar>> compile(const OutputConstraint& constraint) {
  StatusOr<std::string> source = check_constraint(constraint);
  if (!source.ok()) return source.status();
  return Grammar::compile(byte_vocabulary(), *source, test_budget());
}

inline OutputConstraint schema_of(std::string text) {
  return {OutputConstraint::Kind::kJsonSchema, std::move(text), {}};
}
inline OutputConstraint regex_of(std::string text) {
  return {OutputConstraint::Kind::kRegex, std::move(text), {}};
}
inline OutputConstraint grammar_of(std::string text) {
  return {OutputConstraint::Kind::kGrammar, std::move(text), {}};
}

// Whether the whole text is what the constraint lets an output be.
inline bool takes(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  constexpr TokenId kEnd = 256;
  auto state = GrammarState::make(grammar, {kEnd});
  std::vector<uint32_t> mask(9);
  for (const char c : text) {
    const auto token = static_cast<TokenId>(static_cast<unsigned char>(c));
    if (!(*state)->fill(mask).ok()) return false;
    if ((mask[static_cast<size_t>(token / 32)] >> (token % 32) & 1U) == 0) return false;
    if (!(*state)->accept(token).ok()) return false;
  }
  if (!(*state)->fill(mask).ok()) return false;
  const bool may_end = (mask[kEnd / 32] >> (kEnd % 32) & 1U) != 0;
  EXPECT_EQ(may_end, (*state)->complete());
  return may_end;
}

}  // namespace inferens::testing
