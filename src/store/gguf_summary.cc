#include "store/gguf_summary.h"

#include <algorithm>
#include <array>

#include "base/checked.h"

namespace inferens {
namespace {

struct FileType {
  uint64_t number;
  const char* name;
};
// The numbers of general.file_type in the GGUF specification.
constexpr std::array<FileType, 33> kFileTypes = {{
    {0, "F32"},      {1, "F16"},      {2, "Q4_0"},     {3, "Q4_1"},      {7, "Q8_0"},     {8, "Q5_0"},     {9, "Q5_1"},     {10, "Q2_K"},
    {11, "Q3_K_S"},  {12, "Q3_K_M"},  {13, "Q3_K_L"},  {14, "Q4_K_S"},   {15, "Q4_K_M"},  {16, "Q5_K_S"},  {17, "Q5_K_M"},  {18, "Q6_K"},
    {19, "IQ2_XXS"}, {20, "IQ2_XS"},  {21, "Q2_K_S"},  {22, "IQ3_XS"},   {23, "IQ3_XXS"}, {24, "IQ1_S"},   {25, "IQ4_NL"},  {26, "IQ3_S"},
    {27, "IQ3_M"},   {28, "IQ2_S"},   {29, "IQ2_M"},   {30, "IQ4_XS"},   {31, "IQ1_M"},   {32, "BF16"},    {36, "TQ1_0"},   {37, "TQ2_0"},
    {38, "MXFP4"},  
}};

std::string text_of(const GgufFile& file, std::string_view key) {
  auto value = file.get_string(key);
  return value.ok() ? std::string(*value) : std::string();
}

uint64_t number_of(const GgufFile& file, const std::string& key) {
  auto value = file.get_uint(key);
  if (value.ok()) return *value;
  // Some architectures give one number per layer; the largest says what the model needs.
  auto list = file.get_ints(key);
  if (!list.ok() || list->empty()) return 0;
  return static_cast<uint64_t>(std::max<int64_t>(0, *std::max_element(list->begin(), list->end())));
}

std::string tokenizer_of(const GgufFile& file) {
  std::string model = text_of(file, "tokenizer.ggml.model");
  std::string pre = text_of(file, "tokenizer.ggml.pre");
  return model.empty() || pre.empty() ? model : model + " (" + pre + ")";
}

void count_tensors(const GgufFile& file, GgufSummary& summary) {
  std::map<std::string, uint64_t> tensors;
  std::map<std::string, uint64_t> weights;
  for (const TensorInfo& t : file.tensors()) {
    std::string type(tensor_type_name(t.type));
    ++tensors[type];
    weights[type] += t.elements();
    summary.parameters = checked_add(summary.parameters, t.elements()).value_or(summary.parameters);
  }
  summary.tensor_types.assign(tensors.begin(), tensors.end());
  std::sort(summary.tensor_types.begin(), summary.tensor_types.end(), [&](const auto& a, const auto& b) { return weights[a.first] > weights[b.first]; });
}

std::string quantization_of(const GgufFile& file, const GgufSummary& summary) {
  auto number = file.get_uint("general.file_type");
  for (const FileType& t : kFileTypes) {
    if (number.ok() && t.number == *number) return t.name;
  }
  return summary.tensor_types.empty() ? "none" : summary.tensor_types.front().first;
}

}  // namespace

GgufSummary summarize_gguf(const GgufFile& file) {
  GgufSummary s;
  s.architecture = text_of(file, "general.architecture");
  std::string prefix = s.architecture + ".";
  if (s.architecture.empty()) s.architecture = "unknown";
  s.name = text_of(file, "general.name");
  s.license = text_of(file, "general.license");
  s.tokenizer = tokenizer_of(file);
  s.chat_template = text_of(file, "tokenizer.chat_template");
  s.file_bytes = file.file_bytes();
  s.context_length = number_of(file, prefix + "context_length");
  s.embedding_length = number_of(file, prefix + "embedding_length");
  s.layers = number_of(file, prefix + "block_count");
  s.heads = number_of(file, prefix + "attention.head_count");
  s.kv_heads = number_of(file, prefix + "attention.head_count_kv");
  auto tokens = file.get_strings("tokenizer.ggml.tokens");
  s.vocabulary = tokens.ok() ? tokens->size() : number_of(file, prefix + "vocab_size");
  s.gguf_version = file.version();
  count_tensors(file, s);
  s.quantization = quantization_of(file, s);
  return s;
}

}  // namespace inferens
