#include "jobfile/other_files.h"

#include <algorithm>
#include <optional>
#include <string>

#include "jobfile/dialects/foreign_keys.h"

namespace dlaunch::jobfile {

namespace {

struct Script {
  std::string_view directive;  // how a line of such a script begins
  std::string_view sentence;
};

constexpr Script kScripts[] = {
    {"#SBATCH",
     "this is a Slurm batch script. To run the line that starts its ranks: dlaunch run SCRIPT, "
     "without bash and --; or replace srun, mpirun or torchrun in it with \"dlaunch run -- "
     "PROGRAM\", and submit it with sbatch"},
    {"#PBS",
     "this is a PBS batch script: submit it with qsub. To start its program with dlaunch, replace "
     "mpirun or torchrun in it with \"dlaunch run --hosts auto -- PROGRAM\""},
    {"#BSUB",
     "this is an LSF batch script: submit it with bsub < SCRIPT. To start its program with "
     "dlaunch, replace mpirun or torchrun in it with \"dlaunch run --hosts auto -- PROGRAM\""},
    {"#$ -",
     "this is a Grid Engine batch script: submit it with qsub. To start its program with "
     "dlaunch, replace mpirun or torchrun in it with \"dlaunch run --hosts auto -- PROGRAM\""},
};

/// Conditions are separated by blanks: "a.b" (the key exists), "a.b=value", and "a[].b" (in the
/// first item of a list).
struct File {
  std::string_view all;     // all of these hold
  std::string_view one_of;  // and one of these holds; empty: no further condition
  std::string_view none_of;
  std::string_view sentence;
};

constexpr File kFiles[] = {
    {"apiVersion^=ray.io/", "", "",
     "this is for a Ray cluster, which starts its workers itself; dlaunch does not start Ray. To "
     "run a program without Ray: dlaunch run -n N -- COMMAND"},
    {"apiVersion^=batch.volcano.sh/", "", "",
     "this is a Volcano job, which dlaunch does not read. To run a process for each of its N "
     "replicas: dlaunch run -n N -- COMMAND"},
    {"apiVersion^=batch/ kind=Job", "", "",
     "the pods of this Kubernetes Job have no index, as it lacks completionMode: Indexed. To run "
     "its "
     "container's command in N processes with ranks: dlaunch run -n N -- COMMAND"},
    {"apiVersion^=trainer.kubeflow.org/", "kind=TrainingRuntime kind=ClusterTrainingRuntime", "",
     "this is a runtime of Kubeflow Trainer v2: append it to the file of its TrainJob, after a "
     "line \"---\", and give that file to dlaunch"},
    {"", "type=task type=dev-environment type=service type=fleet", "command",
     "this is a dstack configuration, which dlaunch does not read. To run the commands of a task "
     "once on each of N nodes: dlaunch run --nnodes N --set launch=per-node -- bash -c 'COMMANDS'"},
    {"entrypoint searcher", "", "command",
     "this is a Determined experiment, which dlaunch does not read. To run its entrypoint without "
     "determined.launch: dlaunch run --nnodes N --nproc-per-node gpu -- COMMAND"},
    {"command", "compute.gpus compute.gpu_type compute.cluster integrations[].integration_type",
     "$schema",
     "this is a run of MosaicML's mcli, which dlaunch does not read. To run its command once on "
     "each of N nodes: dlaunch run --nnodes N --set launch=per-node -- bash -c 'COMMAND'"},
    {"roles[].entrypoint", "", "",
     "this is a torchx app, which dlaunch does not read. To run the entrypoint and args of its "
     "role in N replicas: dlaunch run -n N -- COMMAND"},
    {"", "_target_ _factory_ task._target_ task._factory_ executor._target_ executor._factory_",
     "command",
     "this is a configuration of NeMo-Run or Hydra, which a Python program reads, not "
     "dlaunch; start that program: dlaunch run --nproc-per-node gpu -- python3 PROGRAM"},
    {"", "zero_optimization train_micro_batch_size_per_gpu", "command",
     "this is a DeepSpeed configuration, which the program reads; start that program: dlaunch run "
     "--set framework=deepspeed -- python3 PROGRAM --deepspeed_config FILE"},
    {"cluster_name provider", "available_node_types head_node head_node_type", "command",
     "this is a configuration of a Ray cluster, which starts its workers itself; dlaunch does not "
     "start Ray. To run a program without Ray: dlaunch run -n N -- COMMAND"},
    {"cells nbformat", "", "",
     "this is a Jupyter notebook. To run it as a script: jupyter nbconvert --to script NOTEBOOK, "
     "then dlaunch run -- python3 SCRIPT"},
    {"TrainingJobName AlgorithmSpecification", "", "",
     "this is a SageMaker training job, which dlaunch does not read. To run its command on N "
     "machines: dlaunch run --nnodes N -- COMMAND"},
};

std::string_view take_until(std::string_view& text, char end) {
  const auto at = std::min(text.find(end), text.size());
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return first;
}

/// The value at "a.b[].c".
std::optional<NodeId> value_at(const Document& document, NodeId root, std::string_view path) {
  std::optional<NodeId> at = root;
  while (at && !path.empty()) {
    std::string_view key = take_until(path, '.');
    const bool is_list = key.ends_with("[]");
    if (is_list) key.remove_suffix(2);
    at = value_of(document, *at, key);
    if (!at || !is_list) continue;
    const Node& list = document[*at];
    if (list.kind != NodeKind::sequence || list.items.empty()) return std::nullopt;
    at = list.items.front();
  }
  return at;
}

bool holds(const Document& document, NodeId root, std::string_view condition) {
  const auto equals = condition.find('=');
  if (equals == std::string_view::npos) return value_at(document, root, condition).has_value();
  const bool is_beginning = equals > 0 && condition[equals - 1] == '^';
  const auto at = value_at(document, root, condition.substr(0, equals - (is_beginning ? 1U : 0U)));
  if (!at || document[*at].kind != NodeKind::scalar) return false;
  const std::string_view wanted = condition.substr(equals + 1);
  const std::string& text = document[*at].text;
  return is_beginning ? text.starts_with(wanted) : text == wanted;
}

int count_of(const Document& document, NodeId root, std::string_view conditions, bool holding) {
  int count = 0;
  while (!conditions.empty())
    count += holds(document, root, take_until(conditions, ' ')) == holding ? 1 : 0;
  return count;
}

}  // namespace

std::string_view kind_of_script(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_until(rest, '\n');
    // Directives precede the first command.
    if (!line.empty() && line.front() != '#') return {};
    for (const Script& script : kScripts)
      if (line.starts_with(script.directive)) return script.sentence;
  }
  return {};
}

bool is_slurm_script(std::string_view text) {
  return kind_of_script(text) == kScripts[0].sentence;
}

std::string_view kind_of_file(const Document& document, NodeId root) {
  if (document[root].kind != NodeKind::mapping) return {};
  for (const File& file : kFiles) {
    const bool fits = count_of(document, root, file.all, false) == 0 &&
                      (file.one_of.empty() || count_of(document, root, file.one_of, true) > 0) &&
                      count_of(document, root, file.none_of, true) == 0;
    if (fits) return file.sentence;
  }
  return {};
}

}  // namespace dlaunch::jobfile
