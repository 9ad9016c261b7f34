#include "bench/speed_report.h"

#include "bench/report_json.h"
#include "bench/text_table.h"

namespace inferens {
namespace {

using Align = TextTable::Align;

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }
std::string giga(double value, int digits = 1) { return fixed(value * 1e-9, digits); }
std::string mebibytes(int64_t bytes) { return fixed(static_cast<double>(bytes) / (1 << 20), 1) + " MiB"; }
std::string place(const char* kind, int32_t count, int32_t depth) {
  return kind + std::to_string(count) + (depth > 0 ? " @ " + std::to_string(depth) : "");
}

// Operations of the layers' matrices per token: a multiplication and an addition for each weight. Attention and the head,
// which a prefill computes for one token, are not counted.
double prefill_operations(const SpeedReport& r, const PrefillSpeed& p) {
  return 2.0 * static_cast<double>(r.bytes.weights) * p.tokens_per_second.median;
}

int64_t bytes_per_step(const SpeedReport& r, const DecodeSpeed& d) { return r.bytes.packed + d.kv_bytes_per_step; }
double decode_bytes_per_second(const SpeedReport& r, const DecodeSpeed& d) {
  return static_cast<double>(bytes_per_step(r, d)) * d.tokens_per_second.median / d.sequences;
}
double share_of_read_limit(const SpeedReport& r, const DecodeSpeed& d) {
  return decode_bytes_per_second(r, d) / r.limits.read_limit(bytes_per_step(r, d)).bytes_per_second.all_threads;
}
double share_of_int8_limit(const SpeedReport& r, const PrefillSpeed& p) { return prefill_operations(r, p) / r.limits.best_int8().all_threads; }

std::string prefill_table(const SpeedReport& r) {
  TextTable table({{"prefill", Align::kLeft}, {"tokens/s"}, {"min"}, {"max"}, {"stddev"}, {"GOPS"}, {"of int8 limit"}});
  for (const PrefillSpeed& p : r.results.prefill) {
    const Summary& s = p.tokens_per_second;
    table.add_row({place("pp", p.prompt_tokens, p.depth), fixed(s.median, 2), fixed(s.min, 2), fixed(s.max, 2), fixed(s.stddev, 2),
                   giga(prefill_operations(r, p)), percent(share_of_int8_limit(r, p))});
  }
  return table.to_text();
}

std::string decode_table(const SpeedReport& r) {
  TextTable table({{"decode", Align::kLeft}, {"sequences"}, {"tokens/s"}, {"min"}, {"max"}, {"stddev"}, {"per sequence"}, {"step p50 ms"},
                   {"step p99 ms"}, {"MiB read/step"}, {"GB/s"}, {"of read limit"}});
  for (const DecodeSpeed& d : r.results.decode) {
    const Summary& s = d.tokens_per_second;
    table.add_row({place("tg", d.output_tokens, d.context), std::to_string(d.sequences), fixed(s.median, 2), fixed(s.min, 2), fixed(s.max, 2),
                   fixed(s.stddev, 2), fixed(s.median / d.sequences, 2), fixed(1e3 * d.step_seconds.median, 2),
                   fixed(1e3 * percentile(d.step_seconds.samples, 0.99), 2), fixed(static_cast<double>(bytes_per_step(r, d)) / (1 << 20), 1),
                   giga(decode_bytes_per_second(r, d)), percent(share_of_read_limit(r, d))});
  }
  return table.to_text();
}

}  // namespace

std::string machine_lines(const MachineInfo& machine, const MachineLimits& limits, Isa isa, int threads) {
  auto both = [](const Limit& l, const std::string& unit) { return giga(l.all_threads) + " " + unit + " (one thread " + giga(l.one_thread) + ")"; };
  std::string out = "machine   " + machine.cpu + ", " + std::to_string(machine.cpus) + " CPUs, last-level cache " + mebibytes(machine.cache_bytes) +
                    ", " + machine.system + "\n";
  out += "kernels   " + std::string(isa_name(isa)) + ", " + std::to_string(threads) + " threads\n";
  out += "limits    int8 " + both(limits.int8, "GOPS");
  if (limits.int8_tiles.all_threads > 0) out += ", int8 tiles " + both(limits.int8_tiles, "GOPS");
  out += ", f32 " + both(limits.f32, "GFLOPS") + "\n";
  for (const ReadLimit& r : limits.read) out += "          read of " + mebibytes(r.buffer_bytes) + ": " + both(r.bytes_per_second, "GB/s") + "\n";
  return out;
}

