// TrainJob of Kubeflow Trainer v2, with its runtime if the file contains it. Rules: API reference
// of trainer.kubeflow.org/v1alpha1, pkg/runtime/framework/plugins; job-specs 12.
#include <algorithm>
#include <array>
#include <utility>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/pod_job.h"
#include "jobfile/dialects/replicated_jobs.h"
#include "jobfile/scalar.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

enum class Policy { none, torch, mpi, jax };

/// Runtimes that Kubeflow Trainer installs, by the beginning of their names.
struct KnownRuntime {
  std::string_view name;
  Policy policy;
};
constexpr std::array<KnownRuntime, 4> kRuntimes{{{"torch-distributed", Policy::torch},
                                                 {"deepspeed-distributed", Policy::mpi},
                                                 {"mlx-distributed", Policy::mpi},
                                                 {"jax-distributed", Policy::jax}}};

constexpr KeyName kKeyNames[] = {
    {"name", "metadata.name"},    {"timeouts.run", "activeDeadlineSeconds"}, {"env_pass", "env"},
    {"container.image", "image"}, {"processes_per_node", "numProcPerNode"},  {"nodes", "numNodes"}};

// The port where the nodes of PyTorch meet (constants.ContainerTrainerPort).
constexpr std::int64_t kPort = 29500;

class TrainJob {
 public:
  TrainJob(Translation& translation, ForeignKeys& spec, const std::string& name)
      : t_(translation), spec_(spec), trainer_(spec.mapping("trainer")), job_(translation, name) {}

  void translate() {
    if (!read_runtime()) return;
    read_own();
    if (job_.is_empty()) return;
    override_container();
    if (policy_ == Policy::mpi) return set_mpi();
    set_policy_variables();
    if (policy_ == Policy::jax) job_.use_framework("jax");
    job_.finish("a TrainJob");
    if (policy_ == Policy::torch) t_.job.number({"rendezvous", "port"}, kPort, at_);
  }

 private:
  /// False: an error was reported.
  bool read_runtime() {
    ForeignKeys reference = spec_.mapping("runtimeRef");
    const auto name = reference.text("name");
    const auto kind = reference.text("kind");
    reference.skip({"apiGroup"});
    reference.refuse_others();
    if (!name) {
      if (!spec_.has_mistake("runtimeRef") && !reference.has_mistake("name"))
        t_.diagnostics.error(spec_.range(), "a TrainJob needs runtimeRef: {name: ...}");
      return false;
    }
    for (const NodeId root : t_.others)
      if (is_runtime(root, *name, kind)) return read_runtime_of_file(root);
    const auto known =
        std::find_if(kRuntimes.begin(), kRuntimes.end(),
                     [&](const KnownRuntime& one) { return name->text.starts_with(one.name); });
    if (known == kRuntimes.end()) {
      t_.diagnostics.error(
          name->range,
          "the runtime " + in_quotes(name->text) +
              " is not in the file: append a line \"---\" and the output of: kubectl get " +
              (kind && kind->text == "TrainingRuntime" ? "trainingruntime "
                                                       : "clustertrainingruntime ") +
              name->text + " -o yaml");
      return false;
    }
    policy_ = known->policy;
    t_.note_at(name->range, "the runtime " + in_quotes(name->text) +
                                " is not in the file: dlaunch assumes Kubeflow's own, without its "
                                "image and command");
    LocatedNumber nodes{1, spec_.range()};
    if (const auto given = trainer_.integer("numNodes", 1)) nodes = *given;
    kubeflow::PodGroup group;
    group.replicas.range = spec_.range();
    group.replicas.count = nodes;
    job_.add_group(std::move(group), {"node", {1, nodes.range}, spec_.range()});
    return true;
  }

