#include "jobfile/dialects/pod_job.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobfile/dialects/shell_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/scalar.h"
#include "model/rank_variables.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

using kubeflow::PodGroup;

namespace {

bool is_of_host(char c) {
  return is_letter_or_digit(c) || c == '-' || c == '.';
}

/// Whether dlaunch always sets this variable for the node.
bool is_nodes_own(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames{"MASTER_ADDR", "MASTER_PORT", "NODE_RANK",
                                                   "GROUP_RANK", "GROUP_WORLD_SIZE"};
  return contains(kNames, name);
}

std::string in_double_quotes(std::string_view text) {
  std::string out = "\"";
  append_in_double_quotes(out, text);
  return out + '"';
}

/// Shell text for the index of the node in its group, modulo or divided by the pods per Job.
std::string index_text(std::int64_t first, char operation, std::int64_t per_job) {
  return "$(((DLAUNCH_NODE_RANK - " + std::to_string(first) + ") " + operation + ' ' +
         std::to_string(per_job) + "))";
}

bool wants_tpu(const Document& document, NodeId container) {
  const auto resources = value_of(document, container, "resources");
  const auto limits = resources ? value_of(document, *resources, "limits") : std::nullopt;
  return limits && value_of(document, *limits, "google.com/tpu");
}

}  // namespace

std::int64_t PodJob::nodes() const {
  std::int64_t all = 0;
  for (const PodGroup& group : groups_) all += group.replicas.count.value;
  return all;
}

std::string PodJob::master() const {
  return framework_ == "jax" ? "${JAX_COORDINATOR_ADDRESS%:*}" : "${MASTER_ADDR}";
}

/// The meanings of the annotations that Job and JobSet give to a pod.
FieldMeanings PodJob::meanings(const PodJobGroup& group, std::int64_t per_job) const {
  const std::int64_t first = nodes();
  std::int64_t jobs_before = 0;
  for (const PodJobGroup& before : given_) jobs_before += before.jobs.value;
  const bool is_all = first == 0 && group.jobs.value == 1;
  const std::string index = is_all ? "$DLAUNCH_NODE_RANK" : index_text(first, '%', per_job);
  const std::string job = is_all ? "0" : index_text(first, '/', per_job);
  return [=, this](std::string_view path) -> std::optional<FieldMeaning> {
    const auto has = [&](std::string_view key) { return path.find(key) != std::string_view::npos; };
    if (has("batch.kubernetes.io/job-completion-index")) return FieldMeaning{index, true};
    if (has("jobset.sigs.k8s.io/job-index")) return FieldMeaning{job, !is_all};
    if (has("jobset.sigs.k8s.io/job-global-index"))
      return FieldMeaning{
          jobs_before == 0 ? job : index_text(first - jobs_before * per_job, '/', per_job),
          !is_all || jobs_before > 0};
    if (has("jobset.sigs.k8s.io/jobset-name")) return FieldMeaning{name_};
    if (has("jobset.sigs.k8s.io/replicatedjob-name")) return FieldMeaning{group.name};
    if (has("jobset.sigs.k8s.io/replicatedjob-replicas"))
      return FieldMeaning{std::to_string(group.jobs.value)};
    if (has("jobset.sigs.k8s.io/coordinator")) return FieldMeaning{master(), true};
    return std::nullopt;
  };
}

/// Reads the number of pods. A Job runs `parallelism` pods at a time until `completions` pods have
/// ended.
void PodJob::read_counts(ForeignKeys& spec, const PodJobGroup& group,
                         const std::optional<LocatedNumber>& count, Replicas& pods) {
  pods.range = group.range;
  const auto parallelism = spec.integer("parallelism");
  const auto completions = spec.integer("completions");
  const LocatedNumber one{1, group.range};
  LocatedNumber all = count ? *count : completions ? *completions : parallelism.value_or(one);
  if (!count && completions && parallelism && parallelism->value < completions->value)
    t_.note_at(parallelism->range, "all " + std::to_string(completions->value) +
                                       " pods run at once, not " +
                                       std::to_string(parallelism->value) + " at a time");
  per_job_ = std::max<std::int64_t>(all.value, 1);
  pods.count = {all.value * group.jobs.value, all.range};
}

void PodJob::add(ForeignKeys& spec, const PodJobGroup& group,
                 const std::optional<LocatedNumber>& count, std::string_view container) {
  kubeflow::Pods pods;
  read_counts(spec, group, count, pods.replicas);
  ForeignKeys pod = spec.mapping("template").mapping("spec");
  for (const NodeId one : pod.list("containers"))
    if (wants_tpu(t_.document, one))
      t_.diagnostics.error(t_.document[one].range,
                           "the pods need TPUs, which dlaunch does not support");
  const std::string owner = group.name.empty() ? "the Job" : in_quotes(group.name);
  kubeflow::read_pod(t_, pod, owner, container, "", pods, meanings(group, per_job_));
  if (pods.replicas.count.value == 0) return;
  // The pods of an indexed Job get this index, and the Jobs of a JobSet are indexed by default.
  const auto index = meanings(group, per_job_)("batch.kubernetes.io/job-completion-index");
  groups_.push_back(
      {std::move(pods.replicas), {}, {"JOB_COMPLETION_INDEX=\"" + index->value + '"'}});
  given_.push_back(group);
}

void PodJob::add_export(const std::string& name, const std::string& value) {
  exports_.emplace_back(name, value);
}

