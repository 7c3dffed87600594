// PyTorchJob and JAXJob. Rules: training-operator v1.9, "API Reference", pkg/controller.v1.
#include "spec/dialects/kubeflow.h"

#include <algorithm>

#include "spec/dialects/dialect_list.h"
#include "spec/dialects/shell_words.h"
#include "spec/dialects/started_programs.h"
#include "spec/expectation.h"
#include "spec/nearest.h"
#include "spec/scalar.h"

namespace dlaunch::spec {

namespace kubeflow {

namespace {

// defaults.go of the operator: where the first pod listens.
constexpr std::int64_t kPytorchPort = 23456;
constexpr std::int64_t kJaxPort = 6666;

std::vector<std::string> texts_of(const std::vector<PlacedText>& words) {
  std::vector<std::string> texts;
  for (const PlacedText& word : words) texts.push_back(word.text);
  return texts;
}

void read_run_policy(Translation& t, ForeignKeys& spec) {
  ForeignKeys policy = spec.mapping("runPolicy");
  for (ForeignKeys* keys : {&policy, &spec}) {
    constexpr std::int64_t kMostSeconds = 3'000'000'000;
    if (const auto limit = keys->integer("activeDeadlineSeconds", 1, kMostSeconds))
      t.job.text({"timeouts", "run"}, std::to_string(limit->value) + "s", limit->place);
    if (const auto limit = keys->integer("backoffLimit"); limit && limit->value > 0)
      t.note_at(limit->place,
                "backoffLimit is not used; for restarts of the whole job: --set "
                "restart.max=" +
                    std::to_string(limit->value));
  }
}

/// The pods of a PyTorchJob are the nodes of a job, the master is the first.
class PytorchJob {
 public:
  PytorchJob(Translation& translation, ForeignKeys& spec) : t_(translation), spec_(spec) {}

  void translate() {
    ForeignKeys specs = spec_.mapping("pytorchReplicaSpecs", Spelling::loose);
    const Pods master = read_pods(t_, specs, "Master", "pytorch", "pytorchjob-port");
    const Pods worker = read_pods(t_, specs, "Worker", "pytorch", "pytorchjob-port");
    specs.refuse_others();
    if (!master.is_given && !worker.is_given) {
      if (!spec_.has_mistake("pytorchReplicaSpecs"))
        t_.diagnostics.error(spec_.place(),
                             "a PyTorchJob needs pytorchReplicaSpecs with a Master "
                             "or Workers");
      return;
    }
    if (master.is_given && master.replicas.count.value != 1) {
      t_.diagnostics.error(master.replicas.count.place, "a PyTorchJob has exactly 1 Master");
      return;
    }
    groups_ = {};
    for (const Pods* pods : {&master, &worker}) {
      if (pods->is_given && pods->replicas.count.value > 0) groups_.push_back(pods->replicas);
    }
    if (groups_.empty()) {
      t_.diagnostics.error(worker.replicas.count.place, "a PyTorchJob without a pod");
      return;
    }
    for (const Replicas& group : groups_) count_ += group.count.value;
    count_ = nodes_of_command_line(t_).value_or(count_);
    const Place at = groups_.back().count.place;
    t_.job.text({"framework"}, "pytorch", spec_.place());
    t_.job.number({"nodes"}, count_, at);
    const Pods& first = master.is_given ? master : worker;
    t_.job.number({"rendezvous", "port"}, first.port ? first.port->value : kPytorchPort,
                  first.port ? first.port->place : at);
    read_processes();
    set_command();
    set_image();
    read_elastic();
  }

 private:
  /// "WORLD_SIZE: replicas x nprocPerNode, where a non-integer counts as 1."
  void read_processes() {
    const auto per_node = spec_.text("nprocPerNode");
    const auto number = per_node ? parse_integer(per_node->text) : std::nullopt;
    constexpr std::int64_t kMost = 100'000;
    const std::int64_t each = number && *number > 0 ? *number : 1;
    if (each > kMost) {
      t_.diagnostics.error(per_node->place, "nprocPerNode is more than dlaunch starts");
      return;
    }
    for (const Replicas& group : groups_) commands_.push_back(words_of(t_, group));
    const std::string line = shell_line(texts_of(commands_.front()));
    const Place at = per_node ? per_node->place : groups_.front().place;
    if (each == 1 && !starts_own_workers(line)) {
      t_.job.number({"processes_per_node"}, 1, at);
      return;
    }
    t_.job.text({"launch"}, "per-node", at);
    const auto env = [&](std::string_view name, const std::string& value) {
      t_.job.text({"env", name}, value, at);
    };
    env("PET_NNODES", std::to_string(count_));
    env("PET_NPROC_PER_NODE", per_node ? per_node->text : "auto");
    t_.job.text({"setup"},
                "export WORLD_SIZE=" + std::to_string(count_ * each) +
                    " RANK=\"$NODE_RANK\" PET_NODE_RANK=\"$NODE_RANK\"\n"
                    "export PET_MASTER_ADDR=\"$MASTER_ADDR\" PET_MASTER_PORT=\"$MASTER_PORT\"",
                at);
    is_per_node_ = true;
  }

