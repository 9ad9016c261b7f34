#include "model/feed_forward.h"

namespace inferens {

void load_feed_forward(WeightLoader& loader, const ModelConfig& c, const std::string& prefix, FeedForward& f) {
  std::string shared = c.experts > 0 ? "_shexp.weight" : ".weight";
  if (c.ffn > 0) {
    loader.matrix(prefix + "ffn_gate" + shared, c.ffn, c.hidden, f.gate);
    loader.matrix(prefix + "ffn_up" + shared, c.ffn, c.hidden, f.up);
    loader.matrix(prefix + "ffn_down" + shared, c.hidden, c.ffn, f.down);
  }
  if (c.experts == 0) return;
  if (c.ffn > 0) loader.matrix(prefix + "ffn_gate_inp_shexp.weight", 1, c.hidden, f.shared_weight);
  loader.matrix(prefix + "ffn_gate_inp.weight", c.experts, c.hidden, f.experts.router);
  loader.matrices(prefix + "ffn_gate_exps.weight", c.experts, c.expert_ffn, c.hidden, f.experts.gate);
  loader.matrices(prefix + "ffn_up_exps.weight", c.experts, c.expert_ffn, c.hidden, f.experts.up);
  loader.matrices(prefix + "ffn_down_exps.weight", c.experts, c.hidden, c.expert_ffn, f.experts.down);
}

void add_feed_forward(Step& step, StepState& s, const FeedForward& f) {
  const ModelConfig& c = s.config;
  if (c.experts > 0) step.add_experts(Gate::kSilu, s.normed, f.experts, s.x);
  if (c.ffn == 0) return;
  // down(silu(gate(normed)) * up(normed))
  step.gated_product(Gate::kSilu, s.normed, f.gate, f.up, s.gate);
  if (c.experts > 0) {
    step.add_weighted_product(s.normed, f.shared_weight, s.gate, f.down, s.x);
  } else {
    step.add_product(s.gate, f.down, s.x);
  }
}

}  // namespace inferens
