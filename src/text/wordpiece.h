// WordPiece (BERT and its kin): text is cleaned, lower-cased and stripped of accents where the model is uncased, cut at
// white space and punctuation, and each word is covered greedily by the longest pieces.
#pragma once

#include <memory>

#include "formats/gguf.h"
#include "inferens/status.h"
#include "text/text_encoder.h"

namespace inferens {

// Reads tokenizer.ggml.normalizer.lowercase and .strip_accents where present. The vocabulary must outlive the result.
StatusOr<std::unique_ptr<TextEncoder>> make_wordpiece_encoder(const GgufFile& file, const Vocabulary& vocabulary);

}  // namespace inferens
