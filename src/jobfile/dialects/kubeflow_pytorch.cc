// PyTorchJob. Rules: training-operator v1.9, "API Reference", pkg/controller.v1/pytorch (envvar.go,
// master.go, elastic.go).
#include <algorithm>

#include "jobfile/dialects/kubeflow.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "model/rank_variables.h"

namespace dlaunch::jobfile::kubeflow {

namespace {

constexpr std::int64_t kDefaultPort = 23456;

/// Whether a command runs a shell script, which may start torchrun.
bool runs_script(const std::string& line) {
  for (const std::vector<std::string>& words : started_commands(line)) {
    std::string_view program = words.front();
    program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
    if (program == "sh" || program == "bash" || program.ends_with(".sh")) return true;
  }
  return false;
}

/// The pods of a PyTorchJob are the nodes of the job; the master is the first.
class PytorchJob {
 public:
  PytorchJob(Translation& translation, ForeignKeys& spec) : t_(translation), spec_(spec) {}

  void translate() {
    ForeignKeys specs = spec_.mapping("pytorchReplicaSpecs", Spelling::loose);
    Pods master = read_pods(t_, specs, "Master", "pytorch", "pytorchjob-port");
    Pods worker = read_pods(t_, specs, "Worker", "pytorch", "pytorchjob-port");
    specs.refuse_others();
    if (!has_pods(master, worker)) return;
    for (const Pods* pods : {&master, &worker})
      if (pods->is_given) count_ += pods->replicas.count.value;
    count_ = nodes_of_command_line(t_).value_or(count_);
    has_master_ = master.is_given;
    read_processes();
    add_operator_variables();
    for (Pods* pods : {&master, &worker}) {
      if (!pods->is_given || pods->replicas.count.value == 0) continue;
      add_variables(t_, *pods, with_rank_variables(pods->replicas.env));
      groups_.push_back({pods->replicas, words_of(t_, pods->replicas)});
    }
    const SourceRange at = groups_.back().replicas.count.range;
    t_.job.text({"framework"}, "pytorch", spec_.range());
    t_.job.number({"nodes"}, count_, at);
    const Pods& first = has_master_ ? master : worker;
    t_.job.number({"rendezvous", "port"}, first.port ? first.port->value : kDefaultPort,
                  first.port ? first.port->range : at);
    set_launch();
    set_group_commands(t_, groups_, needs_shell_);
    set_group_image(t_, groups_, "a PyTorchJob", "master", "workers");
  }

 private:
  /// False: there is nothing to run; an error was reported.
  bool has_pods(const Pods& master, const Pods& worker) {
    if (!master.is_given && !worker.is_given) {
      if (!spec_.has_mistake("pytorchReplicaSpecs"))
        t_.diagnostics.error(spec_.range(),
                             "a PyTorchJob needs pytorchReplicaSpecs with a Master "
                             "or Workers");
      return false;
    }
    if (master.is_given && master.replicas.count.value != 1) {
      t_.diagnostics.error(master.replicas.count.range, "a PyTorchJob must have exactly 1 Master");
      return false;
    }
    if (!master.is_given && worker.replicas.count.value == 0) {
      t_.diagnostics.error(worker.replicas.count.range,
                           "a PyTorchJob needs a Master or at least 1 Worker");
      return false;
    }
    return true;
  }

  /// WORLD_SIZE is replicas x nprocPerNode, where a non-integer counts as 1. torchrun reads
  /// PET_NPROC_PER_NODE, which elasticPolicy.nProcPerNode overrides.
  void read_processes() {
    at_ = spec_.range();
    if (const auto per_node = spec_.text("nprocPerNode")) {
      at_ = per_node->range;
      per_node_ = per_node->text;
      const auto number = parse_integer(per_node->text);
      if (number && (*number < 1 || *number > kMostCounted)) {
        t_.diagnostics.error(at_, "nprocPerNode must be auto, cpu, gpu or a number from 1 to " +
                                      std::to_string(kMostCounted) + ", not " + per_node->text);
      } else if (number) {
        each_ = *number;
      }
    }
    read_elastic();
  }

