#include "text/merge_list.h"

#include <optional>
#include <string>

#include "base/log.h"
#include "text/text_encoder.h"

namespace inferens {
namespace {

constexpr std::string_view kMerges = "tokenizer.ggml.merges";

std::optional<TokenId> find_plain(const Vocabulary& vocabulary, std::string_view spelling) {
  const auto id = vocabulary.find(spelling);
  return id && is_plain_text(vocabulary.kind(*id)) ? id : std::nullopt;
}

}  // namespace

StatusOr<MergeTable> read_merge_list(const GgufFile& file, const Vocabulary& vocabulary) {
  if (file.find(kMerges) == nullptr) {
    return not_found(std::string(kMerges) + ": missing, and a BPE tokenizer needs it; convert the model again");
  }
  auto merges = file.get_strings(kMerges);
  if (!merges.ok()) return merges.status();
  if (merges->size() >= kNoRank) return data_loss(std::string(kMerges) + ": has more entries than ranks can count");

  MergeTable table(merges->size());
  size_t unusable = 0;
  std::string joined;
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    const std::string_view merge = (*merges)[rank];
    const size_t space = merge.find(' ', 1);  // a token may itself start with a space
    if (space == std::string_view::npos) {
      return data_loss(std::string(kMerges) + ": entry " + std::to_string(rank) +
                       " is not two tokens with a space between");
    }
    const auto left = find_plain(vocabulary, merge.substr(0, space));
    const auto right = find_plain(vocabulary, merge.substr(space + 1));
    joined.assign(merge.substr(0, space)).append(merge.substr(space + 1));
    const auto merged = find_plain(vocabulary, joined);
    if (left && right && merged) {
      table.insert(*left, *right, {static_cast<uint32_t>(rank), *merged});
    } else {
      ++unusable;
    }
  }
  if (unusable > 0) {
    spdlog::warn("{}: {} of {} entries name tokens that are not in the vocabulary; left out", kMerges, unusable,
                 merges->size());
  }
  return table;
}

}  // namespace inferens
