#include "base/utf8.h"

namespace inferens {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Bytes that a sequence starting with `lead` takes, and the allowed range of its second byte (Unicode 3.9, table 3-7).
struct LeadRule {
  uint8_t length = 0;
  uint8_t second_low = 0x80;
  uint8_t second_high = 0xBF;
};

LeadRule rule_of(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

// How many bytes from `offset` fit the rule of their lead byte; equals rule.length when the sequence is whole.
size_t matching_bytes(std::string_view text, size_t offset, const LeadRule& rule) {
  size_t n = 1;
  while (n < rule.length && offset + n < text.size()) {
    auto b = static_cast<uint8_t>(text[offset + n]);
    uint8_t low = n == 1 ? rule.second_low : 0x80;
    uint8_t high = n == 1 ? rule.second_high : 0xBF;
    if (b < low || b > high) break;
    ++n;
  }
  return n;
}

}  // namespace

CodePoint decode_utf8(std::string_view text, size_t offset) {
  auto lead = static_cast<uint8_t>(text[offset]);
  if (lead < 0x80) return {lead, 1, true};
  LeadRule rule = rule_of(lead);
  if (rule.length == 0) return {kReplacement, 1, false};
  size_t n = matching_bytes(text, offset, rule);
  if (n < rule.length) return {kReplacement, static_cast<uint8_t>(n), false};
  char32_t value = lead & (0xFF >> (rule.length + 1));
  for (size_t i = 1; i < n; ++i) value = (value << 6) | (static_cast<uint8_t>(text[offset + i]) & 0x3F);
  return {value, rule.length, true};
}

void append_utf8(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    CodePoint c = decode_utf8(text, i);
    if (!c.valid) return false;
    i += c.length;
  }
  return true;
}

size_t incomplete_utf8_suffix(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    size_t at = text.size() - back;
    auto lead = static_cast<uint8_t>(text[at]);
    if ((lead & 0xC0) == 0x80) continue;
    LeadRule rule = rule_of(lead);
    bool open = rule.length > back && matching_bytes(text, at, rule) == back;
    return open ? back : 0;
  }
  return 0;
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    CodePoint c = decode_utf8(text, i);
    if (c.valid) {
      out.append(text.substr(i, c.length));
    } else {
      append_utf8(kReplacement, out);
    }
    i += c.length;
  }
  return out;
}

}  // namespace inferens