  void read_elastic() {
    ForeignKeys elastic = spec_.mapping("elasticPolicy");
    if (!elastic.is_given()) return;
    is_elastic_ = true;
    t_.note_at(elastic.range(), "elasticPolicy is not used: the job always has " +
                                    std::to_string(count_) + " nodes");
    if (const auto per_node = elastic.integer("nProcPerNode", 1)) {
      if (spec_.find("nprocPerNode"))
        t_.note_at(per_node->range, "elasticPolicy.nProcPerNode is used, not nprocPerNode: " +
                                        std::to_string(per_node->value) + " processes per node");
      per_node_ = std::to_string(per_node->value);
      at_ = per_node->range;
      has_several_ = per_node->value > 1;
    }
    if (const auto restarts = elastic.integer("maxRestarts")) {
      const std::string most = std::to_string(restarts->value);
      added_.push_back({"PET_MAX_RESTARTS", most});
      t_.note_at(restarts->range,
                 "elasticPolicy.maxRestarts is not used; for restarts of the "
                 "whole job: --set restart.max=" +
                     most);
    }
    if (const auto id = elastic.text("rdzvId")) added_.push_back({"PET_RDZV_ID", id->text});
    elastic.skip({"minReplicas", "maxReplicas", "rdzvBackend", "rdzvPort", "rdzvHost", "rdzvConf",
                  "standalone", "metrics"});
    elastic.refuse_misspelt();
  }

  /// Follows setPodEnv of envvar.go; RANK is the rank of the pod. The nodes meet directly at
  /// MASTER_ADDR, without torchrun's rendezvous backend.
  void add_operator_variables() {
    added_.push_back({"PYTHONUNBUFFERED", "1"});
    added_.push_back({"PET_NNODES", std::to_string(count_)});
    added_.push_back({"PET_NPROC_PER_NODE", per_node_});
    if (is_elastic_) {
      added_.push_back({"PET_RDZV_BACKEND", "c10d"});
      added_.push_back({"PET_RDZV_ENDPOINT", "${MASTER_ADDR}:${MASTER_PORT}", true});
    }
    if (!has_master_) return;
    added_.push_back({"WORLD_SIZE", std::to_string(count_ * each_)});
    added_.push_back({"RANK", "${RANK}", true});
    added_.push_back({"PET_NODE_RANK", "${NODE_RANK}", true});
    for (const std::string name : {"MASTER_ADDR", "MASTER_PORT"}) {
      added_.push_back({name, "${" + name + '}', true});
      added_.push_back({"PET_" + name, "${" + name + '}', true});
    }
  }

  /// The added variables, and the file's variables that the operator would keep but dlaunch sets.
  [[nodiscard]] std::vector<AddedVariable> with_rank_variables(
      const std::vector<EnvVariable>& env) const {
    std::vector<AddedVariable> all = added_;
    for (const EnvVariable& variable : env)
      if (is_rank_variable(Framework::pytorch, variable.name))
        all.push_back({variable.name, "${" + variable.name + '}', true});
    return all;
  }

  /// Sets `launch` or `processes_per_node`. Also sets torchrun's variables if a pod starts several
  /// processes, if its command is a script, which may start torchrun, or if the command refers to
  /// these variables.
  void set_launch() {
    bool asks = false;
    for (const PodGroup& group : groups_) {
      const std::string line = line_of(group.words);
      has_several_ = has_several_ || started_launcher(line).has_value();
      asks = asks || runs_script(line) || line.find("PET_") != std::string::npos;
    }
    has_several_ = has_several_ || each_ > 1;
    if (has_several_) {
      t_.job.text({"launch"}, "per-node", at_);
    } else {
      t_.job.number({"processes_per_node"}, 1, at_);
    }
    if (!has_several_ && !asks) return;
    needs_shell_ = true;
    t_.job.text({"env", "PET_NNODES"}, std::to_string(count_), at_);
    t_.job.text({"env", "PET_NPROC_PER_NODE"}, per_node_, at_);
    const std::string ranks =
        "WORLD_SIZE=" + std::to_string(count_ * each_) + " RANK=\"$NODE_RANK\" ";
    t_.job.text({"setup"},
                "export " + (has_several_ ? ranks : std::string()) +
                    "PET_NODE_RANK=\"$NODE_RANK\" PET_MASTER_ADDR=\"$MASTER_ADDR\" "
                    "PET_MASTER_PORT=\"$MASTER_PORT\"",
                at_);
  }

  Translation& t_;
  ForeignKeys& spec_;
  std::vector<PodGroup> groups_;
  std::vector<AddedVariable> added_;  // by the operator
  std::int64_t count_ = 0;            // number of pods
  std::int64_t each_ = 1;             // processes of a pod, as WORLD_SIZE counts them
  std::string per_node_ = "auto";     // PET_NPROC_PER_NODE
  SourceRange at_;                    // source range of that value
  bool has_master_ = false;
  bool is_elastic_ = false;
  bool has_several_ = false;  // several processes per pod
  bool needs_shell_ = false;
};

}  // namespace

void translate_pytorch_job(Translation& translation, ForeignKeys& spec) {
  PytorchJob(translation, spec).translate();
}

}  // namespace dlaunch::jobfile::kubeflow