  [[nodiscard]] bool is_runtime(NodeId root, const LocatedText& name,
                                const std::optional<LocatedText>& kind) const {
    const auto of = scalar_of(t_.document, root, "kind");
    const auto metadata = value_of(t_.document, root, "metadata");
    if (!of || !of->ends_with("TrainingRuntime") || !metadata) return false;
    return scalar_of(t_.document, *metadata, "name") == std::optional(name.text) &&
           (!kind || kind->text == *of);
  }

  bool read_runtime_of_file(NodeId root) {
    t_.used.push_back(root);
    ForeignKeys runtime(t_.document, t_.diagnostics, Spelling::exact, root, "");
    ForeignKeys spec = runtime.mapping("spec");
    ForeignKeys policy = spec.mapping("mlPolicy");
    const auto nodes_of_policy = policy.integer("numNodes", 1);
    if (!read_policy(policy)) return false;
    const auto own = trainer_.integer("numNodes", 1);
    const auto nodes = own ? own : nodes_of_policy;
    const LocatedNumber count = nodes.value_or(LocatedNumber{1, spec.range()});
    ForeignKeys jobs = spec.mapping("template").mapping("spec");
    std::vector<ReplicatedJob> all = read_replicated_jobs(t_, jobs);
    const bool has_trainer =
        std::any_of(all.begin(), all.end(), [](const auto& one) { return one.is_trainer; });
    for (ReplicatedJob& one : all) {
      const bool is_trainer = has_trainer ? one.is_trainer : one.group.name == "node";
      if (is_trainer) {
        job_.add(one.spec, one.group, count, "node");
        note_job_keys(t_, one.spec);
      } else if (!one.is_first_step && policy_ != Policy::mpi) {
        t_.note_at(one.group.range, in_quotes(one.group.name) + " of the runtime is not run");
      }
    }
    if (job_.is_empty())
      t_.diagnostics.error(spec.range(),
                           "the runtime has no trainer (a replicated job with the label "
                           "trainer.kubeflow.org/trainjob-ancestor-step: trainer)");
    return !job_.is_empty();
  }

  bool read_policy(ForeignKeys& policy) {
    for (const std::string_view name : {"flux", "xgboost"}) {
      if (const auto key = policy.find(name)) {
        t_.diagnostics.error(key->key, "dlaunch does not start ranks with " + std::string(name) +
                                           "; it supports torch, mpi and jax");
        return false;
      }
    }
    const std::pair<std::string_view, Policy> kKeys[] = {
        {"torch", Policy::torch}, {"mpi", Policy::mpi}, {"jax", Policy::jax}};
    for (const auto& [name, kind] : kKeys) {
      ForeignKeys keys = policy.mapping(name);
      if (!keys.is_given()) continue;
      policy_ = kind;
      each_ = keys.text("numProcPerNode");
      keys.skip({"mpiImplementation", "sshAuthMountPath", "runLauncherAsNode", "envInjection"});
    }
    policy.refuse_misspelt();
    return true;
  }

  /// Reads the keys of the TrainJob itself.
  void read_own() {
    at_ = trainer_.is_given() ? trainer_.range() : spec_.range();
    if (const auto each = trainer_.text("numProcPerNode")) each_ = each;
    trainer_.skip({"numNodes", "resourcesPerNode"});
    note_job_keys(t_, spec_);
  }

  /// Replaces the keys of the runtime's container with the trainer's; variables are replaced by
  /// name.
  void override_container() {
    Replicas& pods = job_.last().replicas;
    if (const auto image = trainer_.text("image")) pods.image = *image;
    const std::vector<LocatedText> command = trainer_.texts("command");
    const std::vector<LocatedText> args = trainer_.texts("args");
    if (!command.empty()) {
      pods.command = command;
      pods.args.clear();
    }
    if (!args.empty()) pods.args = args;
    for (EnvVariable& one : read_env_list(t_, trainer_, "env", Spelling::exact)) {
      std::erase_if(pods.env, [&](const EnvVariable& old) { return old.name == one.name; });
      pods.env.push_back(std::move(one));
    }
    trainer_.refuse_others();
  }

