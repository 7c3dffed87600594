// The replicatedJobs of a JobSet, also in a runtime of Kubeflow Trainer.
#pragma once

#include <vector>

#include "jobfile/dialects/pod_job.h"

namespace dlaunch::jobfile {

struct ReplicatedJob {
  PodJobGroup group;
  ForeignKeys spec;            // of its Jobs
  bool is_first_step = false;  // other jobs start after it ends; left out, with a note
  bool is_trainer = false;     // it has the label of a runtime's trainer
};

/// Reads the replicatedJobs of a JobSet's `spec` and reports mistakes in them.
[[nodiscard]] std::vector<ReplicatedJob> read_replicated_jobs(Translation& translation,
                                                              ForeignKeys& spec);

}  // namespace dlaunch::jobfile