  [[nodiscard]] std::string exports(const Replicas& group) const {
    std::string line;
    for (const EnvVariable& variable : group.env)
      if (!is_shared(variable))
        line += "export " + shell_line({variable.name + "=" + variable.value}) + "\n";
    return line;
  }

  [[nodiscard]] bool is_shared(const EnvVariable& variable) const {
    return std::all_of(groups_.begin(), groups_.end(), [&](const Replicas& group) {
      return std::any_of(group.env.begin(), group.env.end(), [&](const EnvVariable& other) {
        return other.name == variable.name && other.value == variable.value;
      });
    });
  }

  /// One command where master and workers agree; else the node's index decides.
  void set_command() {
    for (const EnvVariable& variable : groups_.front().env)
      if (is_shared(variable)) t_.job.text({"env", variable.name}, variable.value, variable.place);
    const Place at = groups_.front().place;
    const bool same = groups_.size() == 1 || (texts_of(commands_[0]) == texts_of(commands_[1]) &&
                                              exports(groups_[0]) == exports(groups_[1]));
    if (same && !is_per_node_) return t_.job.texts({"command"}, commands_[0], at);
    if (same) return t_.job.text({"command"}, shell_line(texts_of(commands_[0])), at);
    // They belong to the program, which is one of two.
    for (std::vector<PlacedText>& words : commands_) {
      if (t_.took_arguments) break;
      for (const std::string& argument : t_.input.arguments) words.push_back({argument, at});
    }
    t_.took_arguments = true;
    std::string script = "if [ \"$NODE_RANK\" = 0 ]; then\n";
    script += exports(groups_[0]) + "exec " + shell_line(texts_of(commands_[0])) + "\nelse\n";
    script += exports(groups_[1]) + "exec " + shell_line(texts_of(commands_[1])) + "\nfi\n";
    t_.job.text({"command"}, script, at);
  }

  /// A job without roles has one image.
  void set_image() {
    const PlacedText& first = groups_.front().image;
    if (!first.text.empty()) set_container(t_, {"container"}, groups_.front());
    const Replicas& last = groups_.back();
    if (last.image.text == first.text || is_image_chosen(t_)) return;
    t_.diagnostics.error(
        last.image.text.empty() ? last.place : last.image.place,
        "the workers' image is " + in_quotes(last.image.text) + " and the master's " +
            in_quotes(first.text) + " (" + t_.diagnostics.refer_to(first.place) +
            "); dlaunch runs a PyTorchJob in one image: choose it with --set "
            "container.image=IMAGE, or use what is on the nodes with --no-container");
  }

  void read_elastic() {
    if (const auto elastic = spec_.find("elasticPolicy"))
      t_.note_at(elastic->key, "elasticPolicy is not used: the job has " + std::to_string(count_) +
                                   " nodes from beginning to end");
  }

