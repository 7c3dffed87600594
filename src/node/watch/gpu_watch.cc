#include "node/watch/gpu_watch.h"

#include <algorithm>
#include <csignal>
#include <limits>

#include "fabric/node_facts.h"
#include "node/nvml/nvml_image.h"
#include "os/clock.h"
#include "os/memory_program.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kSmiEvery{10};  // a round of nvidia-smi costs much CPU time
// The driver itself averages over up to a second.
constexpr std::chrono::milliseconds kNvmlLeast{1000};
constexpr std::chrono::seconds kLate{5};
// Without persistence mode, the driver sets up each GPU when it is asked, which takes seconds.
constexpr std::chrono::seconds kSilence{60};
constexpr std::size_t kLongestLine = 4096;

auto place_of(std::vector<GpuSample>& samples, std::uint32_t index) {
  return std::lower_bound(
      samples.begin(), samples.end(), index,
      [](const GpuSample& one, std::uint32_t wanted) { return one.index < wanted; });
}

}  // namespace

void GpuWatch::begin(const Environment& login, std::chrono::milliseconds every) {
  if (process_ || fabric::read_gpus("").empty()) return;
  login_ = login;
  wanted_ = every;
  began_ = monotonic_now();
  source_ = GpuSource::nvml;
  start();
}

/// The first source, from the current one on, whose program can be started.
void GpuWatch::start() {
  has_told_ = false;
  line_.clear();
  while (source_ != GpuSource::none && !ask(source_)) source_ = source_after(source_, false);
}

bool GpuWatch::ask(GpuSource source) {
  ExternalProcess::Request request;
  UniqueFd program;
  if (source == GpuSource::nvml) {
    const CarriedProgram image = nvml::helper_image();
    if (image.size == 0) return false;
    auto file = memory_program("dlaunch-nvml", image);
    if (!file) return false;
    program = std::move(*file);
    every_ = std::max(wanted_, kNvmlLeast);
    request.program = path_of(program);
    request.argv = {"dlaunch-nvml", std::to_string(every_.count())};
  } else {
    every_ = kSmiEvery;
    request.argv = gpu_samples_command(kSmiEvery.count(), source == GpuSource::smi_with_old_names);
  }
  request.environment = login_;
  request.workdir = "/";
  request.most_printed = std::numeric_limits<std::size_t>::max();
  ::getrlimit(RLIMIT_NOFILE, &request.open_files);
  auto started = ExternalProcess::start(
      loop_, request, [this](const std::string& bytes) { take(bytes); },
      // Later, because the object that is replaced here is calling this function.
      [this] { loop_.post([this, pid = process_->pid()] { replace(pid); }); });
  if (!started) return false;
  process_ = std::move(*started);
  started_.insert(process_->pid());
  return true;
}

/// The process with this number has ended.
void GpuWatch::replace(pid_t pid) {
  if (!process_ || process_->pid() != pid) return;
  process_.reset();
  source_ = source_after(source_, has_told_);
  start();
}

void GpuWatch::take(const std::string& bytes) {
  heard_ = monotonic_now();
  line_ += bytes;
  std::size_t end = 0;
  while ((end = line_.find('\n')) != std::string::npos) {
    auto sample = parse_gpu_sample(std::string_view(line_).substr(0, end));
    line_.erase(0, end + 1);
    if (sample) add(*std::move(sample));
  }
  if (line_.size() > kLongestLine) line_.clear();
}

void GpuWatch::add(GpuSample sample) {
  has_told_ = true;
  reported_ = heard_;
  const auto first = place_of(first_, sample.index);
  if (first == first_.end() || first->index != sample.index) first_.insert(first, sample);
  const auto at = place_of(samples_, sample.index);
  if (at != samples_.end() && at->index == sample.index) {
    *at = std::move(sample);
  } else {
    samples_.insert(at, std::move(sample));
  }
}

std::set<pid_t> GpuWatch::end() {
  if (process_) ::kill(process_->pid(), SIGKILL);
  process_.reset();
  source_ = GpuSource::none;
  samples_.clear();
  first_.clear();
  return std::exchange(started_, {});
}

std::span<const GpuSample> GpuWatch::samples(MonotonicTime now) const {
  if (now - reported_ > 3 * every_ + kLate) return {};
  return samples_;
}

std::vector<std::string> GpuWatch::remarks(MonotonicTime now) const {
  if (process_ && now - std::max(began_, heard_) > std::max<MonotonicTime>(kSilence, 3 * every_))
    return {"the GPU driver does not answer"};
  const auto passed = std::chrono::duration_cast<std::chrono::seconds>(now - began_);
  return gpu_remarks(samples(now), first_, passed);
}

}  // namespace dlaunch
