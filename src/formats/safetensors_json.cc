#include "formats/safetensors_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "formats/file_kind.h"

namespace inferens {
namespace {

using nlohmann::json;

constexpr size_t kMaxTensors = 1 << 18;  // real checkpoints: a few thousand; unmerged experts: some tens of thousands
constexpr size_t kMaxDimensions = 8;     // real tensors: at most 5

// A handler of JSON events in which every event is refused until a subclass allows it. Events carry the path of keys by
// which the subclass knows where it is; arrays add no key.
class FlatJson : public nlohmann::json_sax<json> {
 public:
  Status run(std::string_view text) {
    const bool complete = json::sax_parse(text.begin(), text.end(), this);
    if (complete) return ok_status();
    return error_.ok() ? data_loss("its JSON is not as the format asks") : error_;
  }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a bool"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_unsigned(number_unsigned_t) override { return refuse("a number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a number with a fraction"); }
  bool string(string_t&) override { return refuse("a string"); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_array(size_t) override { return refuse("an array"); }
  bool end_array() override { return true; }
  bool start_object(size_t) override {
    depth_ += 1;
    return depth_ <= max_depth_ || refuse("an object");
  }
  bool end_object() override {
    depth_ -= 1;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail("its JSON is broken at byte " + std::to_string(position));
  }

 protected:
  explicit FlatJson(int max_depth) : max_depth_(max_depth) {}
  bool refuse(std::string_view what) {
    return fail("its JSON has " + std::string(what) + " under " + quote_name(where_) + " where the format has none");
  }
  bool fail(std::string reason) {
    if (error_.ok()) error_ = data_loss(std::move(reason));
    return false;
  }

  int depth_ = 0;      // open objects
  std::string where_;  // the last key, for errors

 private:
  int max_depth_;
  Status error_;
};

// {"__metadata__": {key: text…}, name: {"dtype": text, "shape": [n…], "data_offsets": [begin, end]}…}
class HeaderJson final : public FlatJson {
 public:
  explicit HeaderJson(SafetensorsHeader& out) : FlatJson(2), out_(out) {}

  bool key(string_t& name) override {
    where_ = name;
    return depth_ == 1 ? start_entry(name) : in_metadata_ ? start_text(name) : start_field(name);
  }
  bool string(string_t& text) override {
    if (depth_ != 2) return refuse("a string");
    if (in_metadata_) {
      *metadata_value_ = std::move(text);
      return true;
    }
    if (field_ != Field::kDtype) return refuse("a string");
    entry_->dtype = std::move(text);
    return true;
  }
  bool start_array(size_t) override {
    in_array_ = depth_ == 2 && !in_metadata_ && !in_array_ && (field_ == Field::kShape || field_ == Field::kOffsets);
    return in_array_ || refuse("an array");
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) return refuse("a number");
    auto& numbers = field_ == Field::kShape ? entry_->shape : entry_->data_offsets;
    if (numbers.size() == kMaxDimensions) return refuse("too many numbers");
    numbers.push_back(value);
    return true;
  }
  bool start_object(size_t size) override { return !in_array_ && FlatJson::start_object(size); }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata_ && fields_seen_ != kAllFields) {
      return fail("tensor " + quote_name(tensor_) + " lacks dtype, shape or data_offsets");
    }
    if (depth_ == 2 && !in_metadata_ && entry_->data_offsets.size() != 2) {
      return fail("tensor " + quote_name(tensor_) + " has data_offsets that are not two numbers");
    }
    in_metadata_ = false;
    entry_ = nullptr;
    return FlatJson::end_object();
  }

 private:
  enum class Field { kNone = 0, kDtype = 1, kShape = 2, kOffsets = 4 };
  static constexpr int kAllFields = 7;

  bool start_entry(const std::string& name) {
    if (name == "__metadata__") {
      in_metadata_ = true;
      return !std::exchange(metadata_seen_, true) || fail("'__metadata__' appears twice");
    }
    if (out_.tensors.size() == kMaxTensors) return fail("it has more than " + std::to_string(kMaxTensors) + " tensors");
    const auto [it, is_new] = out_.tensors.try_emplace(name);
    tensor_ = name;
    entry_ = &it->second;
    fields_seen_ = 0;
    field_ = Field::kNone;
    return is_new || fail("tensor " + quote_name(name) + " appears twice");
  }
  bool start_text(const std::string& name) {
    const auto [it, is_new] = out_.metadata.try_emplace(name);
    metadata_value_ = &it->second;
    return is_new || fail("metadata key " + quote_name(name) + " appears twice");
  }
  bool start_field(const std::string& name) {
    field_ = name == "dtype"          ? Field::kDtype
             : name == "shape"        ? Field::kShape
             : name == "data_offsets" ? Field::kOffsets
                                      : Field::kNone;
    const int bit = static_cast<int>(field_);
    if (bit == 0 || (fields_seen_ & bit) != 0)
      return fail("tensor " + quote_name(tensor_) + " has an unexpected or doubled field " + quote_name(name));
    fields_seen_ |= bit;
    return true;
  }

  SafetensorsHeader& out_;
  bool metadata_seen_ = false, in_metadata_ = false, in_array_ = false;
  std::string tensor_;
  SafetensorsEntry* entry_ = nullptr;
  std::string* metadata_value_ = nullptr;
  Field field_ = Field::kNone;
  int fields_seen_ = 0;
};

// {"metadata": {anything flat}, "weight_map": {tensor: file…}}
class IndexJson final : public FlatJson {
 public:
  explicit IndexJson(std::map<std::string, std::string>& out) : FlatJson(2), out_(out) {}

  bool key(string_t& name) override {
    where_ = name;
    if (depth_ == 1) {
      in_map_ = name == "weight_map";
      return true;
    }
    if (!in_map_) return true;
    if (out_.size() == kMaxTensors) return fail("it has more than " + std::to_string(kMaxTensors) + " tensors");
    const auto [it, is_new] = out_.try_emplace(name);
    file_ = &it->second;
    return is_new || fail("tensor " + quote_name(name) + " appears twice");
  }
  bool string(string_t& text) override {
    if (!in_map_) return true;
    if (depth_ != 2) return refuse("a string");
    // The index says which files are opened: it must not reach outside its folder.
    if (text.empty() || text == "." || text == ".." ||
        text.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      return fail("file name " + quote_name(text) + " is not a plain name");
    }
    *file_ = std::move(text);
    return true;
  }
  bool null() override { return !in_map_ || refuse("null"); }
  bool boolean(bool) override { return !in_map_ || refuse("a bool"); }
  bool number_integer(number_integer_t) override { return !in_map_ || refuse("a number"); }
  bool number_unsigned(number_unsigned_t) override { return !in_map_ || refuse("a number"); }
  bool number_float(number_float_t, const string_t&) override { return !in_map_ || refuse("a number"); }

 private:
  std::map<std::string, std::string>& out_;
  bool in_map_ = false;
  std::string* file_ = nullptr;
};

}  // namespace

StatusOr<SafetensorsHeader> parse_safetensors_header(std::string_view json_text) {
  SafetensorsHeader header;
  if (Status s = HeaderJson(header).run(json_text); !s.ok()) return s;
  return header;
}

StatusOr<std::map<std::string, std::string>> parse_safetensors_index(std::string_view json_text) {
  std::map<std::string, std::string> files;
  if (Status s = IndexJson(files).run(json_text); !s.ok()) return s;
  if (files.empty()) return data_loss("its JSON has no 'weight_map'");
  return files;
}

}  // namespace inferens
