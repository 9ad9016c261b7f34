// What a tokenizer family brings: plain text to ids, and the bytes of each token. Special tokens, prompt pieces, BOS
// and EOS are done once for all families in tokenizer.cc.
#pragma once

#include <string_view>
#include <vector>

#include "inferens/generation.h"
#include "text/string_pool.h"
#include "text/vocabulary.h"

namespace inferens {

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of text without special tokens. Thread safe.
  virtual void encode(std::string_view text, std::vector<TokenId>& out) const = 0;
  virtual std::string_view family() const = 0;
  virtual std::string_view pretokenizer() const { return ""; }

  // The bytes of every token in running text, by id.
  virtual const StringPool& token_bytes() const = 0;
  // True when encode() itself finds the plain added tokens, because it looks for them in a rewritten text.
  virtual bool finds_added_tokens() const { return false; }
  // True when text starts with a space that the family put there, which decode takes away again.
  virtual bool adds_leading_space() const { return false; }

  struct Additions {  // unless the file says otherwise
    bool bos = false;
    bool eos = false;
    bool separator = false;
  };
  virtual Additions default_additions() const { return {}; }
};

// True for tokens that plain text may become by merging or matching: never control tokens, so that no text can spell
// one.
inline bool is_plain_text(TokenKind kind) {
  return kind == TokenKind::kNormal || kind == TokenKind::kUserDefined;
}

}  // namespace inferens
