#include "store/names.h"

#include <algorithm>

namespace inferens {
namespace {

constexpr size_t kMaxNamePart = 96;
constexpr size_t kMaxFileName = 128;
constexpr size_t kMaxPrinted = 120;
constexpr std::string_view kDigestPrefix = "sha256:";

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; }

void drop_suffix(std::string& text, std::string_view suffix) {
  if (text.size() > suffix.size() && text.ends_with(suffix)) text.resize(text.size() - suffix.size());
}

// "-00001-of-00005": what the format's own tools append to the parts of a split model.
void drop_split_suffix(std::string& text) {
  constexpr std::string_view kPattern = "-#####-of-#####";
  if (text.size() <= kPattern.size()) return;
  std::string_view tail = std::string_view(text).substr(text.size() - kPattern.size());
  for (size_t i = 0; i < kPattern.size(); ++i) {
    if (kPattern[i] == '#' ? !is_digit(tail[i]) : tail[i] != kPattern[i]) return;
  }
  text.resize(text.size() - kPattern.size());
}

}  // namespace

bool is_name_part(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNamePart && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(), is_name_character) && text.find("..") == std::string_view::npos;
}

StatusOr<std::string> parse_model_name(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  std::string_view tag = colon == std::string_view::npos ? std::string_view("latest") : text.substr(colon + 1);
  if (!is_name_part(name) || !is_name_part(tag)) {
    return invalid_argument("'" + printable(text) + "' is not a model name: use NAME or NAME:TAG of letters, digits, '.', '_' and '-', at most 96 characters each");
  }
  if (tag == "latest") return std::string(name);
  return std::string(text);
}

bool is_sha256_digest(std::string_view text) {
  if (text.size() != kDigestPrefix.size() + 64 || !text.starts_with(kDigestPrefix)) return false;
  text.remove_prefix(kDigestPrefix.size());
  return std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string blob_file_name(std::string_view digest) { return "sha256-" + std::string(digest.substr(kDigestPrefix.size())); }

std::string safe_file_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  size_t slash = path.find_last_of("/\\");
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  if (path.size() > kMaxFileName) path.remove_prefix(path.size() - kMaxFileName);
  std::string name(path);
  std::replace_if(name.begin(), name.end(), [](char c) { return !is_name_character(c); }, '-');
  size_t start = name.find_first_not_of('.');
  return start == std::string::npos ? "file" : name.substr(start);
}

std::string model_name_from(std::string_view text) {
  std::string name = ascii_lower(safe_file_name(text));
  drop_suffix(name, ".gguf");
  drop_split_suffix(name);
  drop_suffix(name, "-gguf");
  if (name.size() > kMaxNamePart) name.resize(kMaxNamePart);
  for (size_t dots = name.find(".."); dots != std::string::npos; dots = name.find("..")) name.erase(dots, 1);
  auto start = std::find_if(name.begin(), name.end(), is_alphanumeric);
  name.erase(name.begin(), start);
  return name.empty() ? "model" : name;
}

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, kMaxPrinted));
  for (char& c : shown) {
    if (c < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > kMaxPrinted) shown += "…";
  return shown;
}

}  // namespace inferens
