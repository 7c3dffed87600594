#include "measure/check/backend_choice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "jobfile/hostlist.h"

namespace dlaunch {

namespace {

using CheckedNodes = std::vector<CheckedNode>;

/// Why the node cannot use this back-end, as it reports; empty: it can.
std::string refusal(const CheckedNode& node, const std::string& backend) {
  for (const std::string& line : node.condition.collectives) {
    if (!line.starts_with(backend + ": ")) continue;
    const std::string what = line.substr(backend.size() + 2);
    return what == "ready" || what.starts_with("ready, ") ? "" : what;
  }
  return "dlaunch collectives --probe did not report " + backend;
}

std::string nccl_refusal(const CheckedNode& node) {
  return node.facts.gpus.empty() ? "no GPU was found" : refusal(node, "nccl");
}

/// Reasons in the order of their first nodes, each with the names of all nodes that it applies to.
using Reasons = std::vector<std::pair<std::string, std::vector<std::string>>>;

Reasons reasons_against_nccl(const CheckedNodes& nodes, const std::vector<std::uint32_t>& good) {
  Reasons reasons;
  for (const std::uint32_t i : good) {
    const std::string why = nccl_refusal(nodes[i]);
    if (why.empty()) continue;
    auto known = std::find_if(reasons.begin(), reasons.end(),
                              [&](const auto& reason) { return reason.first == why; });
    if (known == reasons.end()) known = reasons.insert(known, {why, {}});
    known->second.push_back(nodes[i].name);
  }
  return reasons;
}

CheckFinding note_of(const std::string& why, const std::vector<std::string>& names) {
  const bool is_by_path = why.find("LD_LIBRARY_PATH") != std::string::npos;
  return {
      CheckFinding::Severity::note,
      {},
      "nccl",
      "NCCL was not measured: " + jobfile::compress_hostlist(names) + ": " + why,
      is_by_path
          ? "set LD_LIBRARY_PATH in this shell (nodes that have the folder inherit it), or in the "
            "job's env"
          : ""};
}

}  // namespace

BackendChoice choose_backend(const CheckedNodes& nodes, const std::vector<std::uint32_t>& good) {
  const bool has_gpus = std::any_of(good.begin(), good.end(),
                                    [&](std::uint32_t i) { return !nodes[i].facts.gpus.empty(); });
  BackendChoice choice{MeasureBackend::mpi, {}};
  if (has_gpus) {
    const Reasons reasons = reasons_against_nccl(nodes, good);
    if (reasons.empty()) return {MeasureBackend::nccl, {}};
    for (const auto& [why, names] : reasons) choice.notes.push_back(note_of(why, names));
  }
  for (const std::uint32_t i : good) {
    const std::string why = refusal(nodes[i], "mpi");
    if (why.empty()) continue;
    choice.backend = fail(exit_code::kPreflight, nodes[i].name + ": " + why);
    break;
  }
  return choice;
}

}  // namespace dlaunch
