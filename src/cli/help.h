// How --help looks: sections like a manual page, 80 columns, flags in groups, examples at the end.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace inferens {

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

// "bench speed": the verb as it is typed.
std::string verb_path(const CLI::App& verb);

// Words of `text` in lines of at most `width` columns, each with `indent` spaces in front. Line breaks in the text stay.
std::string wrap(const std::string& text, size_t indent, size_t width = 80);

}  // namespace inferens
