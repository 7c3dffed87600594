// Groups of pods: how many, and what their container runs. Rules: Pod's API reference of
// Kubernetes.
#include <algorithm>

#include "spec/dialects/kubeflow.h"
#include "spec/expectation.h"
#include "spec/scalar.h"

namespace dlaunch::spec::kubeflow {

namespace {

/// Kubernetes replaces "$(NAME)" in commands by variables of the container, and "$$" by "$": Pod's
/// API reference, Container.command and EnvVar.value.
std::string with_variables(Translation& t, const PlacedText& word,
                           const std::vector<EnvVariable>& env) {
  std::string out;
  const std::string& text = word.text;
  const auto last = text.rfind(')');
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "$$") == 0) {
      out += '$';
      i += 2;
      continue;
    }
    const bool begins = text.compare(i, 2, "$(") == 0 && last != std::string::npos && last > i;
    const auto end = begins ? text.find(')', i) : std::string::npos;
    if (end == std::string::npos) {
      out += text[i++];
      continue;
    }
    const std::string name = text.substr(i + 2, end - i - 2);
    const auto found = std::find_if(env.rbegin(), env.rend(),
                                    [&](const EnvVariable& v) { return v.name == name; });
    if (found != env.rend()) {
      out += found->value;
    } else {
      out += text.substr(i, end + 1 - i);
      const bool is_name = !name.empty() && name.find_first_of(" \t'\"") == std::string::npos;
      if (is_name)
        t.note_at(word.place, "$(" + name + ") stays as it is: the file has no such variable");
    }
    i = end + 1;
  }
  return out;
}

/// A value may hold variables that stand before it in the list.
std::vector<EnvVariable> read_env(Translation& t, ForeignKeys& container) {
  std::vector<EnvVariable> env;
  for (EnvVariable variable : read_env_list(t, container, "env", Spelling::exact)) {
    variable.value = with_variables(t, {variable.value, variable.place}, env);
    env.push_back(std::move(variable));
  }
  return env;
}

/// The container that the operator looks at.
std::optional<NodeId> choose_container(const Document& document, const std::vector<NodeId>& all,
                                       std::string_view name) {
  for (const NodeId id : all) {
    if (scalar_of(document, id, "name") == std::optional<std::string>(name)) return id;
  }
  return all.empty() ? std::nullopt : std::optional(all.front());
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
  pods.replicas.env = read_env(t, container);
  for (PlacedText word : container.texts("command")) {
    word.text = with_variables(t, word, pods.replicas.env);
    pods.replicas.command.push_back(word);
  }
  for (PlacedText word : container.texts("args")) {
    word.text = with_variables(t, word, pods.replicas.env);
    pods.replicas.args.push_back(word);
  }
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

}  // namespace dlaunch::spec::kubeflow
