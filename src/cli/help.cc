#include "cli/help.h"

#include <sstream>

#include "base/utf8.h"

namespace inferens {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kHelpColumn = 30;

size_t columns_of(const std::string& text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); i += decode_utf8(text, i).length) ++columns;
  return columns;
}

// "  -v, --verbose X        what it does", the text beside or below.
std::string entry(const std::string& term, const std::string& description) {
  std::string line = std::string(kIndent, ' ') + term;
  std::string text = wrap(description, kHelpColumn);
  if (columns_of(line) + 2 > kHelpColumn) return line + "\n" + text;
  return line + (text.empty() ? "\n" : text.substr(columns_of(line)));
}

std::string term_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& s : option.get_snames()) names += "-" + s + ", ";
  for (const std::string& l : option.get_lnames()) names += "--" + l + ", ";
  if (names.empty()) return option.get_name(true);
  names.resize(names.size() - 2);
  std::string value = option.get_expected_min() == 0 ? "" : option.get_type_name();
  return value.empty() ? names : names + " " + value;
}

std::string usage_of(const CLI::App& app, const std::string& program) {
  std::string usage = program;
  if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) return usage + " VERB [FLAGS…] [ARGUMENTS…]";
  usage += " [FLAGS…]";
  for (const CLI::Option* o : app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    std::string name = o->get_name(true) + (o->get_expected_max() > 1 ? "…" : "");
    usage += o->get_required() ? " " + name : " [" + name + "]";
  }
  return usage;
}

std::string section(const std::string& title, const std::string& body) { return body.empty() ? "" : "\n" + title + "\n" + body; }

}  // namespace

std::string wrap(const std::string& text, size_t indent, size_t width) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string row;
    for (std::string word; words >> word;) {
      if (!row.empty() && indent + columns_of(row) + 1 + columns_of(word) > width) {
        out += std::string(indent, ' ') + row + "\n";
        row.clear();
      }
      row += (row.empty() ? "" : " ") + word;
    }
    out += row.empty() ? "\n" : std::string(indent, ' ') + row + "\n";
  }
  return out;
}

std::string verb_path(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  const bool has_path = parent != nullptr && parent->get_parent() != nullptr;
  return (has_path ? verb_path(*parent) + " " : "") + verb.get_name();
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const {
  std::string program = app->get_parent() == nullptr ? "inferens" : "inferens " + verb_path(*app);
  (void)name;  // CLI11 gives the path that the program was started with
  std::string help = wrap(app->get_description(), 0);
  help += section("USAGE", std::string(kIndent, ' ') + usage_of(*app, program) + "\n");
  std::string verbs;
  for (const CLI::App* verb : app->get_subcommands([](const CLI::App*) { return true; })) {
    std::string description = verb->get_description();
    verbs += entry(verb->get_name(), description.substr(0, description.find('\n')));
  }
  help += section("VERBS", verbs);
  std::string arguments;
  for (const CLI::Option* o : app->get_options([](const CLI::Option* o) { return o->get_positional(); })) arguments += entry(o->get_name(true), o->get_description());
  help += section("ARGUMENTS", arguments);
  for (const std::string& group : app->get_groups()) {
    std::string flags;
    for (const CLI::Option* o : app->get_options([&](const CLI::Option* o) { return !o->get_positional() && o->get_group() == group; })) flags += entry(term_of(*o), o->get_description());
    std::string title = group == "Options" ? "FLAGS" : group;
    if (!group.empty()) help += section(title, flags);
  }
  return help + (app->get_footer().empty() ? "" : "\n" + app->get_footer() + "\n");
}

}  // namespace inferens
