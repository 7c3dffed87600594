// Kubeflow's jobs: what they share (groups of pods), and the kinds JAXJob and TFJob. Rules:
// training-operator v1.9, "API Reference", pkg/controller.v1; Pod's API reference of Kubernetes.
#include "jobfile/dialects/kubeflow.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobfile/dialects/dialect.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace kubeflow {

namespace {

/// The container that the operator uses.
std::optional<NodeId> choose_container(const Document& document, const std::vector<NodeId>& all,
                                       std::string_view name) {
  for (const NodeId id : all) {
    if (scalar_of(document, id, "name") == std::optional<std::string>(name)) return id;
  }
  return all.empty() ? std::nullopt : std::optional(all.front());
}

void note_overridden(Translation& t, const std::vector<EnvVariable>& dropped) {
  if (dropped.empty()) return;
  t.note_at(dropped.front().range,
            joined(dropped, ", ", &EnvVariable::name) +
                (dropped.size() == 1 ? " in env is not used: dlaunch sets it"
                                     : " in env are not used: dlaunch sets them") +
                ", in place of the training operator");
}

void read_ports(ForeignKeys& container, const Document& document, std::string_view wanted,
                Pods& pods) {
  for (const NodeId port : container.list("ports")) {
    const auto number = scalar_of(document, port, "containerPort");
    const auto value = number ? parse_integer(*number) : std::nullopt;
    if (value && scalar_of(document, port, "name") == std::optional<std::string>(wanted))
      pods.port = LocatedNumber{*value, document[port].range};
  }
}

}  // namespace

void add_variables(Translation& t, Pods& pods, const std::vector<AddedVariable>& added) {
  Replicas& group = pods.replicas;
  std::vector<EnvVariable> dropped;
  const auto is_overridden = [&](const EnvVariable& own) {
    const auto found = std::find_if(added.begin(), added.end(),
                                    [&](const AddedVariable& a) { return a.name == own.name; });
    if (found == added.end()) return false;
    if (found->is_shell || found->value != own.value) dropped.push_back(own);
    return true;
  };
  std::erase_if(group.env, is_overridden);
  note_overridden(t, dropped);
  for (std::vector<LocatedText>* words : {&group.command, &group.args})
    for (LocatedText& word : *words) word = with_references(t, word, group.env, added);
}

Pods read_pods(Translation& t, ForeignKeys& specs, std::string_view name,
               std::string_view container_name, std::string_view port) {
  Pods pods;
  ForeignKeys group = specs.mapping(name);
  if (!group.is_given()) return pods;
  pods.is_given = true;
  pods.replicas.range = group.range();
  pods.replicas.count = group.integer("replicas").value_or(LocatedNumber{1, group.range()});
  group.skip({"restartPolicy"});
  ForeignKeys pod = group.mapping("template").mapping("spec");
  read_pod(t, pod, name, container_name, port, pods);
  group.refuse_misspelt();
  for (const LocatedText& key : group.others()) t.not_used.push_back(key);
  return pods;
}

void read_pod(Translation& t, ForeignKeys& pod, std::string_view owner,
              std::string_view container_name, std::string_view port, Pods& pods,
              const FieldMeanings& meanings) {
  const std::vector<NodeId> containers = pod.list("containers");
  const auto chosen = choose_container(t.document, containers, container_name);
  if (!chosen || t.document[*chosen].kind != NodeKind::mapping) {
    t.diagnostics.error(pods.replicas.range, std::string(owner) + " has no container");
    return;
  }
  if (containers.size() > 1) {
    const auto name = scalar_of(t.document, *chosen, "name");
    t.note_at(pods.replicas.range,
              "of the pod's containers, only " + (name ? in_quotes(*name) : "the first") + " runs");
  }
  ForeignKeys container(t.document, t.diagnostics, Spelling::exact, *chosen, "containers[]");
  pods.replicas.image = container.text("image").value_or(LocatedText());
  pods.replicas.workdir = container.text("workingDir").value_or(LocatedText());
  pods.replicas.env = read_env_list(t, container, "env", Spelling::exact, meanings);
  pods.replicas.command = container.texts("command");
  pods.replicas.args = container.texts("args");
  read_ports(container, t.document, port, pods);
  container.skip({"name", "imagePullPolicy", "resources", "securityContext",
                  "terminationMessagePath", "terminationMessagePolicy"});
  container.refuse_misspelt();
  for (const LocatedText& key : container.others()) t.not_used.push_back(key);
  for (const LocatedText& key : pod.given_of({"initContainers"})) t.not_used.push_back(key);
}

