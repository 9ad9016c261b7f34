#include "text/byte_level.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace inferens {
namespace {

// Printable Latin-1 stands for itself; the other 68 bytes, in order, for the code points from 256.
constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}
constexpr int kOthers = 68;

constexpr std::array<uint16_t, 256> make_code_points() {
  std::array<uint16_t, 256> code_points{};
  uint16_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    code_points[static_cast<size_t>(byte)] = stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
  }
  return code_points;
}

constexpr std::array<int16_t, 256 + kOthers> make_bytes() {
  std::array<int16_t, 256 + kOthers> bytes{};
  bytes.fill(-1);
  const auto code_points = make_code_points();
  for (size_t byte = 0; byte < 256; ++byte) bytes[code_points[byte]] = static_cast<int16_t>(byte);
  return bytes;
}

constexpr auto kBytes = make_bytes();

}  // namespace

bool append_byte_level(std::string_view spelling, std::string& out) {
  const size_t before = out.size();
  for (size_t i = 0; i < spelling.size();) {
    const CodePoint c = decode_utf8(spelling, i);
    if (!c.valid || c.value >= kBytes.size() || kBytes[c.value] < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(kBytes[c.value]);
    i += c.length;
  }
  return true;
}

}  // namespace inferens
