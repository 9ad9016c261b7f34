// Bytes per second of a tokenizer on one core: benchmark_tokenizer MODEL.gguf TEXT_FILE…, each text some hundred
// kilobytes, and beside them long runs of one character, which must stay near the same speed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "text/tokenizer.h"

namespace inferens {
namespace {

void encode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  size_t tokens = 0;
  for (auto _ : state) {
    const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = false});
    tokens = ids.size();
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
  state.counters["bytes/token"] = static_cast<double>(text.size()) / static_cast<double>(std::max<size_t>(tokens, 1));
}

void decode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  for (auto _ : state) {
    Detokenizer detokenizer(tokenizer, true);
    for (TokenId id : ids) benchmark::DoNotOptimize(detokenizer.push(id));
  }
  state.SetItemsProcessed(static_cast<int64_t>(ids.size()) * state.iterations());
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: benchmark_tokenizer MODEL.gguf TEXT_FILE…\n");
    return 2;
  }
  auto file = GgufFile::open(argv[1]);
  auto tokenizer = file.ok() ? Tokenizer::from_gguf(*file) : StatusOr<std::unique_ptr<Tokenizer>>(file.status());
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s\n", tokenizer.status().to_string().c_str());
    return 1;
  }
  std::vector<std::pair<std::string, std::string>> texts;  // name, content
  for (int i = 2; i < argc; ++i) {
    auto text = read_file(argv[i]);
    if (!text.ok()) {
      std::fprintf(stderr, "%s\n", text.status().to_string().c_str());
      return 1;
    }
    texts.emplace_back(argv[i], std::move(*text));
  }
  for (const char* character : {"A", "\n", "é"}) {
    std::string text;
    while (text.size() < 100'000) text += character;
    texts.emplace_back("100kB of one character", std::move(text));
  }
  for (const auto& [name, text] : texts) {
    benchmark::RegisterBenchmark(("encode/" + name).c_str(),
                                 [&](benchmark::State& s) { encode(s, **tokenizer, text); });
  }
  benchmark::RegisterBenchmark("detokenize",
                               [&](benchmark::State& s) { decode(s, **tokenizer, texts.front().second); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace inferens

int main(int argc, char** argv) {
  return inferens::run(argc, argv);
}
