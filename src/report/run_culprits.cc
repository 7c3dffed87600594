#include "report/run_culprits.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "model/result.h"

namespace dlaunch {

namespace {

/// The first rank's end cannot follow from that of another: a rank that loses another one aborts or
/// exits with 1, and its end may arrive first; one that waits for another ends with kTimeLimit.
bool is_own_end(const RunEnding& ending) {
  if (ending.exit_code == exit_code::kTimeLimit) return false;
  if (!ending.first_error.empty()) return true;
  if (!ending.first_status) return ending.exit_code == exit_code::kNodeLost;
  const ExitStatus& status = *ending.first_status;
  const std::array signals{SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  const std::array codes{exit_code::kPreflight, exit_code::kCannotExecute, exit_code::kNotFound};
  const auto has = [&](const auto& values) {
    return std::find(values.begin(), values.end(), status.value) != values.end();
  };
  return status.signaled ? has(signals) : has(codes);
}

std::optional<std::uint32_t> index_of(const std::string& node,
                                      const std::vector<std::string>& names) {
  if (node.empty() || std::count(names.begin(), names.end(), node) != 1) return std::nullopt;
  return static_cast<std::uint32_t>(std::find(names.begin(), names.end(), node) - names.begin());
}

}  // namespace

std::vector<RunCulprit> culprits_of(const RunEnding& ending,
                                    const std::vector<std::string>& names) {
  std::vector<RunCulprit> culprits;
  for (const RunEnding::Lost& lost : ending.lost_nodes) {
    const auto node = index_of(lost.node, names);
    if (!node) continue;
    const std::string what = "it was lost while ranks measured on it";
    culprits.push_back({*node, what + (lost.what.empty() ? "" : ": " + lost.what)});
  }
  if (!culprits.empty() || !is_own_end(ending)) return culprits;
  if (const auto node = index_of(ending.first_node, names))
    culprits.push_back({*node, "its measuring rank failed: the run " + ending_text(ending)});
  return culprits;
}

}  // namespace dlaunch
