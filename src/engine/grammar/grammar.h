// What a request's output may be, as tokens: a vocabulary as the grammar library sees it, a compiled grammar, and the
// state of one output inside it. The library behind (xgrammar) shows in xgrammar.cc only. Whether a source may be
// compiled at all is decided before, in grammar_check.h; who compiles when, in grammar_service.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/work_budget.h"
#include "inferens/generation.h"
#include "inferens/status.h"
#include "text/tokenizer.h"

namespace inferens {

// The bytes of every token, sorted. Control, unknown and unused tokens are in no grammar. Immutable, thread safe.
class GrammarVocabulary {
 public:
  virtual ~GrammarVocabulary() = default;
  // vocab_size: of the model's logits, ≥ the tokenizer's.
  static StatusOr<std::shared_ptr<const GrammarVocabulary>> make(const Tokenizer& tokenizer, int32_t vocab_size);
  virtual int32_t size() const = 0;
};

// A compiled grammar with the token masks of its states. Immutable, thread safe.
class Grammar {
 public:
  virtual ~Grammar() = default;

  // source: what check_constraint() returned. budget: of memory and CPU time of this thread. invalid_argument: the
  // library does not understand the source, or would leave a part of it out, or the budget did not suffice.
  static StatusOr<std::shared_ptr<const Grammar>> compile(std::shared_ptr<const GrammarVocabulary> vocabulary,
                                                          const std::string& source, const WorkBudget::Limits& budget);
  virtual size_t bytes() const = 0;
};

// Where one output stands in a grammar. One thread.
class GrammarState {
 public:
  virtual ~GrammarState() = default;
  // stop_tokens: what ends the output once the grammar is complete; may be empty.
  static StatusOr<std::unique_ptr<GrammarState>> make(std::shared_ptr<const Grammar> grammar,
                                                      std::vector<TokenId> stop_tokens);

  // allowed: [ceil(vocab_size / 32)] bits, one for each token that may come next; the stop tokens are among them where
  // the grammar may end. The same state always gives the same bits. Errors end the request: the grammar needs more work
  // for a token than is granted (which depends on the grammar and the tokens only, never on time).
  virtual Status fill(std::span<uint32_t> allowed) = 0;
  // A token that fill() allowed, no stop token.
  virtual Status accept(TokenId token) = 0;
  // The output so far is a whole sentence of the grammar.
  virtual bool complete() const = 0;
};

}  // namespace inferens
