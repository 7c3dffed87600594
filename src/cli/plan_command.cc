#include <memory>

#include "cli/commands.h"
#include "cli/hosts.h"
#include "cli/job_options.h"
#include "cli/preflight.h"
#include "cli/print.h"
#include "cli/show_plan.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch plan job.yaml                    who would run where, with which cores\n"
    "  dlaunch plan -n 4 --env 2 -- true        the variables of rank 2, with reasons\n"
    "  dlaunch plan job.yaml --json             for tools, with the facts of the nodes\n"
    "  dlaunch plan job.yaml --offline          before the nodes can be reached";

struct PlanCommand {
  JobOptions job;
  PlanView view;

  int execute() {
    if (const Status taken = take_rank(); !taken) return print_error(taken.error());
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto loaded = load_job(job, *folder);
    if (!loaded) return print_error(loaded.error());
    if (const Status hosts = resolve_job_hosts(job, view.json, *loaded); !hosts)
      return print_error(hosts.error());
    settle_without_check(loaded->spec);
    return show_plan(loaded->spec, *folder, view);
  }

  /// --env 2 asks for the variables of rank 2; --env NAME=VALUE sets one, as everywhere.
  Status take_rank() {
    for (const std::string& word : job.env) {
      if (word.find('=') != std::string::npos) continue;
      constexpr std::size_t kDigits = 9;
      if (word.empty() || word.size() > kDigits ||
          word.find_first_not_of("0123456789") != std::string::npos)
        return fail(exit_code::kUsage, "--env " + word + ": expected a rank, or NAME=VALUE");
      view.env_of = static_cast<std::uint32_t>(std::stoul(word));
    }
    std::erase_if(job.env,
                  [](const std::string& word) { return word.find('=') == std::string::npos; });
    return {};
  }
};

}  // namespace

Subcommand plan_command(const TrailingArguments& arguments) {
  auto plan = std::make_shared<PlanCommand>();
  plan->job.arguments = arguments;
  const auto describe = [plan](CommandOptions options) {
    add_job_options(options, plan->job);
    options.flag("--json", plan->view.json, "The plan, or with --env the variables, as JSON");
    options.flag("--offline", plan->view.offline,
                 "Connect to nobody: what would be asked of the nodes\nis marked as not known");
  };
  return {"plan",
          "Show nodes, ranks, binding and variables; start nothing",
          kFooter,
          describe,
          [plan] { return plan->execute(); },
          true};
}

}  // namespace dlaunch
