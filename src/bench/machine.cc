#include "bench/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/file.h"

namespace inferens {
namespace {

constexpr size_t kMaxProcFile = size_t{4} << 20;

// The value of the first "key : value" line, without spaces around it.
std::string line_value(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string_view::npos) continue;
    if (line.substr(key.size(), colon - key.size()).find_first_not_of(" \t") != std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    size_t first = value.find_first_not_of(" \t");
    return first == std::string_view::npos ? "" : std::string(value.substr(first));
  }
  return "";
}

// The number at the start of `text` with an optional K, M or " kB" behind it, in bytes; 0 when there is none.
int64_t bytes_of(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  int64_t scale = unit.starts_with("K") || unit.starts_with(" kB") ? 1024 : unit.starts_with("M") ? 1024 * 1024 : 1;
  return checked_mul(value, scale).value_or(0);
}

int64_t last_level_cache() {
  int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    auto size = read_file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size", kMaxProcFile);
    if (size.ok()) largest = std::max(largest, bytes_of(*size));
  }
  return largest;
}

// Calls `pass` until `seconds` have gone by, at least twice, and gives the shortest time that it took.
template <class F>
double shortest_pass(double seconds, F&& pass) {
  double best = 0, total = 0;
  for (int i = 0; i < 2 || total < seconds; ++i) {
    Nanos start = system_clock().now();
    pass();
    double took = to_seconds(std::max<Nanos>(1, system_clock().now() - start));
    best = i == 0 ? took : std::min(best, took);
    total += took;
  }
  return best;
}

// A place that results go to so that the compiler must make them.
void keep(double value) { asm volatile("" : : "r"(&value) : "memory"); }

Limit measure_products(const LimitLoops::Products& loop, WorkerPool& pool, double seconds) {
  if (loop.run == nullptr) return {};
  // Rounds enough that one pass lasts a few milliseconds, so that the fork and the join do not show.
  int64_t rounds = 64;
  while (shortest_pass(0, [&] { keep(loop.run(rounds)); }) < 0.004) rounds *= 2;
  const auto work = static_cast<double>(rounds * loop.operations);
  Limit limit;
  limit.one_thread = work / shortest_pass(seconds, [&] { keep(loop.run(rounds)); });
  limit.all_threads = work * pool.size() / shortest_pass(seconds, [&] { pool.run([&](int) { keep(loop.run(rounds)); }); });
  return limit;
}

ReadLimit measure_read(const LimitLoops& loops, WorkerPool& pool, const std::byte* data, int64_t bytes, double seconds) {
  const auto grain = static_cast<int64_t>(kReadGrain);
  const int64_t each = std::max(grain, bytes / pool.size() / grain * grain);
  // Small buffers are read many times per pass, so that the fork and the join do not show.
  const int64_t times = std::max<int64_t>(1, (int64_t{64} << 20) / each);
  auto read = [&](int64_t from) {
    for (int64_t i = 0; i < times; ++i) keep(static_cast<double>(loops.read(data + from, static_cast<size_t>(each))));
  };
  const auto work = static_cast<double>(each * times);
  ReadLimit limit;
  limit.buffer_bytes = each * pool.size();
  limit.bytes_per_second.one_thread = work / shortest_pass(seconds, [&] { read(0); });
  limit.bytes_per_second.all_threads =
      work * pool.size() / shortest_pass(seconds, [&] { pool.run([&](int worker) { read(worker * each); }); });
  return limit;
}

// Larger than the caches by far, and never a large part of the machine's memory.
int64_t beyond_caches(const MachineInfo& machine) {
  const int64_t wanted = std::clamp<int64_t>(4 * machine.cache_bytes, int64_t{256} << 20, int64_t{2} << 30);
  return machine.available_bytes > 0 ? std::min(wanted, std::max<int64_t>(machine.available_bytes / 4, 1 << 20)) : wanted;
}

}  // namespace

MachineInfo describe_machine() {
  MachineInfo info;
  if (auto cpus = read_file("/proc/cpuinfo", kMaxProcFile); cpus.ok()) {
    for (const char* key : {"model name", "Model", "CPU part"}) {
      if (info.cpu.empty()) info.cpu = line_value(*cpus, key);
    }
  }
  utsname names = {};
  if (::uname(&names) == 0) info.system = std::string(names.sysname) + " " + names.release + " " + names.machine;
  info.cpus = usable_cpus();
  info.cache_bytes = last_level_cache();
  if (auto memory = read_file("/proc/meminfo", kMaxProcFile); memory.ok()) {
    info.memory_bytes = bytes_of(line_value(*memory, "MemTotal"));
    info.available_bytes = bytes_of(line_value(*memory, "MemAvailable"));
  }
  return info;
}

std::string utc_time(int64_t unix_seconds) {
  auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts = {};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "";
  std::array<char, 64> buffer;
  int n = std::snprintf(buffer.data(), buffer.size(), "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                        parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return {buffer.data(), static_cast<size_t>(n)};
}

const ReadLimit& MachineLimits::read_limit(int64_t bytes) const {
  auto distance = [&](const ReadLimit& r) { return std::abs(std::log(static_cast<double>(r.buffer_bytes) / static_cast<double>(bytes))); };
  return *std::min_element(read.begin(), read.end(), [&](const ReadLimit& a, const ReadLimit& b) { return distance(a) < distance(b); });
}

StatusOr<MachineLimits> measure_limits(Isa isa, WorkerPool& pool, const MachineInfo& machine, const LimitOptions& options) {
  auto loops = limits_for(isa);
  if (!loops.ok()) return loops.status();
  std::vector<int64_t> sizes = options.working_sets;
  sizes.push_back(beyond_caches(machine));
  const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  const auto least = static_cast<int64_t>(kReadGrain) * pool.size();
  auto memory = AlignedMemory::allocate(static_cast<size_t>(std::max(largest, least)));
  if (!memory.ok()) return memory.status().with_context("measuring how fast memory is read");
  // Memory that was never written is one page of zeros to the system. The workers write what they will read.
  const auto page = int64_t{4096};
  pool.for_each(div_up(largest, page), [&](int64_t i, int) { memory->data()[i * page] = std::byte{1}; });
  std::sort(sizes.begin(), sizes.end());
  MachineLimits limits;
  for (int64_t size : sizes) limits.read.push_back(measure_read(**loops, pool, memory->data(), size, options.seconds));
  limits.int8 = measure_products((*loops)->int8, pool, options.seconds);
  limits.int8_tiles = measure_products((*loops)->int8_tiles, pool, options.seconds);
  limits.f32 = measure_products((*loops)->f32, pool, options.seconds);
  return limits;
}

}  // namespace inferens
