// Text to token ids and back. One class for all families; the family's own work lives in bpe.*, sentencepiece.*,
// wordpiece.*, pretokenizer.*.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"
#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

enum class TokenKind : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

// A piece of a prompt: special tokens are recognized only in pieces that come from a template's own text.
struct PromptPiece {
  std::string text;
  bool may_be_special = false;
};

// Thread safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Reads tokenizer.ggml.*. Errors name the key that is missing or wrong.
  static StatusOr<std::unique_ptr<Tokenizer>> from_gguf(const GgufFile& file);

  struct EncodeOptions {
    bool add_special = true;  // BOS/EOS (CLS/SEP) as the model's own flags say; never a second BOS
    // Recognize the spellings of control tokens, and of added tokens that look like a marker of the prompt (<think>,
    // <tool_call>). Other added tokens (runs of spaces, HTML tags) are plain text and always recognized.
    bool parse_special = false;
  };
  // Any bytes are accepted; what is not UTF-8 goes through byte tokens or becomes unknown, as the reference does.
  virtual std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const = 0;
  // One prompt made of trusted and untrusted pieces, tokenized as if joined, except that what parse_special recognizes
  // is found only in trusted text. add_special as above.
  virtual std::vector<TokenId> encode_pieces(std::span<const PromptPiece> pieces, bool add_special) const = 0;

  // The bytes of one token as they stand in running text (a control token's spelling included).
  virtual std::string_view token_bytes(TokenId id) const = 0;
  virtual TokenKind token_kind(TokenId id) const = 0;
  // Bytes of many tokens; skip_special leaves control and unknown tokens out. Undoes a family's leading-space rule at
  // the text's start.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;

  virtual int32_t vocab_size() const = 0;
  virtual std::optional<TokenId> find(std::string_view spelling) const = 0;  // exact vocabulary entry
  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;
  virtual bool adds_bos() const = 0;
  virtual bool is_end_of_generation(TokenId id) const = 0;  // EOS, end of turn, and their kin
  virtual std::string_view family() const = 0;              // "bpe", "sentencepiece", "wordpiece"
  virtual std::string_view pretokenizer() const = 0;        // "smollm", "qwen2", … or ""
};

// Tokens to text, one at a time: gives back only whole UTF-8, holds an unfinished character, and at the end turns what
// can never become whole into U+FFFD. Joined output equals repair_utf8(decode(all tokens)).
class Detokenizer {
 public:
  Detokenizer(const Tokenizer& tokenizer, bool skip_special) : tokenizer_(tokenizer), skip_special_(skip_special) {}
  std::string push(TokenId id);
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  bool at_start_ = true;
  std::string held_;
};

}  // namespace inferens