namespace {

// The port of the first pod (jax_defaults.go of the operator).
constexpr std::int64_t kJaxPort = 6666;

void read_run_policy(Translation& t, ForeignKeys& spec) {
  ForeignKeys policy = spec.mapping("runPolicy");
  for (ForeignKeys* keys : {&policy, &spec}) {
    constexpr std::int64_t kMostSeconds = 3'000'000'000;
    if (const auto limit = keys->integer("activeDeadlineSeconds", 1, kMostSeconds))
      t.job.text({"timeouts", "run"}, std::to_string(limit->value) + "s", limit->range);
    if (const auto limit = keys->integer("backoffLimit"); limit && limit->value > 0)
      t.note_at(limit->range,
                "backoffLimit is not used; for restarts of the whole job: --set "
                "restart.max=" +
                    std::to_string(limit->value));
  }
}

void translate_jax_job(Translation& t, ForeignKeys& spec) {
  ForeignKeys specs = spec.mapping("jaxReplicaSpecs", Spelling::loose);
  Pods worker = read_pods(t, specs, "Worker", "jax", "jaxjob-port");
  specs.refuse_others();
  if (!worker.is_given || worker.replicas.count.value == 0) {
    if (!spec.has_mistake("jaxReplicaSpecs"))
      t.diagnostics.error(spec.range(), "a JAXJob needs jaxReplicaSpecs with a Worker");
    return;
  }
  std::vector<AddedVariable> added{{"PYTHONUNBUFFERED", "1"}};  // setPodEnv of jax/envvar.go
  for (const std::string name :
       {"COORDINATOR_PORT", "COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID"})
    added.push_back({name, "${" + name + '}', true});
  add_variables(t, worker, added);
  const Replicas& group = worker.replicas;
  t.job.text({"framework"}, "jax", group.range);
  t.job.number({"nodes"}, group.count.value, group.count.range);
  t.job.number({"processes_per_node"}, 1, group.count.range);
  t.job.number({"rendezvous", "port"}, worker.port ? worker.port->value : kJaxPort,
               worker.port ? worker.port->range : group.range);
  set_command(t.job, {"command"}, words_of(t, group), group.range);
  for (const EnvVariable& variable : group.env)
    t.job.text({"env", variable.name}, variable.value, variable.range);
  if (!group.image.text.empty()) set_container(t, {"container"}, group);
}

// TFJob. Rules: training-operator v1.9, "API Reference", pkg/controller.v1/tensorflow,
// pkg/webhooks/tensorflow.

struct TfType {
  const char* name;
  const char* role;
};
constexpr std::array<TfType, 5> kTfTypes{{{"Chief", "chief"},
                                          {"Master", "chief"},
                                          {"Worker", "worker"},
                                          {"PS", "ps"},
                                          {"Evaluator", "evaluator"}}};

struct TfGroup {
  Pods pods;
  std::string_view type;
};

/// The groups that have at least one pod.
std::vector<TfGroup> read_tf_groups(Translation& t, ForeignKeys& spec) {
  ForeignKeys specs = spec.mapping("tfReplicaSpecs", Spelling::loose);
  std::vector<TfGroup> groups;
  std::optional<SourceRange> chief;
  for (const TfType& type : kTfTypes) {
    Pods pods = read_pods(t, specs, type.name, "tensorflow", "tfjob-port");
    if (!pods.is_given) continue;
    pods.replicas.role = type.role;
    const bool is_chief = pods.replicas.role == "chief";
    // "must not have more than 1 Chief or Master role" (tfjob_webhook.go)
    if (is_chief && chief)
      t.diagnostics.error(pods.replicas.range,
                          "a TFJob has either a Chief or a Master, not both; "
                          "remove one of them (Chief, " +
                              t.diagnostics.refer_to(*chief) + ')');
    if (is_chief) chief = pods.replicas.range;
    if (pods.replicas.count.value == 0) continue;
    groups.push_back({std::move(pods), type.name});
  }
  specs.refuse_others();
  if (groups.empty() && !spec.has_mistake("tfReplicaSpecs"))
    t.diagnostics.error(spec.range(), "a TFJob needs tfReplicaSpecs with a Chief or Workers");
  return groups;
}

/// Translates a TFJob with a single pod, which is not a cluster.
void translate_lone_tf_pod(Translation& t, const Replicas& only) {
  t.job.text({"framework"}, "none", only.count.range);
  t.job.number({"processes"}, 1, only.count.range);
  set_command(t.job, {"command"}, words_of(t, only), only.range);
  for (const EnvVariable& variable : only.env)
    t.job.text({"env", variable.name}, variable.value, variable.range);
  if (!only.image.text.empty()) set_container(t, {"container"}, only);
}

/// Follows genClusterSpec of the operator (tensorflow.go): the cluster lists every type of replica
/// under its lower-case name.
void set_tf_cluster(Translation& t, const std::vector<TfGroup>& groups) {
  for (const TfGroup& group : groups) {
    const SourceRange at = group.pods.replicas.range;
    if (group.type == "Master") t.job.text({"tensorflow", "chief"}, "master", at);
    if (group.type == "Evaluator") t.job.text({"tensorflow", "evaluator"}, "listed", at);
  }
}

/// Every pod gets TF_CONFIG; "not set when there is one replica".
void translate_tf_job(Translation& t, ForeignKeys& spec) {
  std::vector<TfGroup> groups = read_tf_groups(t, spec);
  if (groups.empty()) return;
  if (spec.is_true("enableDynamicWorker"))
    t.note_at(spec.range(), "enableDynamicWorker is not used: the cluster keeps its initial size");
  const bool is_lone = groups.size() == 1 && groups.front().pods.replicas.count.value == 1;
  std::vector<AddedVariable> added;
  if (!is_lone) added = {{"TF_CONFIG", "${TF_CONFIG}", true}};
  std::vector<Replicas> replicas;
  replicas.reserve(groups.size());
  for (TfGroup& group : groups) {
    add_variables(t, group.pods, added);
    replicas.push_back(group.pods.replicas);
  }
  if (is_lone) return translate_lone_tf_pod(t, replicas.front());
  t.job.text({"framework"}, "tensorflow", spec.range());
  set_tf_cluster(t, groups);
  set_roles(t, replicas);
  // "default": the chief, or worker 0, decides.
  const auto policy = spec.text("successPolicy");
  const bool all = policy && lower(policy->text) == "allworkers";
  t.job.text({"success"}, all ? "workers" : "chief", policy ? policy->range : spec.range());
}

}  // namespace

}  // namespace kubeflow

