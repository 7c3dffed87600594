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

  int execute() const {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto loaded = load_job(job, *folder);
    if (!loaded) return print_error(loaded.error());
    if (const Status hosts = resolve_job_hosts(job, view.json, *loaded); !hosts)
      return print_error(hosts.error());
    settle_without_check(loaded->spec);
    return show_plan(loaded->spec, *folder, view);
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
    options.number("--env", plan->view.env_of, "The variables of one rank, with the reason of each",
                   "RANK");
  };
  return {"plan", "Show nodes, ranks, binding and variables; start nothing", kFooter, describe,
          [plan] { return plan->execute(); }};
}

}  // namespace dlaunch
