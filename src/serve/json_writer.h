// Writes JSON text into a string: the small, quick way out for answers and streamed chunks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace inferens {

// Calls must form one value; commas are put in by the writer. Strings are valid UTF-8 (repair_utf8 what may not be).
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& integer(int64_t value);
  JsonWriter& number(double value);  // the shortest text that reads back the same; what is not finite is null
  JsonWriter& number(float value);   // the same, read back as a float
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // one value that is JSON already

  // Members of the open object that are JSON already: "a":1,"b":2. Empty: none.
  JsonWriter& members(std::string_view json) { return json.empty() ? *this : raw(json); }

  JsonWriter& field(std::string_view name, std::string_view text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, const char* text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, int64_t value) { return key(name).integer(value); }
  JsonWriter& field(std::string_view name, int32_t value) { return key(name).integer(value); }
  JsonWriter& field(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& field(std::string_view name, bool value) { return key(name).boolean(value); }
  JsonWriter& null_field(std::string_view name) { return key(name).null(); }

 private:
  JsonWriter& open(char c);
  JsonWriter& close(char c);
  void separate();

  std::string& out_;
  bool comma_ = false;
};

}  // namespace inferens
