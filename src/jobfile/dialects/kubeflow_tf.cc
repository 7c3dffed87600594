// TFJob. Rules: training-operator v1.9, "API Reference", pkg/controller.v1/tensorflow,
// pkg/webhooks/tensorflow.
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "jobfile/dialects/kubeflow.h"
#include "text/strings.h"

namespace dlaunch::jobfile::kubeflow {

namespace {

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

/// The groups that have a pod.
std::vector<TfGroup> read_tf_groups(Translation& t, ForeignKeys& spec) {
  ForeignKeys specs = spec.mapping("tfReplicaSpecs", Spelling::loose);
  std::vector<TfGroup> groups;
  std::optional<Place> chief;
  for (const TfType& type : kTfTypes) {
    Pods pods = read_pods(t, specs, type.name, "tensorflow", "tfjob-port");
    if (!pods.is_given) continue;
    pods.replicas.role = type.role;
    const bool is_chief = pods.replicas.role == "chief";
    // "must not have more than 1 Chief or Master role" (tfjob_webhook.go)
    if (is_chief && chief)
      t.diagnostics.error(pods.replicas.place,
                          "a TFJob has a Chief or a Master, which are the same; "
                          "leave out one of them (Chief, " +
                              t.diagnostics.refer_to(*chief) + ')');
    if (is_chief) chief = pods.replicas.place;
    if (pods.replicas.count.value == 0) continue;
    groups.push_back({std::move(pods), type.name});
  }
  specs.refuse_others();
  if (groups.empty() && !spec.has_mistake("tfReplicaSpecs"))
    t.diagnostics.error(spec.place(), "a TFJob needs tfReplicaSpecs with a Chief or Workers");
  return groups;
}

/// A single pod is not a cluster.
void translate_lone_tf_pod(Translation& t, const Replicas& only) {
  t.job.text({"framework"}, "none", only.count.place);
  t.job.number({"processes"}, 1, only.count.place);
  set_command(t.job, {"command"}, words_of(t, only), only.place);
  for (const EnvVariable& variable : only.env)
    t.job.text({"env", variable.name}, variable.value, variable.place);
  if (!only.image.text.empty()) set_container(t, {"container"}, only);
}

/// genClusterSpec of the operator (tensorflow.go): the cluster has every type of replica under its
/// lower-case name.
void set_tf_cluster(Translation& t, const std::vector<TfGroup>& groups) {
  for (const TfGroup& group : groups) {
    const Place at = group.pods.replicas.place;
    if (group.type == "Master") t.job.text({"tensorflow", "chief"}, "master", at);
    if (group.type == "Evaluator") t.job.text({"tensorflow", "evaluator"}, "listed", at);
  }
}

}  // namespace

// TF_CONFIG for every pod; "not set when there is one replica".
void translate_tf_job(Translation& t, ForeignKeys& spec) {
  std::vector<TfGroup> groups = read_tf_groups(t, spec);
  if (groups.empty()) return;
  if (spec.is_true("enableDynamicWorker"))
    t.note_at(spec.place(), "enableDynamicWorker is not used: the cluster stays as it begins");
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
  t.job.text({"framework"}, "tensorflow", spec.place());
  set_tf_cluster(t, groups);
  set_roles(t, replicas);
  // "default": the chief, or worker 0, decides.
  const auto policy = spec.text("successPolicy");
  const bool all = policy && lower(policy->text) == "allworkers";
  t.job.text({"success"}, all ? "workers" : "chief", policy ? policy->place : spec.place());
}

}  // namespace dlaunch::jobfile::kubeflow
