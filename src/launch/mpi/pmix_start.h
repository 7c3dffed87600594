// What MPI ranks of an attempt start by, before they are started: what each agent is told, and what
// is said when one cannot have its PMIx server.
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

/// Whether the ranks meet by our PMIx or PMI-1: framework mpi and horovod, not started by mpirun.
[[nodiscard]] bool needs_wire_up(const LaunchPlan& plan);

/// Whether PMIx is among what the ranks of such a job are offered.
[[nodiscard]] bool wants_pmix(const JobSpec& spec);

/// The same for all nodes. `secret`: a part of the namespace that nobody can guess. OpenPMIx's
/// server believes the user id that a connecting process names; this is what others do not know.
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
  /// Who has not answered: "gpu[02-04]".
  [[nodiscard]] std::string awaited() const;
  /// Each reason once, with the nodes that have it; exit_code::kPreflight. nullopt: all are ready.
  [[nodiscard]] std::optional<Error> error() const;
  /// The same as a warning, for a job whose ranks may do without: they may speak PMI-1.
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
