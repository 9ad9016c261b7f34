// inferens cp: a second name for a model.
#include "base/environment.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "store/model_store.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Give a model in the store a second name\n"
    "Takes no space: both names share the same bytes until the last one is removed.";

struct Flags {
  std::string from;
  std::string to;
};

}  // namespace

void add_cp(Verbs& verbs) {
  CLI::App& verb = verbs.add("cp", kDescription, "  inferens cp smollm2 assistant:v1");
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "FROM", flags->from, "A name in the store", true);
  add_argument(verb, "TO", flags->to, "The new name, NAME or NAME:TAG", true);
  verbs.on_chosen(verb, [flags] { return ModelStore(home_directory()).copy(flags->from, flags->to); });
}

}  // namespace inferens
