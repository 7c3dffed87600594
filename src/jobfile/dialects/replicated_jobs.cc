#include "jobfile/dialects/replicated_jobs.h"

#include <algorithm>

namespace dlaunch::jobfile {

namespace {

constexpr std::string_view kStepLabel = "trainer.kubeflow.org/trainjob-ancestor-step";

/// The name of the replicated job that must end before this one starts; empty: none.
std::string awaited(Translation& t, ForeignKeys& keys) {
  for (const NodeId item : keys.list("dependsOn"))
    if (scalar_of(t.document, item, "status") == std::optional<std::string>("Complete"))
      return scalar_of(t.document, item, "name").value_or("");
  return {};
}

bool has_trainer_label(ForeignKeys& job) {
  const auto step = job.mapping("metadata").mapping("labels").text(kStepLabel);
  return step && step->text == "trainer";
}

}  // namespace

std::vector<ReplicatedJob> read_replicated_jobs(Translation& t, ForeignKeys& spec) {
  std::vector<ReplicatedJob> jobs;
  std::vector<std::string> awaited_names;
  for (const NodeId item : spec.list("replicatedJobs")) {
    ForeignKeys keys(t.document, t.diagnostics, Spelling::exact, item, "replicatedJobs[]");
    const auto name = keys.text("name");
    if (!name) {
      t.diagnostics.error(t.document[item].range, "a replicated job needs a name");
      continue;
    }
    const LocatedNumber one{1, name->range};
    PodJobGroup group{name->text, keys.integer("replicas").value_or(one), name->range};
    if (std::string before = awaited(t, keys); !before.empty())
      awaited_names.push_back(std::move(before));
    ForeignKeys job = keys.mapping("template");
    const bool is_trainer = has_trainer_label(job);
    keys.skip({"groupName"});
    keys.refuse_misspelt();
    for (const LocatedText& key : keys.others()) t.not_used.push_back(key);
    jobs.push_back({std::move(group), job.mapping("spec"), false, is_trainer});
  }
  for (ReplicatedJob& one : jobs) {
    one.is_first_step = std::find(awaited_names.begin(), awaited_names.end(), one.group.name) !=
                        awaited_names.end();
    if (one.is_first_step)
      t.note_at(one.group.range, in_quotes(one.group.name) +
                                     ", which ends before the others start, is not run: do its "
                                     "work before you start the job");
  }
  return jobs;
}

}  // namespace dlaunch::jobfile
