// tokenizer.ggml.merges to a MergeTable: one "left right" per entry, best first.
#pragma once

#include "formats/gguf.h"
#include "inferens/status.h"
#include "text/merge_engine.h"
#include "text/vocabulary.h"

namespace inferens {

// Merges that name a token the vocabulary lacks, or a control token, can never apply and are left out with a warning.
StatusOr<MergeTable> read_merge_list(const GgufFile& file, const Vocabulary& vocabulary);

}  // namespace inferens
