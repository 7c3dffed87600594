// `distribution` of a command job, and how many nodes and processes there are.
#include <algorithm>

#include "spec/dialects/azure_v2.h"
#include "spec/dialects/started_programs.h"
#include "spec/nearest.h"

namespace dlaunch::spec::azure {

namespace {

/// "Azure ML sets MASTER_PORT": the port that its PyTorch jobs meet at.
constexpr std::int64_t kMasterPort = 6105;

class DistributionTranslator {
 public:
  DistributionTranslator(Translation& translation, ForeignKeys& job, const PlacedText& command,
                         JobSize& size)
      : t_(translation), keys_(job), command_(command), size_(size), nodes_(size.nodes) {}

  void translate() {
    ForeignKeys distribution = keys_.mapping("distribution");
    const auto type = distribution.text("type");
    if (!distribution.is_given()) return one_process();
    if (!type) {
      if (!distribution.has_mistake("type"))
        t_.diagnostics.error(distribution.place(),
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
    const std::string advice = "; dlaunch starts pytorch, mpi and tensorflow";
    t_.diagnostics.error(
        type->place, (kind == "ray" ? "distribution.type: ray starts a cluster of "
                                      "its own, which dlaunch does not do"
                                    : "unknown distribution.type " + in_quotes(type->text) +
                                          did_you_mean(kind, {"pytorch", "mpi", "tensorflow"})) +
                         advice);
  }

 private:
  /// "distribution absent means a plain single command". What the service does with more than one
  /// node then is not documented.
  void one_process() {
    t_.job.text({"framework"}, "none", keys_.place());
    if (nodes_.value > 1 && !size_.is_told) {
      t_.note_at(nodes_.place,
                 "there is no distribution, so the command runs once, on one node of " +
                     std::to_string(nodes_.value));
      nodes_.value = 1;
    }
    t_.job.number({"nodes"}, nodes_.value, nodes_.place);
    t_.job.number({"processes_per_node"}, 1, nodes_.place);
  }

  void refuse_keys(ForeignKeys& distribution, const std::string& kind,
                   std::initializer_list<std::string_view> wrong, const std::string& right) {
    for (const PlacedText& key : distribution.given_of(wrong)) {
      t_.diagnostics.error(key.place,
                           key.text + " does not go with type: " + kind + "; it has " + right);
    }
    distribution.refuse_others();
  }

  /// process_count_per_instance, or process_count of the preview of 2021: of all nodes together.
  ProcessCount read_count(ForeignKeys& distribution) {
    auto per_node = distribution.integer("process_count_per_instance", 1);
    if (const auto old = distribution.integer("process_count_per_node", 1); old && !per_node)
      per_node = old;  // its name in 2020
    const auto total = distribution.integer("process_count", 1);
    if (per_node) return {per_node->value, true, per_node->place, "process_count_per_instance"};
    if (!total) return {1, false, distribution.place(), "process_count_per_instance"};
    ProcessCount count{1, true, total->place, "process_count"};
    if (total->value % nodes_.value != 0) {
      t_.diagnostics.error(total->place, "process_count " + std::to_string(total->value) +
                                             " is of all nodes together, and is not a multiple of "
                                             "instance_count " +
                                             std::to_string(nodes_.value));
      return count;
    }
    t_.note_at(total->place, "process_count is of all nodes together");
    count.per_node = total->value / nodes_.value;
    return count;
  }

  void set_size(const ProcessCount& count) {
    t_.job.number({"nodes"}, nodes_.value, nodes_.place);
    t_.job.number({"processes_per_node"}, count.per_node, count.place);
  }

  void pytorch(ForeignKeys& distribution, const PlacedText& type) {
    const ProcessCount count = read_count(distribution);
    refuse_keys(distribution, "pytorch", {"worker_count", "parameter_server_count"},
                "process_count_per_instance");
    t_.job.text({"framework"}, "pytorch", type.place);
    t_.job.number({"rendezvous", "port"}, kMasterPort, type.place);
    if (is_per_node(t_, command_, count)) {
      t_.job.text({"launch"}, "per-node", command_.place);
      t_.job.number({"nodes"}, nodes_.value, nodes_.place);
      size_.setup = "export WORLD_SIZE=" + std::to_string(nodes_.value);
      return;
    }
    set_size(count);
    if (!count.is_given && nodes_.value > 1) {
      t_.note_at(distribution.place(),
                 "no process_count_per_instance means 1; for a program that starts its own "
                 "workers on each node: --set launch=per-node");
    }
  }

  void mpi(ForeignKeys& distribution, const PlacedText& type) {
    const ProcessCount count = read_count(distribution);
    refuse_keys(distribution, "mpi", {"worker_count", "parameter_server_count"},
                "process_count_per_instance");
    t_.job.text({"framework"}, "mpi", type.place);
    // The service starts them by mpirun, which does not mind: many only read OMPI_COMM_WORLD_*.
    t_.job.text({"mpi", "init"}, "optional", type.place);
    set_size(count);
    const std::string_view first = started_program(
        command_.text, {"mpirun", "mpiexec", "mpiexec.hydra", "horovodrun", "deepspeed"});
    if (!first.empty()) {
      t_.diagnostics.error(command_.place,
                           "with distribution.type: mpi the processes are started "
                           "for the command, which must be the program without " +
                               std::string(first));
    }
  }

  void tensorflow(ForeignKeys& distribution, const PlacedText& type) {
    const auto workers = distribution.integer("worker_count", 1);
    const auto servers = distribution.integer("parameter_server_count");
    refuse_keys(distribution, "tensorflow", {"process_count_per_instance", "process_count"},
                "worker_count and parameter_server_count");
    t_.job.text({"framework"}, "tensorflow", type.place);
    const std::int64_t count = workers ? workers->value : nodes_.value;
    const std::int64_t tasks = count + (servers ? servers->value : 0);
    t_.job.number({"nodes"}, std::min(nodes_.value, tasks), nodes_.place);
    if (tasks < nodes_.value) {
      t_.note_at(nodes_.place, std::to_string(tasks) + (tasks == 1 ? " task" : " tasks") +
                                   " of TensorFlow, so instance_count counts as " +
                                   std::to_string(tasks));
      if (!size_.is_told) nodes_.value = tasks;
    }
    t_.job.number({"roles", "worker"}, count, workers ? workers->place : nodes_.place);
    if (servers && servers->value > 0)
      t_.job.number({"roles", "ps"}, servers->value, servers->place);
  }

  Translation& t_;
  ForeignKeys& keys_;
  const PlacedText& command_;
  JobSize& size_;
  PlacedNumber& nodes_;
};

}  // namespace

std::string distribution_kind(std::string_view type) {
  std::string kind(type);
  for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return kind == "torch.distributed" ? "pytorch" : kind;
}

void translate_distribution(Translation& translation, ForeignKeys& job, const PlacedText& command,
                            JobSize& size) {
  DistributionTranslator(translation, job, command, size).translate();
}

}  // namespace dlaunch::spec::azure