  /// Exports the variables that torchrun reads (plugins/torch) or that programs pass to
  /// jax.distributed.initialize() (plugins/jax).
  void set_policy_variables() {
    if (policy_ == Policy::torch) {
      job_.add_export("PET_NNODES", "$GROUP_WORLD_SIZE");
      job_.add_export("PET_NPROC_PER_NODE", each_ ? each_->text : "auto");
      job_.add_export("PET_NODE_RANK", "$DLAUNCH_NODE_RANK");
      job_.add_export("PET_MASTER_ADDR", "$MASTER_ADDR");
      job_.add_export("PET_MASTER_PORT", "$MASTER_PORT");
    } else if (policy_ == Policy::jax) {
      job_.add_export("JAX_NUM_PROCESSES", "$DLAUNCH_WORLD_SIZE");
      job_.add_export("JAX_PROCESS_ID", "$DLAUNCH_NODE_RANK");
      job_.add_export("JAX_COORDINATOR_PORT", "${JAX_COORDINATOR_ADDRESS##*:}");
    }
  }

  /// Reads the launcher's command, an mpirun line like that of an MPIJob.
  void set_mpi() {
    Replicas& pods = job_.last().replicas;
    const std::vector<LocatedText> own = words_of(t_, pods);
    if (own.empty()) return;
    const auto words = kubeflow::without_shell(t_, own);
    const auto line = words ? kubeflow::read_mpirun_line(t_, *words, pods.range) : std::nullopt;
    if (!line) return;
    t_.job.text({"framework"}, line->is_horovod ? "horovod" : "mpi", at_);
    if (!line->is_horovod) t_.job.text({"mpi", "init"}, "optional", at_);
    t_.job.number({"nodes"}, pods.count.value, pods.count.range);
    if (line->processes) {
      t_.job.number({"processes"}, line->processes->value, line->processes->range);
    } else {
      const auto each = each_ ? parse_integer(each_->text) : std::optional<std::int64_t>(1);
      t_.job.number({"processes_per_node"}, each.value_or(0), each_ ? each_->range : at_);
    }
    set_command(t_.job, {"command"}, line->program, pods.range);
    for (const EnvVariable& one : pods.env) t_.job.text({"env", one.name}, one.value, one.range);
    for (const EnvVariable& one : line->env) t_.job.text({"env", one.name}, one.value, one.range);
    if (!pods.image.text.empty()) set_container(t_, {"container"}, pods);
    if (!line->ignored.empty())
      t_.note_at(at_, "options of mpirun that are not used, as dlaunch starts the ranks: " +
                          joined(line->ignored));
  }

  Translation& t_;
  ForeignKeys& spec_;
  ForeignKeys trainer_;
  PodJob job_;
  Policy policy_ = Policy::none;
  std::optional<LocatedText> each_;  // numProcPerNode
  SourceRange at_;
};

std::string why_not_trainjob(const Document& document, NodeId root) {
  const std::string version = scalar_of(document, root, "apiVersion").value_or("");
  const std::string kind = scalar_of(document, root, "kind").value_or("");
  return version.starts_with("trainer.kubeflow.org/") && kind == "TrainJob"
             ? ""
             : "not the apiVersion and kind of a TrainJob";
}

void translate_trainjob(Translation& t) {
  ForeignKeys top(t.document, t.diagnostics, Spelling::exact, t.root, "");
  const auto name = top.mapping("metadata").text("name");
  if (name) t.job.text({"name"}, name->text, name->range);
  ForeignKeys spec = top.mapping("spec");
  if (!spec.is_given())
    return t.diagnostics.error(t.document[t.root].range, "the TrainJob has no spec");
  TrainJob(t, spec, name ? name->text : "").translate();
}

}  // namespace

const Dialect kTrainJob{.name = "Kubeflow Trainer",
                        .why_not = why_not_trainjob,
                        .translate = translate_trainjob,
                        .key_names = kKeyNames,
                        .starts_in_image = true};

}  // namespace dlaunch::jobfile