namespace {

using namespace kubeflow;

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
  const auto version = scalar_of(document, root, "apiVersion");
  if (!version || !version->starts_with("kubeflow.org/")) {
    return version ? "the apiVersion " + in_quotes(*version) + " does not begin with kubeflow.org/"
                   : "no apiVersion of kubeflow.org";
  }
  const std::string kind = scalar_of(document, root, "kind").value_or("");
  return kind.ends_with("Job") ? "" : "the kind " + in_quotes(kind) + " is not a job";
}

/// Refuses the API of Kubeflow 0.1 and 0.2, which has one list of replicas, or a number of GPUs.
/// Differences between later versions do not matter here. False: an error was reported.
bool is_known_version(Translation& t, ForeignKeys& top, const std::string& kind) {
  const auto version = top.text("apiVersion");
  if (!version || !version->text.ends_with("/v1alpha1") || version->text.starts_with("trainer."))
    return true;
  const bool is_mpi = kind == "MPIJob";
  t.diagnostics.error(
      version->range,
      "this " + kind + " uses " + version->text +
          " (2018), whose keys differ from those of the later versions that dlaunch reads: write " +
          (is_mpi            ? "mpiReplicaSpecs with Launcher and Worker, as in "
                               "kubeflow.org/v1 and v2beta1"
           : kind == "TFJob" ? "tfReplicaSpecs with Chief, Worker and PS, as in kubeflow.org/v1"
                             : "pytorchReplicaSpecs with Master and Worker, as in "
                               "kubeflow.org/v1"));
  return false;
}

void translate_kubeflow(Translation& t) {
  ForeignKeys top(t.document, t.diagnostics, Spelling::exact, t.root, "");
  const LocatedText kind = top.text("kind").value_or(LocatedText());
  if (const auto name = top.mapping("metadata").text("name"))
    t.job.text({"name"}, name->text, name->range);
  if (!is_known_version(t, top, kind.text)) return;
  ForeignKeys spec = top.mapping("spec");
  if (!spec.is_given()) return t.diagnostics.error(kind.range, "the " + kind.text + " has no spec");
  if (kind.text == "PyTorchJob") {
    translate_pytorch_job(t, spec);
  } else if (kind.text == "TFJob") {
    translate_tf_job(t, spec);
  } else if (kind.text == "MPIJob") {
    translate_mpi_job(t, spec);
  } else if (kind.text == "JAXJob") {
    translate_jax_job(t, spec);
  } else {
    const std::string meant = did_you_mean(kind.text, {"PyTorchJob", "TFJob", "MPIJob", "JAXJob"});
    t.diagnostics.error(
        kind.range,
        "dlaunch does not run jobs of kind " + in_quotes(kind.text) + meant +
            "; it runs PyTorchJob, TFJob, MPIJob and JAXJob" +
            (meant.empty()
                 ? ". To start one process for each of its N pods, with RANK, WORLD_SIZE, "
                   "MASTER_ADDR and MASTER_PORT: dlaunch run --nnodes N --nproc-per-node "
                   "1 -- COMMAND"
                 : ""));
    return;
  }
  read_run_policy(t, spec);
  spec.skip({"cleanPodPolicy", "ttlSecondsAfterFinished", "successPolicy"});
  spec.refuse_misspelt();
  for (const LocatedText& key : spec.others()) t.not_used.push_back(key);
}

}  // namespace

const Dialect kKubeflow{.name = "Kubeflow",
                        .why_not = why_not_kubeflow,
                        .translate = translate_kubeflow,
                        .own_key = "apiVersion",
                        .key_names = kKeyNames,
                        .starts_in_image = true};

}  // namespace dlaunch::jobfile
