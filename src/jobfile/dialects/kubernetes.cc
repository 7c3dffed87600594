// Jobs of Kubernetes, and JobSets. Rules: API references of Job (batch/v1) and JobSet
// (jobset.x-k8s.io/v1alpha2); job-specs 11.
#include <algorithm>
#include <utility>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/pod_job.h"
#include "jobfile/dialects/replicated_jobs.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr KeyName kKeyNames[] = {{"name", "metadata.name"},
                                 {"timeouts.run", "activeDeadlineSeconds"},
                                 {"restart.max", "failurePolicy.maxRestarts"},
                                 {"rendezvous.port", "MASTER_PORT"},
                                 {"env_pass", "env"},
                                 {"container.image", "image"},
                                 {"nodes", "completions"}};

/// Whether dlaunch can read the Job. Only the pods of an indexed Job know their index; a single pod
/// needs none.
bool is_readable_job(const Document& document, NodeId root) {
  const auto spec = value_of(document, root, "spec");
  const auto count = [&](std::string_view key) {
    return spec ? scalar_of(document, *spec, key).value_or("1") : "1";
  };
  if (!spec) return false;
  return scalar_of(document, *spec, "completionMode") == std::optional<std::string>("Indexed") ||
         (count("completions") == "1" && count("parallelism") == "1");
}

std::string why_not_kubernetes(const Document& document, NodeId root) {
  const std::string version = scalar_of(document, root, "apiVersion").value_or("");
  const std::string kind = scalar_of(document, root, "kind").value_or("");
  if (version.starts_with("jobset.x-k8s.io/") && kind == "JobSet") return "";
  if (version != "batch/v1" || kind != "Job")
    return "not the apiVersion and kind of a Job or a JobSet";
  return is_readable_job(document, root) ? "" : "its pods have no index (completionMode: Indexed)";
}

void translate_job(Translation& t, ForeignKeys& spec, const std::string& name) {
  PodJob job(t, name);
  job.add(spec, {"", {1, spec.range()}, spec.range()});
  note_job_keys(t, spec);
  job.finish("a Job");
}

void translate_job_set(Translation& t, ForeignKeys& spec, const std::string& name) {
  PodJob job(t, name);
  for (ReplicatedJob& one : read_replicated_jobs(t, spec)) {
    if (one.is_first_step) continue;
    job.add(one.spec, one.group);
    note_job_keys(t, one.spec);
  }
  if (job.is_empty() && !spec.has_mistake("replicatedJobs"))
    t.diagnostics.error(spec.range(), "a JobSet needs replicatedJobs with a pod");
  ForeignKeys policy = spec.mapping("failurePolicy");
  if (const auto restarts = policy.integer("maxRestarts"))
    t.job.number({"restart", "max"}, restarts->value, restarts->range);
  for (const LocatedText& key : policy.others()) t.not_used.push_back(key);
  spec.skip({"network", "suspend", "ttlSecondsAfterFinished", "managedBy", "coordinator"});
  spec.refuse_misspelt();
  for (const LocatedText& key : spec.others()) t.not_used.push_back(key);
  job.finish("a JobSet");
}

void translate_kubernetes(Translation& t) {
  ForeignKeys top(t.document, t.diagnostics, Spelling::exact, t.root, "");
  const LocatedText kind = top.text("kind").value_or(LocatedText());
  ForeignKeys metadata = top.mapping("metadata");
  auto name = metadata.text("name");
  if (name) t.job.text({"name"}, name->text, name->range);
  if (!name) name = metadata.text("generateName");
  ForeignKeys spec = top.mapping("spec");
  if (!spec.is_given()) return t.diagnostics.error(kind.range, "the " + kind.text + " has no spec");
  const std::string known = name ? name->text : "";
  if (kind.text == "JobSet") return translate_job_set(t, spec, known);
  translate_job(t, spec, known);
}

}  // namespace

const Dialect kKubernetes{.name = "Kubernetes",
                          .why_not = why_not_kubernetes,
                          .translate = translate_kubernetes,
                          .key_names = kKeyNames,
                          .starts_in_image = true};

}  // namespace dlaunch::jobfile