std::string speed_table(const SpeedReport& r) {
  std::string out = r.program + ", " + utc_time(r.unix_seconds) + "\n" + machine_lines(r.machine, r.limits, r.isa, r.threads);
  out += "model     " + r.model_name + ", " + r.architecture + ", file " + mebibytes(r.file_bytes) + ", matrices read per step " +
         mebibytes(r.bytes.packed) + ", KV " + r.kv_type + (r.float_path ? ", float path" : "") + "\n";
  out += "runs      median of " + std::to_string(r.options.repetitions) + ", prefill in chunks of " + std::to_string(r.options.chunk) +
         ", greedy; every row was checked against the same row alone\n";
  if (!r.results.prefill.empty()) out += "\n" + prefill_table(r);
  if (!r.results.decode.empty()) out += "\n" + decode_table(r);
  return out;
}

std::string speed_json(const SpeedReport& r) {
  Json json = {{"program", r.program}, {"date", utc_time(r.unix_seconds)}, {"machine", json_of(r.machine)}, {"limits", json_of(r.limits)},
               {"isa", isa_name(r.isa)}, {"threads", r.threads}};
  json["model"] = {{"name", r.model_name}, {"architecture", r.architecture}, {"file_bytes", r.file_bytes}, {"matrix_bytes_per_step", r.bytes.packed},
                   {"layer_weights", r.bytes.weights}, {"head_weights", r.bytes.head_weights}};
  json["settings"] = {{"kv_type", r.kv_type}, {"float_path", r.float_path}, {"chunk", r.options.chunk}, {"repetitions", r.options.repetitions},
                      {"seed", r.options.seed}};
  json["prefill"] = Json::array();
  for (const PrefillSpeed& p : r.results.prefill) {
    json["prefill"].push_back({{"prompt_tokens", p.prompt_tokens}, {"depth", p.depth}, {"tokens_per_second", json_of(p.tokens_per_second)},
                               {"operations_per_second", prefill_operations(r, p)}, {"share_of_int8_limit", share_of_int8_limit(r, p)}});
  }
  json["decode"] = Json::array();
  for (const DecodeSpeed& d : r.results.decode) {
    Json steps = {{"median", d.step_seconds.median}, {"p99", percentile(d.step_seconds.samples, 0.99)}, {"max", d.step_seconds.max}};
    json["decode"].push_back({{"sequences", d.sequences}, {"context", d.context}, {"output_tokens", d.output_tokens},
                              {"tokens_per_second", json_of(d.tokens_per_second)}, {"step_seconds", steps},
                              {"bytes_per_step", bytes_per_step(r, d)}, {"bytes_per_token", bytes_per_step(r, d) / d.sequences},
                              {"bytes_per_second", decode_bytes_per_second(r, d)}, {"share_of_read_limit", share_of_read_limit(r, d)}});
  }
  return dump(json);
}

std::string speed_csv(const SpeedReport& r) {
  std::string out = csv_line({"date", "program", "cpu", "isa", "threads", "model", "file_bytes", "kv_type", "test", "prompt_tokens", "output_tokens",
                              "sequences", "depth", "repetitions", "tokens_per_second", "min", "max", "mean", "stddev", "share_of_limit"});
  auto line = [&](const std::string& test, int32_t prompt, int32_t output, int32_t sequences, int32_t depth, const Summary& s, double share) {
    out += csv_line({utc_time(r.unix_seconds), r.program, r.machine.cpu, std::string(isa_name(r.isa)), std::to_string(r.threads), r.model_name,
                     std::to_string(r.file_bytes), r.kv_type, test, std::to_string(prompt), std::to_string(output), std::to_string(sequences),
                     std::to_string(depth), std::to_string(s.samples.size()), shortest(s.median), shortest(s.min), shortest(s.max),
                     shortest(s.mean), shortest(s.stddev), shortest(share)});
  };
  for (const PrefillSpeed& p : r.results.prefill) line("prefill", p.prompt_tokens, 0, 1, p.depth, p.tokens_per_second, share_of_int8_limit(r, p));
  for (const DecodeSpeed& d : r.results.decode) {
    line("decode", 0, d.output_tokens, d.sequences, d.context, d.tokens_per_second, share_of_read_limit(r, d));
  }
  return out;
}

}  // namespace inferens
