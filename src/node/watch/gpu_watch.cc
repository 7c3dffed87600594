#include "node/watch/gpu_watch.h"

#include <algorithm>
#include <csignal>
#include <limits>

#include "fabric/node_facts.h"
#include "os/clock.h"

namespace dlaunch {

namespace {

constexpr unsigned kEvery = 10;  // seconds
constexpr std::chrono::seconds kTooOld{3 * kEvery + 5};
constexpr std::size_t kLongestLine = 4096;

}  // namespace

void GpuWatch::begin(const Environment& login) {
  if (process_ || fabric::read_gpus("").empty()) return;
  login_ = login;
  start();
}

void GpuWatch::start() {
  ExternalProcess::Request request;
  request.argv = gpu_samples_command(kEvery, old_names_);
  request.environment = login_;
  request.workdir = "/";
  request.most_printed = std::numeric_limits<std::size_t>::max();
  ::getrlimit(RLIMIT_NOFILE, &request.open_files);
  has_failed_ = false;
  line_.clear();
  auto started =
      ExternalProcess::start(loop_, request, [this](const std::string& bytes) { take(bytes); });
  if (started) process_ = std::move(*started);
}

void GpuWatch::take(const std::string& bytes) {
  line_ += bytes;
  std::size_t end = 0;
  while ((end = line_.find('\n')) != std::string::npos) {
    const auto sample = parse_gpu_sample(std::string_view(line_).substr(0, end));
    line_.erase(0, end + 1);
    if (!sample) {
      has_failed_ = has_failed_ || samples_.empty();
      continue;
    }
    const auto at =
        std::lower_bound(samples_.begin(), samples_.end(), *sample,
                         [](const GpuSample& a, const GpuSample& b) { return a.index < b.index; });
    reported_ = monotonic_now();
    if (at != samples_.end() && at->index == sample->index) {
      *at = *sample;
    } else {
      samples_.insert(at, *sample);
    }
  }
  if (line_.size() > kLongestLine) line_.clear();
  if (!has_failed_ || old_names_) return;
  old_names_ = true;
  // Later, because the object that is replaced here is calling this function.
  loop_.post([this] {
    if (!process_) return;
    ::kill(process_->pid(), SIGKILL);
    start();
  });
}

std::optional<pid_t> GpuWatch::end() {
  if (!process_) return std::nullopt;
  const pid_t pid = process_->pid();
  ::kill(pid, SIGKILL);
  process_.reset();
  samples_.clear();
  return pid;
}

std::span<const GpuSample> GpuWatch::samples(MonotonicTime now) const {
  if (now - reported_ > kTooOld) return {};
  return samples_;
}

}  // namespace dlaunch
