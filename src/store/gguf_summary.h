// What a model file says about itself, for show, lists and APIs. Reads the header only; loads no weights.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "inferens/status.h"

namespace inferens {

struct GgufSummary {
  std::string architecture;    // general.architecture; "unknown" when the file names none
  std::string name;            // general.name, may be empty
  std::string quantization;    // of general.file_type, "Q4_K_M"; else the type of most weights
  std::string license;         // general.license, may be empty
  std::string tokenizer;       // "gpt2 (smollm)"; empty: the file has none
  std::string chat_template;   // Jinja source, may be empty
  uint64_t parameters = 0;     // weights in all tensors
  uint64_t file_bytes = 0;     // all parts
  uint64_t context_length = 0; // 0: the file does not say
  uint64_t embedding_length = 0;
  uint64_t layers = 0;
  uint64_t heads = 0;
  uint64_t kv_heads = 0;
  uint64_t vocabulary = 0;
  uint32_t gguf_version = 0;
  std::vector<std::pair<std::string, uint64_t>> tensor_types;  // type and number of tensors, most first
};

GgufSummary summarize_gguf(const GgufFile& file);

}  // namespace inferens