  Translation& t_;
  ForeignKeys& spec_;
  std::vector<Replicas> groups_;
  std::vector<std::vector<PlacedText>> commands_;
  std::int64_t count_ = 0;
  bool is_per_node_ = false;
};

void translate_jax_job(Translation& t, ForeignKeys& spec) {
  ForeignKeys specs = spec.mapping("jaxReplicaSpecs", Spelling::loose);
  const Pods worker = read_pods(t, specs, "Worker", "jax", "jaxjob-port");
  specs.refuse_others();
  if (!worker.is_given || worker.replicas.count.value == 0) {
    if (!spec.has_mistake("jaxReplicaSpecs"))
      t.diagnostics.error(spec.place(), "a JAXJob needs jaxReplicaSpecs with a Worker");
    return;
  }
  const Replicas& group = worker.replicas;
  t.job.text({"framework"}, "jax", group.place);
  t.job.number({"nodes"}, group.count.value, group.count.place);
  t.job.number({"processes_per_node"}, 1, group.count.place);
  t.job.number({"rendezvous", "port"}, worker.port ? worker.port->value : kJaxPort,
               worker.port ? worker.port->place : group.place);
  t.job.texts({"command"}, words_of(t, group), group.place);
  for (const EnvVariable& variable : group.env)
    t.job.text({"env", variable.name}, variable.value, variable.place);
  if (!group.image.text.empty()) set_container(t, {"container"}, group);
}

}  // namespace

}  // namespace kubeflow

namespace {

using namespace kubeflow;

bool is_kubeflow(const Document& document, NodeId root) {
  const std::string version = scalar_of(document, root, "apiVersion").value_or("");
  return version.starts_with("kubeflow.org/") || version.starts_with("trainer.kubeflow.org/");
}

constexpr KeyName kKeyNames[] = {{"name", "metadata.name"},
                                 {"timeouts.run", "runPolicy.activeDeadlineSeconds"},
                                 {"env_pass", "env"},
                                 {"roles.*.env", "env"},
                                 {"roles.*.command", "command"},
                                 {"roles.*.container.image", "image"},
                                 {"container.image", "image"},
                                 {"roles.*.count", "replicas"},
                                 {"nodes", "replicas"}};

std::string why_not_kubeflow(const Document& document, NodeId root) {
  if (!is_kubeflow(document, root)) {
    const auto version = scalar_of(document, root, "apiVersion");
    return version ? "the apiVersion " + in_quotes(*version) + " is not kubeflow.org/v1 or the like"
                   : "no apiVersion of kubeflow.org";
  }
  const std::string kind = scalar_of(document, root, "kind").value_or("");
  return kind.ends_with("Job") ? "" : "the kind " + in_quotes(kind) + " is no job";
}

/// Kubeflow 0.1 and 0.2: one list of replicas, or a number of GPUs. Later versions differ in keys
/// that do not matter here. False: it was reported.
bool is_known_version(Translation& t, ForeignKeys& top, const std::string& kind) {
  const auto version = top.text("apiVersion");
  if (!version || !version->text.ends_with("/v1alpha1") || version->text.starts_with("trainer."))
    return true;
  const bool is_mpi = kind == "MPIJob";
  t.diagnostics.error(
      version->place,
      "this " + kind + " is of " + version->text +
          " (2018), which has other keys than the later versions that dlaunch reads: write " +
          (is_mpi            ? "mpiReplicaSpecs with Launcher and Worker, as in "
                               "kubeflow.org/v1 and v2beta1"
           : kind == "TFJob" ? "tfReplicaSpecs with Chief, Worker and PS, as in kubeflow.org/v1"
                             : "pytorchReplicaSpecs with Master and Worker, as in "
                               "kubeflow.org/v1"));
  return false;
}

void translate_kubeflow(Translation& t) {
  ForeignKeys top(t.document, t.diagnostics, Spelling::exact, t.root, "");
  const PlacedText kind = top.text("kind").value_or(PlacedText());
  if (const auto name = top.mapping("metadata").text("name"))
    t.job.text({"name"}, name->text, name->place);
  if (!is_known_version(t, top, kind.text)) return;
  ForeignKeys spec = top.mapping("spec");
  if (!spec.is_given()) {
    t.diagnostics.error(kind.place, "the " + kind.text + " has no spec");
    return;
  }
  if (kind.text == "PyTorchJob") {
    PytorchJob(t, spec).translate();
  } else if (kind.text == "TFJob") {
    translate_tf_job(t, spec);
  } else if (kind.text == "MPIJob") {
    translate_mpi_job(t, spec);
  } else if (kind.text == "JAXJob") {
    translate_jax_job(t, spec);
  } else {
    t.diagnostics.error(kind.place,
                        "dlaunch does not run a " + in_quotes(kind.text) +
                            did_you_mean(kind.text, {"PyTorchJob", "TFJob", "MPIJob", "JAXJob"}) +
                            "; it runs PyTorchJob, TFJob, MPIJob and JAXJob");
    return;
  }
  read_run_policy(t, spec);
  spec.skip({"cleanPodPolicy", "ttlSecondsAfterFinished", "successPolicy"});
  spec.refuse_misspelt();
  for (const PlacedText& key : spec.others()) t.not_used.push_back(key);
}

}  // namespace

const Dialect kKubeflow{"Kubeflow",
                        why_not_kubeflow,
                        translate_kubeflow,
                        /*has_inputs=*/false,
                        /*has_outputs=*/false,
                        /*has_steps=*/false,
                        "apiVersion",
                        kKeyNames,
                        /*has_modules=*/false,
                        /*starts_in_image=*/true};

}  // namespace dlaunch::spec
