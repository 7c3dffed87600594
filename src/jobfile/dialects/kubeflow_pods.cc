// Groups of pods: their number and their containers' command. Rules: Pod's API reference of
// Kubernetes.
#include <algorithm>

#include "jobfile/dialects/kubeflow.h"
#include "jobfile/expectation.h"
#include "jobfile/scalar.h"

namespace dlaunch::jobfile::kubeflow {

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
  std::string names;
  for (const EnvVariable& one : dropped) names += (names.empty() ? "" : ", ") + one.name;
  t.note_at(dropped.front().place,
            names +
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
      pods.port = PlacedNumber{*value, document[port].place};
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
  for (std::vector<PlacedText>* words : {&group.command, &group.args})
    for (PlacedText& word : *words) word = with_references(t, word, group.env, added);
}

Pods read_pods(Translation& t, ForeignKeys& specs, std::string_view name,
               std::string_view container_name, std::string_view port) {
  Pods pods;
  ForeignKeys group = specs.mapping(name);
  if (!group.is_given()) return pods;
  pods.is_given = true;
  pods.replicas.place = group.place();
  pods.replicas.count = group.integer("replicas").value_or(PlacedNumber{1, group.place()});
  group.skip({"restartPolicy"});
  ForeignKeys pod = group.mapping("template").mapping("spec");
  const std::vector<NodeId> containers = pod.list("containers");
  const auto chosen = choose_container(t.document, containers, container_name);
  if (!chosen || t.document[*chosen].kind != NodeKind::mapping) {
    t.diagnostics.error(group.place(), std::string(name) + " has no container");
    return pods;
  }
  if (containers.size() > 1) {
    t.note_at(pods.replicas.place,
              "of several containers only " +
                  in_quotes(scalar_of(t.document, *chosen, "name").value_or("the first")) +
                  " runs");
  }
  ForeignKeys container(t.document, t.diagnostics, Spelling::exact, *chosen, "containers[]");
  pods.replicas.image = container.text("image").value_or(PlacedText());
  pods.replicas.workdir = container.text("workingDir").value_or(PlacedText());
  pods.replicas.env = read_env_list(t, container, "env", Spelling::exact);
  pods.replicas.command = container.texts("command");
  pods.replicas.args = container.texts("args");
  read_ports(container, t.document, port, pods);
  container.skip({"name", "imagePullPolicy", "resources", "securityContext",
                  "terminationMessagePath", "terminationMessagePolicy"});
  for (ForeignKeys* keys : {&group, &container}) {
    keys->refuse_misspelt();
    for (const PlacedText& key : keys->others()) t.not_used.push_back(key);
  }
  for (const PlacedText& key : pod.given_of({"initContainers"})) t.not_used.push_back(key);
  return pods;
}

}  // namespace dlaunch::jobfile::kubeflow
