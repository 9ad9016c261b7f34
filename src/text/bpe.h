// Byte-level BPE (GPT-2 and all that followed it): a pre-tokenizer cuts words, merges build tokens inside each word.
#pragma once

#include <memory>

#include "formats/gguf.h"
#include "inferens/status.h"
#include "text/text_encoder.h"

namespace inferens {

// Reads tokenizer.ggml.pre and .merges.
StatusOr<std::unique_ptr<TextEncoder>> make_bpe_encoder(const GgufFile& file, const Vocabulary& vocabulary);

}  // namespace inferens
