// Reads Modelfiles: one instruction a line, with values over several lines in """.
#include <algorithm>
#include <charconv>
#include <map>

#include "base/utf8.h"
#include "serve/api/ollama_create.h"
#include "serve/json_writer.h"
#include "store/names.h"

namespace inferens {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const size_t end = text.find_last_not_of(kSpace);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

// The first word of `text`, and what follows it.
std::pair<std::string_view, std::string_view> first_word(std::string_view text) {
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  return {text.substr(0, end), trimmed(text.substr(end))};
}

Refusal bad_line(size_t number, const std::string& why) { return bad_field("modelfile", "invalid_value", "line " + std::to_string(number) + " of the Modelfile: " + why); }

struct Reader {
  std::string_view rest;
  size_t line_number = 0;

  bool next(std::string_view& line) {
    if (rest.empty()) return false;
    const size_t end = std::min(rest.find('\n'), rest.size());
    line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line_number;
    return true;
  }
};

// The value behind an instruction: a line, perhaps in quotes, or lines between """. False: """ without an end.
bool read_value(Reader& reader, std::string_view start, std::string& value) {
  if (!start.starts_with(kQuotes)) {
    if (start.size() >= 2 && start.front() == '"' && start.back() == '"') start = start.substr(1, start.size() - 2);
    value = start;
    return true;
  }
  const char* const from = start.data() + kQuotes.size();
  const std::string_view all(from, static_cast<size_t>(reader.rest.data() + reader.rest.size() - from));
  const size_t end = all.find(kQuotes);
  if (end == std::string_view::npos) return false;
  value = all.substr(0, end);
  reader.line_number += static_cast<size_t>(std::count(value.begin(), value.end(), '\n'));
  reader.rest = all.substr(end + kQuotes.size());
  std::string_view ignored;
  reader.next(ignored);
  --reader.line_number;
  return true;
}

const FieldInfo* option(std::string_view name) {
  for (const auto& table : ollama_option_tables()) {
    for (const OllamaField& field : table) {
      if (field.info.name == name) return &field.info;
    }
  }
  return nullptr;
}

// The value as JSON, of the kind that the option has.
Refusal parameter_value(size_t line, std::string_view name, std::string_view value, std::string& json) {
  const FieldInfo* const field = option(name);
  if (field == nullptr) return bad_line(line, "there is no parameter '" + printable(name) + "'");
  if ((field->kinds & (kString | kArray)) != 0 && name == "stop") {
    JsonWriter(json).string(repair_utf8(value));
    return {};
  }
  double number = 0;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = end.ec == std::errc() && end.ptr == value.data() + value.size();
  if (!is_number && value != "true" && value != "false") return bad_line(line, "the value of '" + printable(name) + "' is not a number, true or false");
  json = value;
  return {};
}

}  // namespace

Refusal check_parameters(const std::string& parameters_json) {
  JsonDocument document;
  if (Refusal r = document.parse(parameters_json)) return r;
  OllamaCall ignored;
  return parse_fields<OllamaCall>(document.root(), ollama_option_tables(), "parameters.", false, ignored);
}

Refusal parse_modelfile(std::string_view text, OllamaCreation& creation) {
  std::map<std::string, std::string, std::less<>> parameters;  // name to JSON
  std::vector<std::string> stops;
  std::vector<std::pair<std::string, std::string>> messages;  // role, content
  Reader reader{text};
  std::string_view line;
  while (reader.next(line)) {
    if (line.empty() || line.front() == '#') continue;
    const size_t number = reader.line_number;
    auto [word, rest] = first_word(line);
    const std::string instruction = ascii_lower(word);
    std::string_view name;
    if (instruction == "parameter" || instruction == "message") std::tie(name, rest) = first_word(rest);
    std::string value;
    if (!read_value(reader, rest, value)) return bad_line(number, "\"\"\" without an end");
    if (instruction == "from") {
      creation.from = value;
    } else if (instruction == "system") {
      creation.system = value;
    } else if (instruction == "license") {
      creation.license = creation.license ? *creation.license + "\n" + value : value;
    } else if (instruction == "message") {
      messages.emplace_back(name, value);
    } else if (instruction == "parameter") {
      std::string json;
      if (Refusal r = parameter_value(number, name, value, json)) return r;
      name == "stop" ? stops.push_back(std::move(json)) : void(parameters[std::string(name)] = std::move(json));
    } else if (instruction == "template" || instruction == "adapter") {
      return unsupported_field("modelfile", "line " + std::to_string(number) + ", " + instruction + ": templates are the model's own Jinja, and there are no adapters");
    } else {
      return bad_line(number, "there is no instruction '" + printable(word) + "'");
    }
  }
  if (!parameters.empty() || !stops.empty()) {
    std::string json;
    JsonWriter writer(json);
    writer.begin_object();
    for (const auto& [key, value] : parameters) writer.key(key).raw(value);
    if (!stops.empty()) {
      writer.key("stop").begin_array();
      for (const std::string& stop : stops) writer.raw(stop);
      writer.end_array();
    }
    writer.end_object();
    if (Refusal r = check_parameters(json)) return r;
    creation.parameters_json = std::move(json);
  }
  if (!messages.empty()) {
    std::string json;
    JsonWriter writer(json);
    writer.begin_array();
    for (const auto& [role, content] : messages) {
      if (role != "system" && role != "user" && role != "assistant") return bad_field("modelfile", "invalid_value", "a MESSAGE of the Modelfile must have the role system, user or assistant");
      writer.begin_object().field("role", role).field("content", repair_utf8(content)).end_object();
    }
    writer.end_array();
    creation.messages_json = std::move(json);
  }
  return {};
}

}  // namespace inferens
