// hf: sources: the tree of a repository tells names, sizes and SHA-256 of its files; the file itself comes from its
// "resolve" address. Source: the hub's public API documentation.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "store/fetchers.h"
#include "store/incoming_file.h"
#include "store/names.h"

namespace inferens {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTreePage = size_t{16} << 20;
constexpr int kMaxTreePages = 50;

struct HubFile {
  std::string path;
  uint64_t bytes = 0;
  std::string digest;  // empty for small files, which the hub keeps under another kind of hash
};

std::string encoded_path(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : path) {
    bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return out;
}

// The address in `<address>; rel="next"`, or empty.
std::string next_page(const std::string& link) {
  size_t rel = link.find("rel=\"next\"");
  size_t open = link.rfind('<', rel);
  if (rel == std::string::npos || open == std::string::npos) return "";
  size_t close = link.find('>', open);
  return close < rel ? link.substr(open + 1, close - open - 1) : "";
}

StatusOr<std::vector<HubFile>> gguf_files_of(const std::string& page, const std::string& url) {
  Json json = Json::parse(page, nullptr, false);
  if (!json.is_array()) return data_loss("'" + printable(url) + "' did not answer with a list of files; check that the endpoint is a hub");
  std::vector<HubFile> files;
  for (const Json& entry : json) {
    if (!entry.is_object() || entry.value("type", Json()) != "file") continue;
    auto path = entry.find("path");
    auto size = entry.find("size");
    if (path == entry.end() || !path->is_string() || size == entry.end() || !size->is_number_unsigned()) continue;
    HubFile file{path->get<std::string>(), size->get<uint64_t>(), ""};
    if (!ascii_lower(file.path).ends_with(".gguf")) continue;
    auto lfs = entry.find("lfs");
    if (lfs != entry.end() && lfs->is_object() && lfs->value("oid", Json()).is_string()) {
      file.digest = "sha256:" + lfs->at("oid").get<std::string>();
      if (!is_sha256_digest(file.digest)) return data_loss("the hub gives '" + printable(file.path) + "' a hash that is not a SHA-256");
    }
    files.push_back(std::move(file));
  }
  return files;
}

StatusOr<std::vector<HubFile>> list_gguf_files(const Source& source, FetchContext& context) {
  HttpGet request;
  request.url = context.options.hub_endpoint + "/api/models/" + source.owner + "/" + source.repository + "/tree/" + source.revision + "?recursive=true";
  request.bearer_token = context.options.hub_token;
  std::vector<HubFile> all;
  for (int page = 0; page < kMaxTreePages; ++page) {
    auto answer = http_get_text(request, kMaxTreePage, context.options.http);
    if (!answer.ok()) return answer.status();
    auto files = gguf_files_of(answer->body, request.url);
    if (!files.ok()) return files.status();
    all.insert(all.end(), files->begin(), files->end());
    std::string next = next_page(answer->link);
    if (next.empty()) return all;
    if (!is_same_origin(next, request.url)) return data_loss("the hub continues its list of files at another server, which is not followed");
    request.url = next;
  }
  return data_loss("the hub's list of files of " + source.text + " does not end");
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// The first part of every model in the list: a split model counts once. Files of vision projectors are no models.
std::vector<HubFile> candidates_of(const std::vector<HubFile>& files) {
  std::vector<HubFile> candidates;
  for (const HubFile& f : files) {
    std::string name = base_name(f.path);
    if (split_part_names(name).front() == name && !ascii_lower(name).starts_with("mmproj")) candidates.push_back(f);
  }
  return candidates;
}

Status ambiguous(const std::vector<HubFile>& files, const Source& source) {
  std::string names;
  for (size_t i = 0; i < files.size() && i < 12; ++i) names += (i == 0 ? "" : ", ") + printable(files[i].path);
  return invalid_argument(source.text + " means several files (" + names + (files.size() > 12 ? ", …" : "") + "); name one: hf:" + source.owner + "/" + source.repository + ":FILE");
}

// The named file, or the one whose name holds the word; without a name the only one, or the best-known trade of size
// against quality.
StatusOr<HubFile> choose(const std::vector<HubFile>& files, const Source& source) {
  std::vector<HubFile> candidates = candidates_of(files);
  if (candidates.empty()) return not_found(source.text + " has no .gguf file; choose a repository with GGUF files, often named …-GGUF");
  if (!source.file.empty()) {
    for (const HubFile& f : candidates) {
      if (f.path == source.file) return f;
    }
    std::string word = ascii_lower(source.file);
    std::erase_if(candidates, [&](const HubFile& f) { return ascii_lower(f.path).find(word) == std::string::npos; });
    if (candidates.empty()) return not_found(source.text + ": no .gguf file of that name; 'hf:" + source.owner + "/" + source.repository + "' chooses one");
    if (candidates.size() == 1) return candidates.front();
    return ambiguous(candidates, source);
  }
  if (candidates.size() == 1) return candidates.front();
  for (std::string_view word : {"q4_k_m", "q5_k_m", "q8_0", "q4_0"}) {
    auto found = std::find_if(candidates.begin(), candidates.end(), [&](const HubFile& f) { return ascii_lower(f.path).find(word) != std::string::npos; });
    if (found != candidates.end()) return *found;
  }
  return ambiguous(candidates, source);
}

StatusOr<StoredFile> download(const HubFile& file, const Source& source, const std::string& expected, FetchContext& context) {
  StoredFile stored{"model", safe_file_name(base_name(file.path)), expected, file.bytes};
  if (!expected.empty() && context.store.has_blob(expected, file.bytes)) return stored;
  std::string key = !expected.empty() ? blob_file_name(expected) : "hf-" + blob_file_name(sha256_digest(source.owner + "/" + source.repository + "@" + source.revision + ":" + file.path));
  auto incoming = IncomingFile::open(context.store.home(), key, context.progress);
  if (!incoming.ok()) return incoming.status();
  if (!expected.empty() && context.store.has_blob(expected, file.bytes)) {  // another pull was waited for
    incoming->discard();
    return stored;
  }
  HttpGet request;
  request.url = context.options.hub_endpoint + "/" + source.owner + "/" + source.repository + "/resolve/" + source.revision + "/" + encoded_path(file.path);
  request.bearer_token = context.options.hub_token;
  if (Status s = http_download(request, file.bytes, stored.name, *incoming, context.options.http, context.progress); !s.ok()) return s;
  auto digest = incoming->finish(expected);
  if (!digest.ok()) return digest.status().with_context(printable(file.path));
  stored.digest = *digest;
  return stored;
}

}  // namespace

FetchedFiles fetch_hub(const Source& source, FetchContext& context) {
  if (context.options.hub_endpoint.empty()) {
    return failed_precondition("hf: sources need to know which hub: set HF_ENDPOINT (or hf_endpoint in config.toml) to its https:// address and pull again");
  }
  auto files = list_gguf_files(source, context);
  if (!files.ok()) return files.status();
  auto chosen = choose(*files, source);
  if (!chosen.ok()) return chosen.status();
  context.progress.note("file " + printable(chosen->path));
  std::string folder = chosen->path.substr(0, chosen->path.size() - base_name(chosen->path).size());
  std::vector<std::string> parts = split_part_names(base_name(chosen->path));
  if (parts.size() > 1 && !context.options.sha256.empty()) return invalid_argument("--sha256 is for a model in one file; " + source.text + " has " + std::to_string(parts.size()));
  std::vector<StoredFile> stored;
  for (const std::string& part : parts) {
    auto file = std::find_if(files->begin(), files->end(), [&](const HubFile& f) { return f.path == folder + part; });
    if (file == files->end()) return data_loss(source.text + " lacks the part '" + printable(part) + "' of its model");
    auto one = download(*file, source, context.options.sha256.empty() ? file->digest : context.options.sha256, context);
    if (!one.ok()) return one.status();
    stored.push_back(std::move(one).value());
  }
  return stored;
}

}  // namespace inferens
