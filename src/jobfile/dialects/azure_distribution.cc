// Reads the `distribution` of a command job, and the numbers of nodes and processes.
#include <algorithm>
#include <array>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile::azure {

namespace {

/// The value of "--nproc_per_node 8" or "--nproc_per_node=8" among the launcher's own options,
/// which end at its script; nullopt: not given as a number.
std::optional<std::int64_t> told_workers(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 5> kOptions{
      "--nproc_per_node", "--nproc-per-node", "--num_processes", "--num-processes", "--num_gpus"};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word.ends_with(".py")) break;
    const auto equals = word.find('=');
    const std::string_view option = word.substr(0, equals);
    if (!contains(kOptions, option)) continue;
    if (equals != std::string_view::npos) return parse_integer(word.substr(equals + 1));
    if (i + 1 < arguments.size()) return parse_integer(arguments[i + 1]);
  }
  return std::nullopt;
}

/// Whether the command passes its rank on: a launcher that gets its rank is meant to be one of
/// several.
bool mentions_own_rank(std::string_view command) {
  return mentions_variable(command, "RANK") || mentions_variable(command, "LOCAL_RANK");
}

/// Reports several launchers on a node, each of which starts workers for the whole node. That may
/// be intended if each starts one worker, or takes the number of workers from its own file.
void report_several(Translation& t, const WorkerLauncher& launcher, const ProcessCount& count) {
  const auto workers = told_workers(launcher.arguments);
  const std::string times = std::to_string(count.per_node) + " times on each node";
  if (workers && *workers > 1)
    return t.diagnostics.error(
        count.range, "the command itself starts " + std::to_string(*workers) +
                         " workers on each node (" + launcher.name + "), but would be started " +
                         times + "; leave out " + count.key + " to start it once on each node");
  t.note_at(count.range, launcher.name + " is started " + times +
                             "; if it starts all workers of the "
                             "node, leave out " +
                             count.key + " to start it once on each node");
}

}  // namespace

// "Leaving process_count_per_instance out is the per-node mode, used with torch.distributed.launch
// --node_rank $NODE_RANK, Lightning, Dask": a given process_count_per_instance counts.
bool is_per_node(Translation& t, const LocatedText& command, const ProcessCount& count) {
  if (mentions_own_rank(command.text)) return false;
  const auto launcher = started_launcher(command.text);
  if (count.per_node > 1) {
    if (launcher) report_several(t, *launcher, count);
    return false;
  }
  if (launcher) return true;
  if (count.is_given || !mentions_variable(command.text, "NODE_RANK")) return false;
  t.note_at(command.range,
            "the command uses $NODE_RANK, and there is no " + count.key +
                ": dlaunch assumes that it starts its own workers and runs it once on each node, "
                "without RANK and LOCAL_RANK; if it starts none, give " +
                count.key);
  return true;
}

namespace {

/// "Azure ML sets MASTER_PORT": the rendezvous port of its PyTorch jobs.
constexpr std::int64_t kMasterPort = 6105;

class DistributionTranslator {
 public:
  DistributionTranslator(Translation& translation, ForeignKeys& job, const LocatedText& command,
                         JobSize& size)
      : t_(translation), keys_(job), command_(command), size_(size), nodes_(size.nodes) {}

  void translate() {
    ForeignKeys distribution = keys_.mapping("distribution");
    const auto type = distribution.text("type");
    if (!distribution.is_given()) return one_process();
    if (!type) {
      if (!distribution.has_mistake("type"))
        t_.diagnostics.error(distribution.range(),
                             "distribution needs a type: pytorch, mpi or tensorflow");
      distribution.skip({"process_count_per_instance", "process_count", "worker_count",
                         "parameter_server_count"});
      distribution.refuse_others();
      return;
    }
    const std::string kind = distribution_kind(type->text);
    if (kind == "pytorch") return pytorch(distribution, *type);
    if (kind == "mpi") return mpi(distribution, *type);
    if (kind == "tensorflow") return tensorflow(distribution, *type);
    const std::string advice = "; dlaunch supports pytorch, mpi and tensorflow";
    t_.diagnostics.error(
        type->range, (kind == "ray" ? "distribution.type: ray starts a cluster of "
                                      "its own, which dlaunch does not do"
                                    : "unknown distribution.type " + in_quotes(type->text) +
                                          did_you_mean(kind, {"pytorch", "mpi", "tensorflow"})) +
                         advice);
  }

 private:
  /// "distribution absent means a plain single command". What the service does with several
  /// nodes in this case is undocumented.
  void one_process() {
    t_.job.text({"framework"}, "none", keys_.range());
    if (nodes_.value > 1 && !size_.is_told) {
      t_.note_at(nodes_.range, "there is no distribution, so the command runs once, on one of " +
                                   std::to_string(nodes_.value) + " nodes");
      nodes_.value = 1;
    }
    t_.job.number({"nodes"}, nodes_.value, nodes_.range);
    t_.job.number({"processes_per_node"}, 1, nodes_.range);
  }

