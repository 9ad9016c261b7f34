// A mixture of experts (Shazeer et al., arXiv 1701.06538): a router picks a few feed-forwards for each token. The tokens of
// a step are grouped by expert, so that an expert's weights are read once for all of its tokens; each token's result is
// summed in the order of its experts' numbers, so that its bits do not depend on who else is in the step.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/activation_tiles.h"
#include "model/activations.h"
#include "model/model_config.h"
#include "model/weights.h"

namespace inferens {

struct Experts {
  Linear router;                      // hidden → experts
  std::vector<Linear> gate, up, down;  // [experts]: hidden → expert_ffn, hidden → expert_ffn, expert_ffn → hidden
};

// Which experts the tokens of a step use. A slot is one token at one expert; slots lie by expert, then by token.
class ExpertSlots {
 public:
  struct Choice {
    int32_t expert;
    float weight;
    int64_t slot;
  };
  struct Group {
    int32_t expert;
    int64_t first;  // slot
    int64_t count;
  };

  // Room for a step. Not for workers.
  void resize(const ModelConfig& c, int64_t tokens, int tile_rows);
  // The experts of token `t` by its router's scores [experts]: the likeliest, the lower number among equals.
  void choose(const ModelConfig& c, int64_t t, const float* scores);
  // Lays the slots out, once all tokens have chosen. For one worker.
  void group();

  Choice* choices(int64_t token) { return choices_.data() + token * used_; }
  int64_t count() const { return static_cast<int64_t>(choices_.size()); }
  int64_t token_of(int64_t slot) const { return tokens_[static_cast<size_t>(slot)]; }
  const std::vector<Group>& groups() const { return groups_; }
  // The int8 form of a group's rows of `a` [slots, …]; tiles do not cross groups.
  ActivationTiles tiles(const Activations& a, size_t group) const;

  Activations scores;              // [tokens, experts], the router's
  Activations shared_score;        // [tokens, 1], of the expert that all tokens share
  Activations in, gate, up, out;   // [slots, …]

 private:
  int64_t used_ = 0;
  int tile_rows_ = 1;
  std::vector<Choice> choices_;    // [tokens, used], by expert
  std::vector<int64_t> next_slot_;  // [experts + 1]
  std::vector<int64_t> tokens_;    // [slots]
  std::vector<Group> groups_;      // those with tokens, by expert
};

}  // namespace inferens
