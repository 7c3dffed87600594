// One run of a job for `dlaunch scale`.
#pragma once

#include <cstdint>

#include "launch/engine/run_request.h"
#include "measure/scale/scaling.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// How to find the throughput of the job. `metric` empty: its metric "throughput", or the only one,
/// or none. Errors: exit_code::kUsage: no such metric, or several.
[[nodiscard]] Result<ScaleMeasure> choose_measure(const JobSpec& spec, const std::string& metric,
                                                  ScaleMeasure::Over over, bool strong);

/// The largest size of a job with resolved hosts: its nodes, or its processes, else the GPUs or
/// CPUs of this machine.
[[nodiscard]] std::uint32_t largest_size(const JobSpec& spec, bool by_nodes);

struct SizedRun {
  int exit_code = 0;
  bool told_to_stop = false;  // by a signal
  ScaleRun figures;
};

/// Runs the job quietly, without stdin. A run without a throughput has an exit code other than 0.
/// Errors: those of run_in_child().
[[nodiscard]] Result<SizedRun> run_sized(RunOptions options, const ScaleMeasure& measure);

}  // namespace dlaunch
