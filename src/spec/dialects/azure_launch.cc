// What a command starts: launchers, which start ranks of their own, and what follows from that for
// the processes of a PyTorch job.
#include <algorithm>
#include <array>

#include "spec/dialects/azure_v2.h"
#include "spec/dialects/started_programs.h"
#include "spec/scalar.h"

namespace dlaunch::spec::azure {

namespace {

/// The value of "--nproc_per_node 8" or "--nproc_per_node=8" among the launcher's own options,
/// which end where its script is named; nullopt: they do not say it as a number.
std::optional<std::int64_t> told_workers(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 5> kOptions{
      "--nproc_per_node", "--nproc-per-node", "--num_processes", "--num-processes", "--num_gpus"};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.ends_with(".py")) break;
    const auto equals = word.find('=');
    const std::string_view option = word.substr(0, equals);
    if (std::find(kOptions.begin(), kOptions.end(), option) == kOptions.end()) continue;
    if (equals != std::string_view::npos) return parse_integer(word.substr(equals + 1));
    if (i + 1 < arguments.size()) return parse_integer(arguments[i + 1]);
  }
  return std::nullopt;
}

/// A launcher that is told its rank is one of several on purpose.
bool mentions_own_rank(std::string_view command) {
  return mentions_variable(command, "RANK") || mentions_variable(command, "LOCAL_RANK");
}

/// Each of several launchers on a node starts workers for all of the node. With one worker each, or
/// with a number that a file of its own says, they may be meant.
void report_several(Translation& t, const WorkerLauncher& launcher, const ProcessCount& count) {
  const auto workers = told_workers(launcher.arguments);
  const std::string times = std::to_string(count.per_node) + " times on each node";
  if (workers && *workers > 1) {
    t.diagnostics.error(count.place, "the command begins " + std::to_string(*workers) +
                                         " workers on each node by itself (" + launcher.name +
                                         "), and would be started " + times + "; leave out " +
                                         count.key + ", and it is started once on each");
    return;
  }
  t.note_at(count.place, launcher.name + " is started " + times +
                             "; if it starts workers for all "
                             "of the node, leave out " +
                             count.key + ", and it is started once on each");
}

}  // namespace

// "Leaving process_count_per_instance out is the per-node mode, used with torch.distributed.launch
// --node_rank $NODE_RANK, Lightning, Dask": where it is given, it counts.
bool is_per_node(Translation& t, const PlacedText& command, const ProcessCount& count) {
  if (mentions_own_rank(command.text)) return false;
  const auto launcher = started_launcher(command.text);
  if (count.per_node > 1) {
    if (launcher) report_several(t, *launcher, count);
    return false;
  }
  if (launcher) return true;
  if (count.is_given || !mentions_variable(command.text, "NODE_RANK")) return false;
  t.note_at(command.place,
            "a command with $NODE_RANK and without " + count.key +
                " is one that starts its own workers: it runs once on each node, without RANK and "
                "LOCAL_RANK; if it starts none, give " +
                count.key);
  return true;
}

}  // namespace dlaunch::spec::azure
