// inferens rm: removes models from the store, and their bytes when no other model uses them.
#include <cstdio>

#include "base/environment.h"
#include "cli/flags.h"
#include "cli/progress_bar.h"
#include "cli/verbs.h"
#include "store/model_store.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Remove models from the store\n"
    "Bytes that another model uses too (see cp) stay.";
constexpr const char* kExamples = "  inferens rm smollm2\n  inferens rm --incomplete";

struct Flags {
  std::vector<std::string> names;
  bool incomplete = false;
};

Status rm(const Flags& flags) {
  if (flags.names.empty() && !flags.incomplete) return invalid_argument("rm needs the name of a model, or --incomplete; 'inferens list' shows the names");
  ModelStore store(home_directory());
  for (const std::string& name : flags.names) {
    auto freed = store.remove(name);
    if (!freed.ok()) return freed.status();
    std::printf("removed %s, %s freed\n", name.c_str(), human_bytes(*freed).c_str());
  }
  if (!flags.incomplete) return ok_status();
  auto freed = store.remove_incomplete();
  if (!freed.ok()) return freed.status();
  std::printf("removed unfinished pulls, %s freed\n", human_bytes(*freed).c_str());
  return ok_status();
}

}  // namespace

void add_rm(Verbs& verbs) {
  CLI::App& verb = verbs.add("rm", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  verb.add_option("MODEL", flags->names, "Names in the store")->type_name("");
  add_switch(verb, "--incomplete", flags->incomplete, "Remove what interrupted pulls left to go on with")->configurable(false);
  verbs.on_chosen(verb, [flags] { return rm(*flags); });
}

}  // namespace inferens
