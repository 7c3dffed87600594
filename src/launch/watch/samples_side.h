// Keeps samples of the pulses for the report of the run (report/run_samples.h): samples.json, once
// a minute and at the end. Decides nothing and sets no timer: it writes when a pulse arrives.
#pragma once

#include <string>
#include <vector>

#include "launch/engine/run_store.h"
#include "model/launch_plan.h"
#include "model/time.h"
#include "report/run_samples.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class SamplesSide {
 public:
  /// `began`: when the run began. `metrics`: names, in the order of StartRanks::metrics.
  SamplesSide(RunStore& store, std::vector<std::string> metrics, MonotonicTime began)
      : store_(store), samples_(std::move(metrics)), began_(began), written_(began) {}

  /// The ranks of this plan are being told to start.
  void begin(const LaunchPlan& plan, MonotonicTime now);
  void on(NodeId node, const wire::Pulse& pulse, MonotonicTime now);
  void write();

 private:
  RunStore& store_;
  RunSamples samples_;
  const MonotonicTime began_;
  MonotonicTime written_;
  Attempt attempt_;
  bool has_begun_ = false;
  bool has_failed_ = false;  // writing has failed, and the user was told
};

}  // namespace dlaunch
