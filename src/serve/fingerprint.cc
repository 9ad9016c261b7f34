#include "serve/fingerprint.h"

#include <algorithm>

#include "base/file.h"
#include "kernels/isa.h"
#include "store/sha256.h"

namespace inferens {
namespace {

constexpr size_t kStart = size_t{1} << 20;
constexpr size_t kSample = 4096;
constexpr size_t kSamples = 256;

}  // namespace

std::string fingerprint_of(const ModelInfo& model) {
  Sha256 hash;
  const StatusOr<MappedFile> file = MappedFile::open(model.path);
  if (file.ok()) {
    const std::span<const std::byte> bytes = file->bytes();
    hash.update(bytes.first(std::min(kStart, bytes.size())));
    for (size_t i = 1; i <= kSamples && bytes.size() > kStart; ++i) {
      const size_t end = kStart + (bytes.size() - kStart) / kSamples * i;
      hash.update(bytes.subspan(end - std::min(end, kSample), std::min(end, kSample)));
    }
  }
  const StatusOr<Isa> isa = choose_isa();
  hash.update(std::to_string(model.file_bytes) + kv_type_name(model.kv_type));
  if (isa.ok()) hash.update(isa_name(*isa));
  hash.update(INFERENS_VERSION);
  return "fp_" + hash.digest().substr(sizeof("sha256:") - 1, 12);
}

}  // namespace inferens