  void refuse_keys(ForeignKeys& distribution, const std::string& kind,
                   std::initializer_list<std::string_view> wrong, const std::string& right) {
    for (const LocatedText& key : distribution.given_of(wrong)) {
      t_.diagnostics.error(key.range,
                           key.text + " does not apply to type: " + kind + "; use " + right);
    }
    distribution.refuse_others();
  }

  /// process_count_per_instance, or process_count of the 2021 preview, a total over all nodes.
  ProcessCount read_count(ForeignKeys& distribution) {
    auto per_node = distribution.integer("process_count_per_instance", 1);
    if (const auto old = distribution.integer("process_count_per_node", 1); old && !per_node)
      per_node = old;  // the key's name in 2020
    const auto total = distribution.integer("process_count", 1);
    if (per_node) return {per_node->value, true, per_node->range, "process_count_per_instance"};
    if (!total) return {1, false, distribution.range(), "process_count_per_instance"};
    ProcessCount count{1, true, total->range, "process_count"};
    if (total->value % nodes_.value != 0) {
      t_.diagnostics.error(total->range, "process_count " + std::to_string(total->value) +
                                             " is the total of all nodes, but not a multiple of "
                                             "instance_count " +
                                             std::to_string(nodes_.value));
      return count;
    }
    t_.note_at(total->range, "process_count is the total of all nodes");
    count.per_node = total->value / nodes_.value;
    return count;
  }

  void set_size(const ProcessCount& count) {
    t_.job.number({"nodes"}, nodes_.value, nodes_.range);
    t_.job.number({"processes_per_node"}, count.per_node, count.range);
  }

  void pytorch(ForeignKeys& distribution, const LocatedText& type) {
    const ProcessCount count = read_count(distribution);
    refuse_keys(distribution, "pytorch", {"worker_count", "parameter_server_count"},
                "process_count_per_instance");
    t_.job.text({"framework"}, "pytorch", type.range);
    t_.job.number({"rendezvous", "port"}, kMasterPort, type.range);
    if (is_per_node(t_, command_, count)) {
      t_.job.text({"launch"}, "per-node", command_.range);
      t_.job.number({"nodes"}, nodes_.value, nodes_.range);
      size_.setup = "export WORLD_SIZE=" + std::to_string(nodes_.value);
      return;
    }
    set_size(count);
    if (!count.is_given && nodes_.value > 1) {
      t_.note_at(distribution.range(),
                 "no process_count_per_instance means 1; for a program that starts its own "
                 "workers on each node: --set launch=per-node");
    }
  }

  void mpi(ForeignKeys& distribution, const LocatedText& type) {
    const ProcessCount count = read_count(distribution);
    refuse_keys(distribution, "mpi", {"worker_count", "parameter_server_count"},
                "process_count_per_instance");
    t_.job.text({"framework"}, "mpi", type.range);
    // The service starts the processes by mpirun, which does not require MPI_Init: many programs
    // only read OMPI_COMM_WORLD_*.
    t_.job.text({"mpi", "init"}, "optional", type.range);
    set_size(count);
    const std::string_view first = started_program(
        command_.text, {"mpirun", "mpiexec", "mpiexec.hydra", "horovodrun", "deepspeed"});
    if (!first.empty()) {
      t_.diagnostics.error(command_.range,
                           "distribution.type: mpi starts the processes itself: "
                           "the command must be the program without " +
                               std::string(first));
    }
  }

  void tensorflow(ForeignKeys& distribution, const LocatedText& type) {
    const auto workers = distribution.integer("worker_count", 1);
    const auto servers = distribution.integer("parameter_server_count");
    refuse_keys(distribution, "tensorflow", {"process_count_per_instance", "process_count"},
                "worker_count and parameter_server_count");
    t_.job.text({"framework"}, "tensorflow", type.range);
    const std::int64_t count = workers ? workers->value : nodes_.value;
    const std::int64_t tasks = count + (servers ? servers->value : 0);
    t_.job.number({"nodes"}, std::min(nodes_.value, tasks), nodes_.range);
    if (tasks < nodes_.value) {
      t_.note_at(nodes_.range, "TensorFlow has only " + counted(tasks, "task") +
                                   ", so instance_count counts as " + std::to_string(tasks));
      if (!size_.is_told) nodes_.value = tasks;
    }
    t_.job.number({"roles", "worker"}, count, workers ? workers->range : nodes_.range);
    if (servers && servers->value > 0)
      t_.job.number({"roles", "ps"}, servers->value, servers->range);
  }

  Translation& t_;
  ForeignKeys& keys_;
  const LocatedText& command_;
  JobSize& size_;
  LocatedNumber& nodes_;
};

}  // namespace

std::string distribution_kind(std::string_view type) {
  const std::string kind = lower(type);
  return kind == "torch.distributed" ? "pytorch" : kind;
}

void translate_distribution(Translation& translation, ForeignKeys& job, const LocatedText& command,
                            JobSize& size) {
  DistributionTranslator(translation, job, command, size).translate();
}

}  // namespace dlaunch::jobfile::azure
