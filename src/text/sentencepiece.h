// SentencePiece-style BPE: the whole text is one string in which U+2581 (▁) stands for a space, merged by the scores of
// the resulting pieces (llama, gemma) or by a merge list (gemma4), with bytes for what no piece spells.
#pragma once

#include <memory>

#include "formats/gguf.h"
#include "inferens/status.h"
#include "text/text_encoder.h"

namespace inferens {

enum class MergeSource { kScores, kMergeList };

// The vocabulary must outlive the result.
StatusOr<std::unique_ptr<TextEncoder>> make_sentencepiece_encoder(const GgufFile& file, const Vocabulary& vocabulary,
                                                                  MergeSource source);

}  // namespace inferens
