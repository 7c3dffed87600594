// The preparation for an attempt's MPI ranks before they start: the message for each agent, and the
// errors when one cannot have its PMIx server.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// Whether the ranks meet by our PMIx or PMI-1: framework mpi or horovod, not started by mpirun.
[[nodiscard]] bool needs_wire_up(const LaunchPlan& plan);

/// Whether the ranks of such a job are offered PMIx.
[[nodiscard]] bool wants_pmix(const JobSpec& spec);

/// The message, equal for all nodes. `secret`: an unguessable part of the namespace. OpenPMIx's
/// server trusts the user id that a connecting process claims, so only the secret keeps other users
/// out.
[[nodiscard]] wire::PreparePmix prepare_message(const LaunchPlan& plan, Mpi::Pmi pmi,
                                                std::string_view secret);

/// The answers of all nodes of one plan. A value; Preparation asks and waits.
class PmixStart {
 public:
  PmixStart() = default;
  /// Waits for an answer of every node of the plan.
  explicit PmixStart(const LaunchPlan& plan);

  void add(NodeId node, const wire::PmixReady& answer);
  [[nodiscard]] bool complete() const { return awaited_.empty(); }
  /// The nodes that have not answered: "gpu[02-04]".
  [[nodiscard]] std::string awaited() const;
  /// Each reason once, with its nodes; exit_code::kPreflight. nullopt: all are ready.
  [[nodiscard]] std::optional<Error> error() const;
  /// The same as a warning, for a job whose ranks may not need PMIx: they may use PMI-1.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Refusal {
    std::string why;
    std::set<NodeId> nodes;
  };
  [[nodiscard]] std::string name_of(const std::set<NodeId>& nodes) const;
  [[nodiscard]] std::vector<std::string> lines() const;

  Attempt attempt_;
  std::map<NodeId, std::string> names_;
  std::set<NodeId> awaited_;
  std::vector<Refusal> refusals_;
};

}  // namespace dlaunch
