#include "launch/mpi/pmix_start.h"

#include <algorithm>

#include "jobfile/hostlist.h"
#include "text/plain_text.h"

namespace dlaunch {

bool needs_wire_up(const LaunchPlan& plan) {
  return uses_mpi(plan.framework) && !plan.mpirun;
}

bool wants_pmix(const JobSpec& spec) {
  return uses_mpi(spec.framework) && spec.mpi.launcher == Mpi::Launcher::dlaunch &&
         spec.mpi.pmi != Mpi::Pmi::pmi1;
}

wire::PreparePmix prepare_message(const LaunchPlan& plan, Mpi::Pmi pmi, std::string_view secret) {
  wire::PreparePmix message;
  message.attempt = plan.attempt;
  message.name_space = "dlaunch-" + plan.run_id + '-' + std::to_string(plan.attempt.value) + '-';
  message.name_space += secret;
  for (const NodePlan& node : plan.nodes)
    message.nodes.push_back({node.name, spans_of(node.ranks)});
  message.pmix = pmi != Mpi::Pmi::pmi1;
  message.pmi1 = pmi != Mpi::Pmi::pmix;
  return message;
}

PmixStart::PmixStart(const LaunchPlan& plan) : attempt_(plan.attempt) {
  for (const NodePlan& node : plan.nodes) {
    names_.emplace(node.id, node.name);
    awaited_.insert(node.id);
  }
}

void PmixStart::add(NodeId node, const wire::PmixReady& answer) {
  if (answer.attempt != attempt_ || awaited_.erase(node) == 0 || answer.refused.empty()) return;
  std::string why = plain_line(answer.refused);
  auto known = std::find_if(refusals_.begin(), refusals_.end(),
                            [&](const Refusal& other) { return other.why == why; });
  if (known == refusals_.end()) known = refusals_.insert(known, {std::move(why), {}});
  known->nodes.insert(node);
}

std::string PmixStart::name_of(const std::set<NodeId>& nodes) const {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodeId node : nodes) names.push_back(names_.at(node));
  return jobfile::compress_hostlist(names);
}

std::string PmixStart::awaited() const {
  return name_of(awaited_);
}

std::vector<std::string> PmixStart::lines() const {
  std::vector<Refusal> sorted = refusals_;  // answers arrive in any order
  std::sort(sorted.begin(), sorted.end(),
            [](const Refusal& a, const Refusal& b) { return *a.nodes.begin() < *b.nodes.begin(); });
  std::vector<std::string> lines;
  lines.reserve(sorted.size());
  for (const Refusal& refusal : sorted)
    lines.push_back(name_of(refusal.nodes) + ": " + refusal.why);
  return lines;
}

std::optional<Error> PmixStart::error() const {
  if (refusals_.empty()) return std::nullopt;
  std::string text;
  for (const std::string& line : lines()) text += (text.empty() ? "" : "\n         ") + line;
  return Error{exit_code::kPreflight, std::move(text)};
}

std::vector<std::string> PmixStart::notes() const {
  std::vector<std::string> notes = lines();
  for (std::string& note : notes)
    note +=
        ". Open MPI programs fail there; MPICH and Intel MPI programs do not need PMIx (mpi.pmi: "
        "pmi-1)";
  return notes;
}

}  // namespace dlaunch