/// Replaces the address of the first pod with the master's. The addresses of other pods are known
/// only in Kubernetes, so they are errors. True: an address was replaced.
bool PodJob::replace_hosts(std::string& text, SourceRange at) {
  bool found_any = false;
  if (name_.empty()) return false;
  for (const PodJobGroup& group : given_) {
    const bool is_job = group.name.empty();
    const std::string prefix = name_ + '-' + (is_job ? "" : group.name + '-');
    const std::string first = prefix + (is_job ? "0" : "0-0");
    for (auto begin = text.find(prefix); begin != std::string::npos;
         begin = text.find(prefix, begin + 1)) {
      if (begin > 0 && is_of_host(text[begin - 1])) continue;
      auto end = begin + prefix.size();
      while (end < text.size() && is_of_host(text[end])) ++end;
      const std::string host = text.substr(begin, end - begin);
      const std::string name = host.substr(0, host.find('.'));
      const bool is_pod = is_digit(host.back()) || host.find('.') != std::string::npos;
      if (!is_pod || name.size() == prefix.size() || !is_digit(name[prefix.size()]) ||
          (is_job && name.size() == host.size()))
        continue;
      if (name != first || &group != &given_.front()) {
        t_.diagnostics.error(at, in_quotes(host) +
                                     " is the address of a pod, which only "
                                     "Kubernetes knows; the address of the first "
                                     "pod is $MASTER_ADDR");
        return false;
      }
      text.replace(begin, end - begin, master());
      found_any = true;
    }
  }
  return found_any;
}

/// Variables whose values are known only when the node starts, and those that dlaunch would set
/// for ranks, become exports.
void PodJob::set_variables(PodGroup& group) {
  std::vector<EnvVariable> kept;
  for (EnvVariable& variable : group.replicas.env) {
    const bool is_rank = is_rank_variable(Framework::pytorch, variable.name);
    if (variable.name == "MASTER_PORT" && parse_integer(variable.value))
      port_ = {variable.value, variable.range};
    if (is_nodes_own(variable.name)) {
      if (overridden_.empty()) overridden_at_ = variable.range;
      if (!contains(overridden_, variable.name)) overridden_.push_back(variable.name);
      continue;
    }
    std::string value = variable.is_shell ? variable.value : "";
    if (!variable.is_shell) append_in_double_quotes(value, variable.value);
    const bool has_host = replace_hosts(value, variable.range);
    if (has_host || variable.is_shell || is_rank) {
      group.setup.push_back(variable.name + "=\"" + value + '"');
    } else {
      kept.push_back(std::move(variable));
    }
  }
  group.replicas.env = std::move(kept);
}

void PodJob::set_words(PodGroup& group) {
  std::vector<AddedVariable> added;
  for (const std::string name : {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK"})
    added.push_back({name, "${" + name + '}', true});
  for (const std::string& line : group.setup) {
    const std::string name = line.substr(0, line.find('='));
    added.push_back({name, "${" + name + '}', true});
  }
  for (std::vector<LocatedText>* words : {&group.replicas.command, &group.replicas.args}) {
    for (LocatedText& word : *words) {
      word = with_references(t_, word, group.replicas.env, added);
      std::string shell = word.shell.empty() ? in_double_quotes(word.text) : word.shell;
      if (replace_hosts(shell, word.range)) word.shell = shell;
    }
  }
  group.words = words_of(t_, group.replicas);
}

void PodJob::refuse_launchers(const PodGroup& group) {
  const std::string_view launcher =
      started_program(line_of(group.words), {"mpirun", "mpiexec", "horovodrun"});
  if (!launcher.empty())
    t_.diagnostics.error(group.words.front().range,
                         "the pods' command starts " + std::string(launcher) +
                             ", which reaches the other pods by ssh; to let dlaunch start the "
                             "program instead: --set framework=mpi --set command='PROGRAM'");
}

void PodJob::finish(const std::string& what) {
  if (groups_.empty()) return;
  if (framework_.empty()) framework_ = "pytorch";
  for (PodGroup& group : groups_) {
    set_variables(group);
    for (const auto& [name, value] : exports_) group.setup.push_back(name + "=\"" + value + '"');
    set_words(group);
    if (!t_.is_set("command")) refuse_launchers(group);
  }
  if (!overridden_.empty())
    t_.note_at(overridden_at_,
               joined(overridden_) + (overridden_.size() == 1 ? " in env is" : " in env are") +
                   " not used: dlaunch sets " + (overridden_.size() == 1 ? "it" : "them"));
  const SourceRange at = groups_.front().replicas.count.range;
  t_.job.text({"framework"}, framework_, groups_.front().replicas.range);
  t_.job.number({"nodes"}, nodes(), at);
  if (framework_ == "jax") {
    t_.job.number({"processes_per_node"}, 1, at);
  } else {
    t_.job.text({"launch"}, "per-node", at);
  }
  if (const auto port = parse_integer(port_.text))
    t_.job.number({"rendezvous", "port"}, *port, port_.range);
  kubeflow::set_group_commands(t_, groups_, false);
  kubeflow::set_group_image(t_, groups_, what, "first group", "other pods");
}

void note_job_keys(Translation& t, ForeignKeys& spec) {
  constexpr std::int64_t kMostSeconds = 3'000'000'000;
  if (const auto limit = spec.integer("activeDeadlineSeconds", 1, kMostSeconds))
    t.job.text({"timeouts", "run"}, std::to_string(limit->value) + "s", limit->range);
  if (const auto limit = spec.integer("backoffLimit"); limit && limit->value > 0)
    t.note_at(limit->range,
              "backoffLimit is not used; for restarts of the whole job: --set "
              "restart.max=" +
                  std::to_string(limit->value));
  spec.skip({"completionMode", "ttlSecondsAfterFinished", "suspend", "selector", "manualSelector",
             "podReplacementPolicy", "managedBy"});
  spec.refuse_misspelt();
  for (const LocatedText& key : spec.others()) t.not_used.push_back(key);
}

}  // namespace dlaunch::jobfile
