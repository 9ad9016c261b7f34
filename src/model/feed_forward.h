// The second half of a layer of the llama family: a gated feed-forward (Shazeer, arXiv 2002.05202), or a mixture of such
// experts, perhaps with one that all tokens share.
#pragma once

#include <string>

#include "model/step.h"

namespace inferens {

struct FeedForward {
  Linear gate, up, down;  // hidden → ffn, hidden → ffn, ffn → hidden: the dense one, or the shared expert's
  Linear shared_weight;   // hidden → 1: how much the shared expert counts
  Experts experts;
};

// `prefix`: "blk.N.".
void load_feed_forward(WeightLoader& loader, const ModelConfig& c, const std::string& prefix, FeedForward& f);

// s.x += ffn(s.normed)
void add_feed_forward(Step& step, StepState& s, const FeedForward& f);

}  // namespace inferens
