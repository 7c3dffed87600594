#include "launch/slurm/slurm_listener.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "launch/console/debug_log.h"
#include "launch/connect/connectors/srun.h"
#include "model/signal_names.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kAfterStart{2};

// cat ends when our end of its stdin is closed, and nothing else ends it; wait returns early for
// each signal (POSIX sh, 2.11). A background command's stdin would be /dev/null, so descriptor 3 is
// a copy of stdin.
constexpr const char* kScript =
    "exec 3<&0\n"
    "trap 'echo TERM' TERM; trap 'echo USR1' USR1; trap 'echo USR2' USR2\n"
    "(trap '' TERM USR1 USR2; exec cat <&3 >/dev/null) &\n"
    "while kill -0 $! 2>/dev/null; do wait $!; done\n";

}  // namespace

void SlurmListener::start(const std::string& node) {
  timer_.after(kAfterStart, [this, node] { begin(node); });
}

void SlurmListener::stop() {
  timer_.cancel();
  if (input_) input_->close();
}

void SlurmListener::begin(const std::string& node) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  // A step on one node would ask for all GPUs of the job.
  const bool has_total_of_gpus =
      std::any_of(environment.begin(), environment.end(),
                  [](const std::string& entry) { return entry.starts_with("SLURM_GPUS="); });
  prepare_for_srun(environment);
  const std::vector<std::string> words =
      srun_words(node, kScript, has_total_of_gpus ? "--gres=none" : "");
  auto process = ChildProcess::start(loop_, words, environment);
  if (!process) return debug_log::info("no step for Slurm's signals: " + process.error().message);
  process_ = std::move(*process);
  input_.emplace(loop_, process_->take_stdin());
  output_.emplace(loop_, process_->take_stdout());
  process_->on_end([this](std::optional<int>) { ended_ = true; });
  read_later();
}

void SlurmListener::read_later() {
  output_->on_readable([this] { read(); });
}

void SlurmListener::read() {
  char bytes[256];
  const ssize_t n = ::read(output_->get(), bytes, sizeof bytes);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return output_->close();
  constexpr std::size_t kMostLine = 256;
  for (ssize_t i = 0; i < n; ++i) {
    if (bytes[i] != '\n') {
      if (line_.size() < kMostLine) line_ += bytes[i];
      continue;
    }
    if (const auto signal = signal_number(line_)) heard_(*signal);
    line_.clear();
  }
  read_later();
}

}  // namespace dlaunch
