// The one place that talks to xgrammar. Whatever it throws becomes a Status here; what it does is bounded by a budget.
#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "engine/grammar/grammar.h"
#include "engine/grammar/xgrammar_log.h"

namespace inferens {
namespace {

// For one token of one output. Counted, not timed, so that a request's fate is the same in every run.
constexpr int64_t kTokenAllocations = 1'000'000;
constexpr int64_t kTokenBytes = int64_t{64} << 20;
// What the library remembers of one output.
constexpr int64_t kStateBytes = int64_t{256} << 20;
constexpr size_t kLongestReason = 300;

class Vocabulary final : public GrammarVocabulary {
 public:
  Vocabulary(const std::vector<std::string>& tokens, int32_t size, std::vector<int32_t> stops)
      : info_(tokens, xgrammar::VocabType::RAW, size, std::move(stops)) {}
  int32_t size() const override { return info_.GetVocabSize(); }
  const xgrammar::TokenizerInfo& info() const { return info_; }

 private:
  xgrammar::TokenizerInfo info_;
};

class Compiled final : public Grammar {
 public:
  Compiled(std::shared_ptr<const GrammarVocabulary> vocabulary, xgrammar::CompiledGrammar grammar)
      : vocabulary_(std::move(vocabulary)), grammar_(std::move(grammar)), bytes_(grammar_.MemorySizeBytes()) {}
  size_t bytes() const override { return bytes_; }
  const xgrammar::CompiledGrammar& grammar() const { return grammar_; }
  int32_t vocab_size() const { return vocabulary_->size(); }

 private:
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  xgrammar::CompiledGrammar grammar_;
  size_t bytes_;
};

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kLongestReason));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

// The message of an exception of the library without the place in its source, which LogFatalError::what puts in front.
std::string reason_of(const std::exception& e) {
  std::string_view text = e.what();
  if (const size_t place = text.find(".cc:"); place != std::string_view::npos) {
    if (const size_t end = text.find(": ", place); end != std::string_view::npos) text.remove_prefix(end + 2);
  }
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return one_line(text);
}

Status too_costly(WorkBudget::Spent spent) {
  const char* what = spent == WorkBudget::Spent::kBytes ? "memory" : "time";
  return invalid_argument(std::string("compiling it takes more ") + what +
                          " than is granted; make it smaller or less ambiguous");
}

class State final : public GrammarState {
 public:
  State(std::shared_ptr<const Compiled> grammar, std::vector<TokenId> stops)
      : grammar_(std::move(grammar)), stops_(std::move(stops)), matcher_(grammar_->grammar(), override_of(stops_)) {}

  Status fill(std::span<uint32_t> allowed) override {
    return guarded([&] {
      // The library's bits are int32_t and ours uint32_t of the same size: one may be seen as the other.
      int64_t shape[1] = {static_cast<int64_t>(allowed.size())};
      DLTensor tensor = {allowed.data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, shape, nullptr, 0};
      std::fill(allowed.begin(), allowed.end(), ~uint32_t{0});
      matcher_.FillNextTokenBitmask(&tensor);
      const auto vocab = static_cast<size_t>(grammar_->vocab_size());
      if (vocab % 32 != 0) allowed.back() &= (uint32_t{1} << (vocab % 32)) - 1;
      return ok_status();
    });
  }

  Status accept(TokenId token) override {
    return guarded([&] {
      return matcher_.AcceptToken(token)
                 ? ok_status()
                 : internal_error("token " + std::to_string(token) + " was sampled and the grammar does not take it");
    });
  }

  bool complete() const override { return matcher_.IsCompleted(); }

 private:
  // Without a stop token of its own an output ends where the grammar leaves nothing else; the library wants one anyway
  // and never sees it sampled.
  static std::optional<std::vector<int>> override_of(const std::vector<TokenId>& stops) {
    if (stops.empty()) return std::nullopt;
    return std::vector<int>(stops.begin(), stops.end());
  }

  template <class Work>
  Status guarded(Work work) {
    if (broken_) return internal_error("the grammar's state was lost");
    const WorkBudget budget({.bytes = std::min(kTokenBytes, kStateBytes - held_), .allocations = kTokenAllocations});
    Status status;
    try {
      status = work();
    } catch (const std::exception& e) {
      broken_ = true;
      if (budget.spent() == WorkBudget::Spent::kNothing) return internal_error("grammar: " + reason_of(e));
    }
    held_ += budget.bytes_held();
    if (budget.spent() == WorkBudget::Spent::kNothing) return status;
    broken_ = true;
    return invalid_argument(
        "the grammar is so ambiguous that the next token takes more work than is granted; make it less ambiguous");
  }

  std::shared_ptr<const Compiled> grammar_;
  std::vector<TokenId> stops_;
  xgrammar::GrammarMatcher matcher_;
  int64_t held_ = 0;
  bool broken_ = false;
};

}  // namespace

StatusOr<std::shared_ptr<const GrammarVocabulary>> GrammarVocabulary::make(const Tokenizer& tokenizer,
                                                                           int32_t vocab_size) {
  std::vector<std::string> tokens;
  std::vector<int32_t> stops;
  for (TokenId id = 0; id < std::min(vocab_size, tokenizer.vocab_size()); ++id) {
    const TokenKind kind = tokenizer.token_kind(id);
    const bool text = kind == TokenKind::kNormal || kind == TokenKind::kUserDefined || kind == TokenKind::kByte;
    // The empty string is how the library marks tokens that stand for no text.
    tokens.emplace_back(text && !tokenizer.is_end_of_generation(id) ? tokenizer.token_bytes(id) : std::string_view());
    if (tokenizer.is_end_of_generation(id)) stops.push_back(id);
  }
  try {
    return std::shared_ptr<const GrammarVocabulary>(std::make_shared<Vocabulary>(tokens, vocab_size, std::move(stops)));
  } catch (const std::exception& e) {
    return internal_error("the vocabulary as a grammar sees it: " + reason_of(e));
  }
}

StatusOr<std::shared_ptr<const Grammar>> Grammar::compile(std::shared_ptr<const GrammarVocabulary> vocabulary,
                                                          const std::string& source, const WorkBudget::Limits& limits) {
  const xgrammar::TokenizerInfo& info = static_cast<const Vocabulary&>(*vocabulary).info();
  XgrammarWarnings warnings;
  WorkBudget budget(limits);
  try {
    // One thread, the caller's, whose budget counts; no cache, which would grow without bound.
    xgrammar::GrammarCompiler compiler(info, 1, false);
    auto compiled = std::make_shared<const Compiled>(vocabulary, compiler.CompileGrammar(source, "root"));
    if (budget.spent() != WorkBudget::Spent::kNothing) return too_costly(budget.spent());
    if (!warnings.texts().empty()) return invalid_argument(one_line(warnings.texts().front()));
    return std::shared_ptr<const Grammar>(std::move(compiled));
  } catch (const std::exception& e) {
    if (budget.spent() != WorkBudget::Spent::kNothing) return too_costly(budget.spent());
    return invalid_argument(reason_of(e));
  }
}

StatusOr<std::unique_ptr<GrammarState>> GrammarState::make(std::shared_ptr<const Grammar> grammar,
                                                           std::vector<TokenId> stop_tokens) {
  try {
    return std::unique_ptr<GrammarState>(
        std::make_unique<State>(std::static_pointer_cast<const Compiled>(std::move(grammar)), std::move(stop_tokens)));
  } catch (const std::exception& e) {
    return internal_error("grammar: " + reason_of(e));
  }
}

}  // namespace inferens
