// Several groups of pods in one job: see kubeflow.h.
#include <algorithm>

#include "jobfile/dialects/kubeflow.h"
#include "jobfile/shell_quote.h"

namespace dlaunch::jobfile::kubeflow {

namespace {

bool is_shared(const std::vector<PodGroup>& groups, const EnvVariable& variable) {
  return std::all_of(groups.begin(), groups.end(), [&](const PodGroup& group) {
    const auto& env = group.replicas.env;
    return std::any_of(env.begin(), env.end(), [&](const EnvVariable& other) {
      return other.name == variable.name && other.value == variable.value;
    });
  });
}

/// Exports the variables that are not the same in all groups.
std::string exports(const std::vector<PodGroup>& groups, const PodGroup& group) {
  std::string lines;
  for (const std::string& line : group.setup) lines += "export " + line + "\n";
  for (const EnvVariable& variable : group.replicas.env)
    if (!is_shared(groups, variable))
      lines += "export " + shell_line({variable.name + "=" + variable.value}) + "\n";
  return lines;
}

/// "if", "elif" or "else", for the nodes of the group; `end`: the index after its last node.
std::string condition(std::size_t index, std::size_t groups, std::int64_t end) {
  if (index + 1 == groups) return "else\n";
  const std::string test = end == 1 ? "= 0" : "-lt " + std::to_string(end);
  return (index == 0 ? "if" : "elif") + (" [ \"$DLAUNCH_NODE_RANK\" " + test) + " ]; then\n";
}

}  // namespace

void set_group_commands(Translation& t, std::vector<PodGroup>& groups, bool needs_shell) {
  const PodGroup& first = groups.front();
  for (const EnvVariable& variable : first.replicas.env)
    if (is_shared(groups, variable))
      t.job.text({"env", variable.name}, variable.value, variable.range);
  const SourceRange at = first.replicas.range;
  const bool is_same = std::all_of(groups.begin(), groups.end(), [&](const PodGroup& group) {
    return line_of(group.words) == line_of(first.words) &&
           exports(groups, group) == exports(groups, first);
  });
  const std::string lines = exports(groups, first);
  if (is_same && !needs_shell && lines.empty())
    return set_command(t.job, {"command"}, first.words, at);
  if (is_same)
    return t.job.text({"command"}, lines + (lines.empty() ? "" : "exec ") + line_of(first.words),
                      at);
  std::string script;
  std::int64_t end = 0;
  for (PodGroup& group : groups) {
    for (const std::string& argument : t.input.arguments)
      if (!t.took_arguments) group.words.push_back({argument, at});
    end += group.replicas.count.value;
    const auto index = static_cast<std::size_t>(&group - groups.data());
    script += condition(index, groups.size(), end) + exports(groups, group) + "exec " +
              line_of(group.words) + '\n';
  }
  t.took_arguments = true;
  t.job.text({"command"}, script + "fi\n", at);
}

void set_group_image(Translation& t, const std::vector<PodGroup>& groups, const std::string& what,
                     const std::string& first, const std::string& other) {
  const LocatedText& image = groups.front().replicas.image;
  if (!image.text.empty()) set_container(t, {"container"}, groups.front().replicas);
  for (const PodGroup& group : groups) {
    const LocatedText& own = group.replicas.image;
    if (own.text == image.text || is_image_chosen(t)) continue;
    t.diagnostics.error(own.text.empty() ? group.replicas.range : own.range,
                        "the " + other + "' image is " + in_quotes(own.text) + " and the " + first +
                            "'s " + in_quotes(image.text) + " (" +
                            t.diagnostics.refer_to(image.range) + "), but dlaunch runs " + what +
                            " in one image: choose it with --set container.image=IMAGE, or use "
                            "the software installed on the nodes: --no-container");
    return;
  }
}

}  // namespace dlaunch::jobfile::kubeflow
