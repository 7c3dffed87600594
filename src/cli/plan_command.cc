#include <memory>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "launch/session/plan_preview.h"
#include "measure/check/preflight.h"
#include "os/own_machine.h"
#include "report/plan_json.h"
#include "report/plan_text.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch plan job.yaml                    which rank would run where, on which cores\n"
    "  dlaunch plan -n 4 --env 2 -- true        the variables of rank 2, with reasons\n"
    "  dlaunch plan job.yaml --json             for tools, with the facts of the nodes\n"
    "  dlaunch plan job.yaml --offline          before the nodes can be reached";

struct PlanCommand {
  JobOptions job;
  bool json = false;
  bool offline = false;
  std::optional<std::uint32_t> env_of;  // a rank

  int execute() {
    if (const Status taken = take_rank(); !taken) return print_error(taken.error());
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto loaded = load_job(job, *folder);
    if (!loaded) return print_error(loaded.error());
    if (const Status hosts = resolve_job_hosts(job, json, *loaded); !hosts)
      return print_error(hosts.error());
    settle_without_check(loaded->spec);
    const auto preview = preview_plan(loaded->spec, *folder, offline);
    if (!preview) return print_error(preview.error());
    const Cluster& cluster = preview->cluster;
    const LaunchPlan& plan = preview->plan;
    if (!env_of) return print_text(json ? plan_json(plan, &cluster) : plan_text(plan, cluster));
    if (*env_of >= plan.ranks.size())
      return print_error({exit_code::kUsage, "--env " + std::to_string(*env_of) +
                                                 ": the job has ranks 0 to " +
                                                 std::to_string(plan.ranks.size() - 1)});
    const Rank rank(*env_of);
    return print_text(json ? plan_env_json(plan, rank) : plan_env_text(plan, cluster, rank));
  }

  /// --env 2 shows the variables of rank 2; --env NAME=VALUE sets a variable, as everywhere.
  Status take_rank() {
    for (const std::string& word : job.env) {
      if (word.find('=') != std::string::npos) continue;
      constexpr std::size_t kDigits = 9;
      if (word.empty() || word.size() > kDigits ||
          word.find_first_not_of("0123456789") != std::string::npos)
        return fail(exit_code::kUsage, "--env " + word + ": expected a rank, or NAME=VALUE");
      env_of = static_cast<std::uint32_t>(std::stoul(word));
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
    options.flag("--json", plan->json, "The plan, or with --env the variables, as JSON");
    options.flag("--offline", plan->offline,
                 "Connect to no node; what only the nodes know is\nmarked ?");
  };
  return {"plan",
          "Show nodes, ranks, binding and variables; start nothing",
          kFooter,
          describe,
          [plan] { return plan->execute(); },
          true};
}

}  // namespace dlaunch
