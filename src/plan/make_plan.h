// The plan of one attempt: a pure function of the request (JobSpec) and the nodes (Cluster). It
// does not read a clock, a file or the process's own environment. Thread-safety: free functions on
// values.
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

/// Under `dlaunch exec`: the settings of the launcher that started this process.
struct OuterLauncher {
  std::string port_reason;               // of MASTER_PORT
  bool cores_are_own = false;            // the cores in NodeFacts belong to this rank alone
  std::optional<std::uint32_t> threads;  // cores that the outer launcher assigned to each rank
};

/// Inputs of a plan besides the job and the cluster.
struct PlanContext {
  std::string
      run_id;  // "20261120-210142-k3f"; "" if nothing will be started: a placeholder is shown
  Attempt attempt;
  Environment launcher_env;    // the caller's environment
  std::string current_folder;  // absolute; base of a relative workdir
  std::string run_folder;      // absolute; "" if nothing will be started: a placeholder is shown
  std::optional<OuterLauncher> outer;  // nullopt: dlaunch starts the ranks itself
};

/// Assigns ranks to nodes, with their commands, cores, GPUs and variables. Errors:
/// exit_code::kJobFile if the job does not fit the nodes or two nodes are accidentally one machine,
/// exit_code::kPreflight if a chosen port is taken or no port is free.
[[nodiscard]] Result<LaunchPlan> make_plan(const JobSpec&, const Cluster&, const PlanContext&);

/// The nodes between which the ranks of such a plan need a network path, by NodeRank; the meeting
/// address is probed between them before planning (plan/candidates.h, plan/reach.h). Empty: the job
/// is on one node, or its ranks get no meeting address. Errors: as for make_plan(), if the job does
/// not fit.
[[nodiscard]] Result<Cluster> nodes_to_meet(const JobSpec&, const Cluster&, const PlanContext&);

/// Names of the variables that such a job leaves unchanged if they are set on a node. The facts of
/// a node include their values.
[[nodiscard]] std::vector<std::string> kept_variables(const JobSpec&);

/// The folder of the attempt's output and files: "RUN FOLDER/attempt-0".
[[nodiscard]] std::string attempt_folder(const PlanContext&);

/// The number of free ports that each node's agent must find and hold before planning. It is an
/// upper bound, the same for every node, because the number of ranks on a node depends on its
/// facts.
[[nodiscard]] std::uint32_t ports_wanted(const JobSpec&);

/// Ports that the user chose by number. The agent holds them, or reports which process does.
[[nodiscard]] std::vector<std::uint16_t> fixed_ports(const JobSpec&);

/// Names and values of `env_secret`, from the launcher's environment. No plan contains them: they
/// travel to the agents separately. Excludes names that `env` of the job sets, because `env` has
/// precedence.
[[nodiscard]] Environment secret_environment(const JobSpec&, const Environment& launcher_env);

/// Name -> value of all variables, except secrets, that every rank of the node gets:
/// LaunchPlan::variables, overridden by NodePlan::variables.
[[nodiscard]] Environment shared_environment(const LaunchPlan&, NodeRank);

/// Name -> value of the variables of this rank only; they override those of shared_environment().
[[nodiscard]] Environment own_environment(const RankPlan&);

}  // namespace dlaunch
