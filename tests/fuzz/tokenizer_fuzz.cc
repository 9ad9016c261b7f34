// Any bytes as a model file, and the rest of them as text. A tokenizer that loads must keep its promises: ids inside
// the vocabulary, no control token from untrusted text, streamed text equal to the whole.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/utf8.h"
#include "formats/gguf.h"
#include "text/tokenizer.h"

namespace {

using inferens::Detokenizer;
using inferens::GgufFile;
using inferens::TokenId;
using inferens::Tokenizer;
using inferens::TokenKind;

void require(bool holds) {
  if (!holds) std::abort();
}

void use(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  for (TokenId id : ids) {
    require(id >= 0 && id < tokenizer.vocab_size());
    require(tokenizer.token_kind(id) != TokenKind::kControl);
  }
  (void)tokenizer.encode(text, {.add_special = true, .parse_special = true});
  for (bool skip_special : {false, true}) {
    Detokenizer detokenizer(tokenizer, skip_special);
    std::string streamed;
    for (TokenId id : ids) streamed += detokenizer.push(id);
    streamed += detokenizer.finish();
    require(streamed == inferens::repair_utf8(tokenizer.decode(ids, skip_special)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool quiet = inferens::set_up_logging("off").ok();  // a warning for each input would drown the fuzzer
  require(quiet);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  auto file = GgufFile::parse(bytes, "fuzz");
  if (!file.ok()) return 0;
  auto tokenizer = Tokenizer::from_gguf(*file);
  if (!tokenizer.ok()) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  use(**tokenizer, text);
  // The words of the file themselves: every token, and texts that join them.
  for (TokenId id = 0; id < (*tokenizer)->vocab_size() && id < 64; ++id) {
    const std::string word((*tokenizer)->token_bytes(id));
    use(**tokenizer, word + " " + word + word);
  }
  return 0;
}
