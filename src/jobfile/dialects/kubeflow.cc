// Kubeflow's jobs, and JAXJob itself. Rules: training-operator v1.9, "API Reference",
// pkg/controller.v1.
#include "jobfile/dialects/kubeflow.h"

#include "jobfile/dialects/dialect.h"
#include "jobfile/expectation.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"

namespace dlaunch::jobfile {

namespace kubeflow {

namespace {

// jax_defaults.go of the operator: the port of the first pod.
constexpr std::int64_t kJaxPort = 6666;

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

void translate_jax_job(Translation& t, ForeignKeys& spec) {
  ForeignKeys specs = spec.mapping("jaxReplicaSpecs", Spelling::loose);
  Pods worker = read_pods(t, specs, "Worker", "jax", "jaxjob-port");
  specs.refuse_others();
  if (!worker.is_given || worker.replicas.count.value == 0) {
    if (!spec.has_mistake("jaxReplicaSpecs"))
      t.diagnostics.error(spec.place(), "a JAXJob needs jaxReplicaSpecs with a Worker");
    return;
  }
  std::vector<AddedVariable> added{{"PYTHONUNBUFFERED", "1"}};  // setPodEnv of jax/envvar.go
  for (const std::string name :
       {"COORDINATOR_PORT", "COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID"})
    added.push_back({name, "${" + name + '}', true});
  add_variables(t, worker, added);
  const Replicas& group = worker.replicas;
  t.job.text({"framework"}, "jax", group.place);
  t.job.number({"nodes"}, group.count.value, group.count.place);
  t.job.number({"processes_per_node"}, 1, group.count.place);
  t.job.number({"rendezvous", "port"}, worker.port ? worker.port->value : kJaxPort,
               worker.port ? worker.port->place : group.place);
  set_command(t.job, {"command"}, words_of(t, group), group.place);
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
  return version.starts_with("kubeflow.org/");
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
  return kind.ends_with("Job") ? "" : "the kind " + in_quotes(kind) + " is not a job";
}

/// Kubeflow 0.1 and 0.2: one list of replicas, or a number of GPUs. Differences between later
/// versions do not matter here. False: an error was reported.
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
        kind.place,
        "dlaunch does not run a " + in_quotes(kind.text) + meant +
            "; it runs PyTorchJob, TFJob, MPIJob and JAXJob" +
            (meant.empty()
                 ? ". With a process for each of its N pods, which finds RANK, WORLD_SIZE, "
                   "MASTER_ADDR and MASTER_PORT: dlaunch run --nnodes N --nproc-per-node "
                   "1 -- COMMAND"
                 : ""));
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

}  // namespace dlaunch::jobfile
