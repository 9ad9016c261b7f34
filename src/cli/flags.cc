#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/environment.h"

namespace inferens {
namespace {

template <class T>
std::optional<T> parse_whole(const std::string& text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string shown(int64_t v) { return std::to_string(v); }
std::string shown(double v) {
  std::array<char, 32> buffer;
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return std::string(buffer.data(), end);
}

template <class T>
std::string range(T low, T high) {
  if (low == static_cast<T>(kAboveZero) && low > T{0}) return " above 0 and at most " + shown(high);
  return " from " + shown(low) + " to " + shown(high);
}

template <class T>
void set_number(const std::string& flag, const std::string& text, std::optional<T>& out, T low, T high, const char* kind) {
  auto value = parse_whole<T>(text);
  // Written so that NaN is refused too.
  if (!value || !(*value >= low && *value <= high)) throw CLI::ValidationError(flag, "'" + text + "' is not " + kind + range(low, high));
  out = value;
}

bool is_true(const std::string& text) { return text == "true" || text == "1" || text == "yes" || text == "on"; }
bool is_false(const std::string& text) { return text == "false" || text == "0" || text == "no" || text == "off"; }

// "top-k" to "top_k": how a flag is called in config.toml and, in upper case, in the environment.
std::string setting_name(const CLI::Option& option) {
  if (option.get_lnames().empty()) return "";
  std::string name = option.get_lnames().front();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// What can be said once and for all; --help, --version and what names one pull's own target cannot.
bool is_setting(const CLI::Option& option) { return !setting_name(option).empty() && option.get_configurable(); }

Status give(CLI::Option& option, const std::string& value, const std::string& place) {
  try {
    if (option.get_expected_min() == 0 && !is_true(value) && !is_false(value)) throw CLI::ValidationError(option.get_name(), "'" + value + "' is not true or false");
    option.clear();
    option.add_result(value);
    option.run_callback();
    return ok_status();
  } catch (const CLI::Error& e) {
    return invalid_argument(place + ": " + e.what());
  }
}

// A verb's section of config.toml; the kinds of a verb share it.
const std::string& section_of(const CLI::App& verb) {
  const CLI::App* top = &verb;
  while (top->get_parent() != nullptr && top->get_parent()->get_parent() != nullptr) top = top->get_parent();
  return top->get_name();
}

bool has_setting(const CLI::App& verb, const std::string& name) {
  for (const CLI::Option* option : verb.get_options()) {
    if (is_setting(*option) && setting_name(*option) == name) return true;
  }
  for (const CLI::App* kind : verb.get_subcommands([](const CLI::App*) { return true; })) {
    if (has_setting(*kind, name)) return true;
  }
  return false;
}

}  // namespace

CLI::Option* add_integer(CLI::App& app, const std::string& flag, std::optional<int64_t>& out, int64_t low, int64_t high, const std::string& help) {
  return app.add_option_function<std::string>(flag, [flag, &out, low, high](const std::string& text) { set_number<int64_t>(flag, text, out, low, high, "a whole number"); }, help)->type_name("N");
}

CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<double>& out, double low, double high, const std::string& help) {
  return app.add_option_function<std::string>(flag, [flag, &out, low, high](const std::string& text) { set_number<double>(flag, text, out, low, high, "a number"); }, help)->type_name("X");
}

CLI::Option* add_text(CLI::App& app, const std::string& flag, std::string& out, const std::string& value, const std::string& help) {
  return app.add_option_function<std::string>(flag, [&out](const std::string& text) { out = text; }, help)->type_name(value);
}

CLI::Option* add_texts(CLI::App& app, const std::string& flag, std::vector<std::string>& out, const std::string& value, const std::string& help) {
  // One value each time the flag stands there: a value may be anything, also something that looks like another argument.
  return app.add_option(flag, out, help)->type_name(value)->type_size(1)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
}

CLI::Option* add_choice(CLI::App& app, const std::string& flag, std::string& out, const std::vector<std::string>& choices, const std::string& help) {
  std::string list;
  for (const std::string& c : choices) list += (list.empty() ? "" : "|") + c;
  auto set = [flag, &out, choices, list](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) throw CLI::ValidationError(flag, "'" + text + "' is not one of " + list);
    out = text;
  };
  return app.add_option_function<std::string>(flag, set, help)->type_name(list);
}

CLI::Option* add_switch(CLI::App& app, const std::string& flag, bool& out, const std::string& help) { return app.add_flag(flag, out, help); }

CLI::Option* add_argument(CLI::App& app, const std::string& name, std::string& out, const std::string& help, bool required) {
  return app.add_option(name, out, help)->required(required)->type_name("");
}

Status set_flag(CLI::App& verb, const std::string& name, const std::string& value, const std::string& place) {
  CLI::Option* option = verb.get_option_no_throw("--" + name);
  if (option == nullptr) return invalid_argument(place + ": there is no setting '" + name + "'");
  return give(*option, value, place);
}

Status apply_defaults(CLI::App& verb, const Config& config) {
  for (CLI::Option* option : verb.get_options()) {
    if (!is_setting(*option) || option->count() > 0) continue;
    std::string name = setting_name(*option);
    if (auto value = environment_flag(upper(name))) {
      if (Status s = give(*option, *value, "INFERENS_" + upper(name)); !s.ok()) return s;
    } else if (const Config::Entry* entry = config.find(section_of(verb), name)) {
      if (Status s = give(*option, entry->value, config.place(*entry)); !s.ok()) return s;
    }
  }
  return ok_status();
}

Status check_config_keys(CLI::App& app, const Config& config) {
  for (const Config::Entry& entry : config.entries()) {
    bool known_section = entry.section.empty();
    bool known_key = false;
    for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
      if (!entry.section.empty() && verb->get_name() != entry.section) continue;
      known_section = true;
      known_key = known_key || has_setting(*verb, entry.key);
    }
    if (!known_section) return invalid_argument(config.place(entry) + ": [" + entry.section + "] is not a verb; sections are named after verbs, such as [run]");
    if (!known_key) return invalid_argument(config.place(entry) + ": '" + entry.key + "' is not a setting; settings are flags without the dashes, such as temperature or max_tokens");
  }
  return ok_status();
}

}  // namespace inferens
