#include "bench/speed.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "bench/bench_sequences.h"
#include "bench/model_bytes.h"

namespace inferens {
namespace {

// Tokens that every row of a batch is also decoded alone; further ones are compared between batches.
constexpr int32_t kCheckedTokens = 16;

int32_t largest(const std::vector<int32_t>& values) { return values.empty() ? 0 : *std::max_element(values.begin(), values.end()); }
int32_t smallest(const std::vector<int32_t>& values) { return values.empty() ? 0 : *std::min_element(values.begin(), values.end()); }

bool decodes(const SpeedOptions& o) { return o.output_tokens > 0 && !o.sequences.empty(); }

struct Room {
  int32_t sequences = 1;
  int64_t tokens = 0;   // of the longest sequence
  int32_t shared = 0;   // context that all sequences have before their own tokens, at least
};

Room room_for(const SpeedOptions& o) {
  Room room;
  if (!o.prompt_tokens.empty()) room.tokens = int64_t{largest(o.depths)} + largest(o.prompt_tokens);
  if (decodes(o)) {
    room.sequences = largest(o.sequences);
    room.tokens = std::max(room.tokens, int64_t{largest(o.depths)} + o.decode_context + o.output_tokens);
    room.shared = smallest(o.depths) + o.decode_context;
  }
  return room;
}

Status check_list(const char* name, const std::vector<int32_t>& values, int32_t low) {
  for (int32_t v : values) {
    if (v < low) return invalid_argument(std::string(name) + " has " + std::to_string(v) + "; at least " + std::to_string(low));
  }
  return ok_status();
}

Status check(const Model& model, const SpeedOptions& o) {
  if (Status s = check_list("the list of prompt lengths", o.prompt_tokens, 1); !s.ok()) return s;
  if (Status s = check_list("the list of sequence counts", o.sequences, 1); !s.ok()) return s;
  if (Status s = check_list("the list of depths", o.depths, 0); !s.ok()) return s;
  if (o.depths.empty() || (o.prompt_tokens.empty() && !decodes(o))) return invalid_argument("nothing to measure: no prompt length and no decode");
  if (o.output_tokens < 0 || o.decode_context < 1 || o.chunk < 1 || o.repetitions < 1) {
    return invalid_argument("output tokens are at least 0; decode context, chunk and repetitions at least 1");
  }
  if (int64_t tokens = room_for(o).tokens; tokens > model.context_length()) {
    return invalid_argument("the longest sequence would have " + std::to_string(tokens) + " tokens; the context of this model has " +
                            std::to_string(model.context_length()) + "; lower the depth, the prompt length or the output tokens");
  }
  return ok_status();
}

class SpeedRun {
 public:
  SpeedRun(Model& model, const SpeedOptions& options, const Clock& clock, BenchSequences sequences)
      : model_(model), options_(options), clock_(clock), sequences_(std::move(sequences)) {}

  StatusOr<SpeedResults> run() {
    std::vector<int32_t> depths = options_.depths;
    std::sort(depths.begin(), depths.end());  // so that a deeper context is filled on from the one before
    for (int32_t depth : depths) {
      if (Status s = at_depth(depth); !s.ok()) return s;
    }
    return std::move(results_);
  }

 private:
  Status at_depth(int32_t depth) {
    if (Status s = fill_to(depth); !s.ok()) return s;
    for (int32_t prompt : options_.prompt_tokens) {
      if (Status s = prefill(depth, prompt); !s.ok()) return s;
    }
    if (!decodes(options_)) return ok_status();
    if (Status s = fill_to(depth + options_.decode_context); !s.ok()) return s;
    sequences_.copy_to_all(depth + options_.decode_context);
    if (Status s = decode_alone(depth + options_.decode_context); !s.ok()) return s;
    for (int32_t count : options_.sequences) {
      if (Status s = decode(depth + options_.decode_context, count); !s.ok()) return s;
    }
    filled_ = depth + options_.decode_context;  // decoded tokens lie behind
    return ok_status();
  }

  Status fill_to(int32_t tokens) {
    if (tokens <= filled_) return ok_status();
    say("context of " + std::to_string(tokens) + " tokens");
    Status s = sequences_.fill(filled_, tokens, options_.chunk);
    filled_ = tokens;
    return s;
  }

  // A prompt's tokens depend on positions alone, so a prefill writes what a deeper context has at these places anyway.
  Status prefill(int32_t depth, int32_t prompt) {
    say("prefill of " + std::to_string(prompt) + " tokens at depth " + std::to_string(depth));
    // Warm-up in odd pieces: its logits must be those of the measured runs.
    if (Status s = sequences_.fill(depth, depth + prompt, options_.chunk - options_.chunk / 3); !s.ok()) return s;
    const std::vector<float> expected(sequences_.logits().begin(), sequences_.logits().end());
    if (Status s = sequences_.fill(depth, depth + std::min(prompt, options_.chunk), options_.chunk); !s.ok()) return s;
    PrefillSpeed result{prompt, depth, {}};
    std::vector<double> samples;
    for (int32_t r = 0; r < options_.repetitions; ++r) {
      const Nanos start = clock_.now();
      if (Status s = sequences_.fill(depth, depth + prompt, options_.chunk); !s.ok()) return s;
      if (auto token = sequences_.most_likely(0); !token.ok()) return token.status();
      samples.push_back(prompt / seconds_since(start));
      if (std::memcmp(expected.data(), sequences_.logits().data(), expected.size() * sizeof(float)) != 0) {
        return internal_error("prefill of " + std::to_string(prompt) + " tokens at depth " + std::to_string(depth) +
                              " gives other logits when it is cut into other chunks");
      }
    }
    result.tokens_per_second = summarize(std::move(samples));
    results_.prefill.push_back(std::move(result));
    filled_ = std::max(filled_, depth + prompt);
    return ok_status();
  }

