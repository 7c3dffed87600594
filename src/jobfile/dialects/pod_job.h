// A job whose nodes are the pods of Kubernetes' Jobs: what Job, JobSet and Kubeflow's TrainJob
// share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/dialects/kubeflow.h"

namespace dlaunch::jobfile {

/// One Job, or the equal Jobs of a replicated job.
struct PodJobGroup {
  std::string name;  // of the replicated job; empty: a single Job
  LocatedNumber jobs{1, {}};
  SourceRange range;
};

/// Collects the groups of pods, then sets the job.
class PodJob {
 public:
  /// `name`: the name of the Job or JobSet, by which pods address each other.
  PodJob(Translation& translation, std::string name) : t_(translation), name_(std::move(name)) {}

  /// Reads the spec of a Job. `count`: if given, pods per Job, in place of the spec's.
  /// `container`: the name of the container that runs; otherwise the first one runs.
  void add(ForeignKeys& spec, const PodJobGroup& group,
           const std::optional<LocatedNumber>& count = {}, std::string_view container = {});

  void add_group(kubeflow::PodGroup group, PodJobGroup given) {
    groups_.push_back(std::move(group));
    given_.push_back(std::move(given));
  }
  /// The group that was added last.
  [[nodiscard]] kubeflow::PodGroup& last() { return groups_.back(); }
  [[nodiscard]] bool is_empty() const { return groups_.empty(); }
  [[nodiscard]] std::int64_t nodes() const;
  /// Exports "NAME=\"$VALUE\"" in all groups. The command may refer to it as $(NAME).
  void add_export(const std::string& name, const std::string& value);
  void use_framework(std::string framework) { framework_ = std::move(framework); }

  /// Sets nodes, command, variables and image. `what`: "a JobSet". Does nothing without groups.
  void finish(const std::string& what);

 private:
  [[nodiscard]] FieldMeanings meanings(const PodJobGroup& group, std::int64_t per_job) const;
  void read_counts(ForeignKeys& spec, const PodJobGroup& group,
                   const std::optional<LocatedNumber>& count, Replicas& pods);
  void set_variables(kubeflow::PodGroup& group);
  void set_words(kubeflow::PodGroup& group);
  void refuse_launchers(const kubeflow::PodGroup& group);
  bool replace_hosts(std::string& text, SourceRange at);
  [[nodiscard]] std::string master() const;

  Translation& t_;
  std::string name_;
  std::string framework_;
  std::vector<kubeflow::PodGroup> groups_;
  std::vector<PodJobGroup> given_;  // one for each of groups_
  std::vector<std::pair<std::string, std::string>> exports_;
  std::vector<std::string> overridden_;  // variables of the file that dlaunch sets itself
  SourceRange overridden_at_;
  LocatedText port_;          // where the pods meet; empty: any
  std::int64_t per_job_ = 1;  // pods per Job of the group that was added last
};

/// Reads activeDeadlineSeconds of a Job's spec, and adds notes on backoffLimit and on keys that
/// have no meaning in dlaunch.
void note_job_keys(Translation& translation, ForeignKeys& spec);

}  // namespace dlaunch::jobfile
