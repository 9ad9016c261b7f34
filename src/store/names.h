// What names from outside may look like before they touch a path or an address: model names, digests, file names, and the
// packages, repositories and tags of sources. Everything else in the store relies on these checks and repeats none.
#pragma once

#include <string>
#include <string_view>

#include "inferens/status.h"

namespace inferens {

// NAME[:TAG], each of 1 to 96 characters of [A-Za-z0-9._-] that starts with a letter or digit and has no "..".
// Returns the canonical form, in which the tag ":latest" is dropped. Such a name is one harmless path component.
StatusOr<std::string> parse_model_name(std::string_view text);

// The rule of one part of a model name, of an owner, repository or tag at a registry, and of a package.
bool is_name_part(std::string_view text);

// "sha256:" and exactly 64 lower-case hexadecimal digits; nothing else is ever used to make a path.
bool is_sha256_digest(std::string_view text);
// The blob's file name, "sha256-<hex>". `digest` satisfies is_sha256_digest.
std::string blob_file_name(std::string_view digest);

// The last path component of `path` with every character outside [A-Za-z0-9._-] replaced by '-', never empty, never with
// a leading dot, at most 128 characters (the end is kept, where extensions and part numbers are).
std::string safe_file_name(std::string_view path);

// Lower case, characters outside the model name's rule replaced, ".gguf", "-gguf" and a split suffix
// "-00001-of-00005" dropped: how a model is named when the user gives no name.
std::string model_name_from(std::string_view text);

// ASCII only, independent of the locale.
std::string ascii_lower(std::string_view text);
// For messages: control characters and bytes outside ASCII become '?', and long text is cut, so that a hostile name
// cannot break the one-line rule or drive the terminal.
std::string printable(std::string_view text);

}  // namespace inferens