  // What every row must give, decoded as the only row of its steps.
  Status decode_alone(int32_t context) {
    const int32_t rows = largest(options_.sequences);
    say("the check of " + std::to_string(rows) + " sequences alone at context " + std::to_string(context));
    expected_.assign(static_cast<size_t>(rows), {});
    for (int32_t row = 0; row < rows; ++row) {
      // Alone it is sequence 0; all have the same context, and the decoded tokens are written anew each time.
      TokenId token = sequences_.first_token(row);
      for (int32_t i = 0; i < std::min(options_.output_tokens, kCheckedTokens); ++i) {
        if (Status s = sequences_.step({&token, 1}, context + i); !s.ok()) return s;
        auto next = sequences_.most_likely(0);
        if (!next.ok()) return next.status();
        token = *next;
        expected_[static_cast<size_t>(row)].push_back(token);
      }
    }
    return ok_status();
  }

  Status decode(int32_t context, int32_t count) {
    say("decode of " + std::to_string(count) + " sequences at context " + std::to_string(context));
    DecodeSpeed result;
    result.sequences = count;
    result.context = context;
    result.output_tokens = options_.output_tokens;
    result.kv_bytes_per_step = count * kv_bytes_read(model_, context + options_.output_tokens / 2);
    std::vector<double> samples, steps;
    for (int32_t r = -1; r < options_.repetitions; ++r) {  // -1: warm-up
      const size_t before = steps.size();
      const Nanos start = clock_.now();
      if (Status s = decode_once(context, count, steps); !s.ok()) return s;
      const double seconds = seconds_since(start);
      if (r < 0) steps.resize(before);
      else samples.push_back(static_cast<double>(count) * options_.output_tokens / seconds);
      if (Status s = check_rows(context, count); !s.ok()) return s;
    }
    result.tokens_per_second = summarize(std::move(samples));
    result.step_seconds = summarize(std::move(steps));
    results_.decode.push_back(std::move(result));
    return ok_status();
  }

  // Greedy decode of `count` sequences into decoded_ [step][row].
  Status decode_once(int32_t context, int32_t count, std::vector<double>& steps) {
    std::vector<TokenId> tokens;
    for (int32_t row = 0; row < count; ++row) tokens.push_back(sequences_.first_token(row));
    decoded_.clear();
    for (int32_t i = 0; i < options_.output_tokens; ++i) {
      const Nanos start = clock_.now();
      if (Status s = sequences_.step(tokens, context + i); !s.ok()) return s;
      for (size_t row = 0; row < tokens.size(); ++row) {
        auto token = sequences_.most_likely(row);
        if (!token.ok()) return token.status();
        tokens[row] = *token;
      }
      steps.push_back(seconds_since(start));
      decoded_.push_back(tokens);
    }
    return ok_status();
  }

  // Tokens known of a row, from alone or from an earlier batch, must come again; new ones become known.
  Status check_rows(int32_t context, int32_t count) {
    for (size_t row = 0; row < static_cast<size_t>(count); ++row) {
      auto& known = expected_[row];
      for (size_t i = 0; i < decoded_.size(); ++i) {
        const TokenId token = decoded_[i][row];
        if (i >= known.size()) known.push_back(token);
        if (known[i] == token) continue;
        return internal_error("decode at context " + std::to_string(context) + ": row " + std::to_string(row) + " of " +
                              std::to_string(count) + " gives token " + std::to_string(token) + " at step " + std::to_string(i) +
                              ", and gave " + std::to_string(known[i]) + " in another batch");
      }
    }
    return ok_status();
  }

  double seconds_since(Nanos start) const { return to_seconds(std::max<Nanos>(1, clock_.now() - start)); }
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  Model& model_;
  const SpeedOptions& options_;
  const Clock& clock_;
  BenchSequences sequences_;
  int32_t filled_ = 0;  // tokens of sequence 0 that are in its pages
  std::vector<std::vector<TokenId>> expected_;  // [row][step]
  std::vector<std::vector<TokenId>> decoded_;   // [step][row]
  SpeedResults results_;
};

}  // namespace

int64_t speed_kv_bytes(const Model& model, const SpeedOptions& options) {
  const Room room = room_for(options);
  return BenchSequences::kv_bytes(model, room.sequences, static_cast<int32_t>(room.tokens), room.shared);
}

StatusOr<SpeedResults> measure_speed(Model& model, const SpeedOptions& options, const Clock& clock) {
  if (Status s = check(model, options); !s.ok()) return s;
  const Room room = room_for(options);
  auto sequences = BenchSequences::make(model, room.sequences, static_cast<int32_t>(room.tokens), room.shared, options.seed);
  if (!sequences.ok()) return sequences.status();
  return SpeedRun(model, options, clock, *std::move(sequences)).run();
}

}  // namespace inferens
