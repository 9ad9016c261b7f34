#include "bench/report_json.h"

namespace inferens {
namespace {

Json json_of(const Limit& limit) { return {{"one_thread", limit.one_thread}, {"all_threads", limit.all_threads}}; }

}  // namespace

Json json_of(const Summary& s) {
  return {{"median", s.median}, {"mean", s.mean}, {"min", s.min}, {"max", s.max}, {"stddev", s.stddev}, {"samples", s.samples}};
}

Json json_of(const MachineInfo& m) {
  return {{"cpu", m.cpu}, {"system", m.system}, {"cpus", m.cpus}, {"cache_bytes", m.cache_bytes}, {"memory_bytes", m.memory_bytes}};
}

Json json_of(const MachineLimits& limits) {
  Json json = {{"int8_operations_per_second", json_of(limits.int8)}};
  if (limits.int8_tiles.all_threads > 0) json["int8_tile_operations_per_second"] = json_of(limits.int8_tiles);
  json["f32_operations_per_second"] = json_of(limits.f32);
  json["read"] = Json::array();
  for (const ReadLimit& r : limits.read) {
    json["read"].push_back({{"buffer_bytes", r.buffer_bytes}, {"bytes_per_second", json_of(r.bytes_per_second)}});
  }
  return json;
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace inferens
