// The use of this node's GPUs while ranks run: one program keeps printing it, dlaunch-nvml or else
// nvidia-smi. It is a process of its own, because a call of the driver may hang for ever; then only
// these figures are missing.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/environment.h"
#include "model/time.h"
#include "node/external_process.h"
#include "node/watch/gpu_samples.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class GpuWatch {
 public:
  explicit GpuWatch(EventLoop& loop) : loop_(loop) {}

  /// Starts the program if there is a driver. `login`: has the PATH. `every`: how often the agent
  /// looks at the samples.
  void begin(const Environment& login, std::chrono::milliseconds every);
  /// Ends it. Returns the processes that were started since begin(); they are not the job's.
  [[nodiscard]] std::set<pid_t> end();
  /// The samples of the last report, by index; none if it is too old or there are no GPUs.
  [[nodiscard]] std::span<const GpuSample> samples(MonotonicTime now) const;
  /// What is wrong with the GPUs and their driver, one sentence for each finding.
  [[nodiscard]] std::vector<std::string> remarks(MonotonicTime now) const;

 private:
  void start();
  [[nodiscard]] bool ask(GpuSource source);
  void replace(pid_t pid);
  void take(const std::string& bytes);
  void add(GpuSample sample);

  EventLoop& loop_;
  Environment login_;
  std::chrono::milliseconds every_{0};  // the interval of the current source
  std::chrono::milliseconds wanted_{0};
  GpuSource source_ = GpuSource::none;
  std::unique_ptr<ExternalProcess> process_;
  std::set<pid_t> started_;
  bool has_told_ = false;  // the current source has reported a GPU
  std::string line_;       // a line whose end has not arrived
  std::vector<GpuSample> samples_;
  std::vector<GpuSample> first_;  // the first sample of each
  MonotonicTime began_{0};
  MonotonicTime heard_{0};     // the program has printed something
  MonotonicTime reported_{0};  // it has reported a GPU
};

}  // namespace dlaunch
