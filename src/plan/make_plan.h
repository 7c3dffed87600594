// The plan of one attempt: a pure function of what was asked for (JobSpec) and what is there
// (Cluster). Nothing here reads a clock, a file or the process's own environment. Thread-safety:
// free functions on values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/environment.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// Under `dlaunch exec`: what the launcher that started this process has settled (foreign/).
struct OuterLauncher {
  std::string port_reason;               // of MASTER_PORT
  bool cores_are_own = false;            // the cores of the facts are for this rank alone
  std::optional<std::uint32_t> threads;  // cores that it gave to each rank
};

/// What a plan needs besides the job and the cluster.
struct PlanContext {
  std::string
      run_id;  // "20261120-210142-k3f"; "" when nothing will be started: shown as a placeholder
  Attempt attempt;
  Environment launcher_env;    // the caller's environment
  std::string current_folder;  // absolute; base of a relative workdir
  std::string run_folder;      // absolute; "" when nothing will be started: shown as a placeholder
  std::optional<OuterLauncher> outer;  // nullopt: dlaunch starts the ranks itself
};

/// Who runs where, with which command, cores, GPUs and variables.
/// Errors: exit_code::kJobFile when the job does not fit the nodes or two of them are one machine,
/// exit_code::kPreflight when a port that was chosen is taken or none is free.
[[nodiscard]] Result<LaunchPlan> make_plan(const JobSpec&, const Cluster&, const PlanContext&);

/// How many nodes, the first ones, the ranks of such a plan would have to reach each other on:
/// where they meet is then to be tried before the plan is made (plan/candidates.h, plan/reach.h).
/// 0: one node, or nobody is told where to meet. Errors: as make_plan(), where the job does not
/// fit.
[[nodiscard]] Result<std::size_t> nodes_to_meet(const JobSpec&, const Cluster&, const PlanContext&);

/// Names of variables that such a job leaves as they are where they are set on a node: their values
/// are asked for with the facts.
[[nodiscard]] std::vector<std::string> kept_variables(const JobSpec&);

/// Where the attempt's output and files are: "RUN FOLDER/attempt-0".
[[nodiscard]] std::string attempt_folder(const PlanContext&);

/// How many free ports each node's agent must find and hold before the plan is made. An upper
/// bound, the same for every node: the ranks of a node are not known before its facts are.
[[nodiscard]] std::uint32_t ports_wanted(const JobSpec&);

/// Ports that the user chose by number: the agent holds them, or says who has them.
[[nodiscard]] std::vector<std::uint16_t> fixed_ports(const JobSpec&);

/// Names and values of `env_secret`, from the launcher's environment. They are in no plan: they
/// travel to the agents beside it. Names that `env` of the job sets are left out, because `env`
/// wins.
[[nodiscard]] Environment secret_environment(const JobSpec&, const Environment& launcher_env);

/// Name -> value of all variables but secrets that every rank of the node gets;
/// LaunchPlan::variables, then NodePlan::variables, later wins.
[[nodiscard]] Environment shared_environment(const LaunchPlan&, NodeIndex);

/// Name -> value of what is this rank's alone; it goes on top of shared_environment.
[[nodiscard]] Environment own_environment(const RankPlan&);

}  // namespace dlaunch
