// The use of this node's GPUs while ranks run: one nvidia-smi keeps printing it, because starting
// another costs as much CPU time as an hour of printing. If it hangs, only these figures are lost.
#pragma once

#include <memory>
#include <optional>
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

  /// Starts nvidia-smi if there is a driver. `login`: has the PATH.
  void begin(const Environment& login);
  /// Ends nvidia-smi. Returns its process, which is not the job's.
  [[nodiscard]] std::optional<pid_t> end();
  /// The samples of the last report, by index; none if it is too old or there are no GPUs.
  [[nodiscard]] std::span<const GpuSample> samples(MonotonicTime now) const;

 private:
  void start();
  void take(const std::string& bytes);

  EventLoop& loop_;
  Environment login_;
  std::unique_ptr<ExternalProcess> process_;
  bool old_names_ = false;
  bool has_failed_ = false;
  std::string line_;  // a line whose end has not arrived
  std::vector<GpuSample> samples_;
  MonotonicTime reported_{0};
};

}  // namespace dlaunch
