#include "node/watch/rank_watch.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/proc_file.h"
#include "text/number.h"

namespace dlaunch {

namespace {

// The launcher hears from us at least this often. Some files of /proc cost a millisecond.
constexpr std::chrono::seconds kNodeEvery{10};
constexpr std::uint32_t kCountersEvery = 5;     // looks
constexpr std::uint32_t kWholeEvery = 60;       // looks
constexpr std::uint32_t kLongWait = 25;         // percent of the time without a CPU
constexpr std::uint32_t kMostClocks = 4;        // a kernel may take milliseconds for each
constexpr std::array kStreams{Stream::out, Stream::err};

std::uint32_t millis(MonotonicTime duration) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(), 0, UINT32_MAX));
}

/// The time of the last change; 0: there is no such file.
std::int64_t changed_at(const std::string& path) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  struct stat info {};
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return 0;
  return info.st_mtim.tv_sec * kNanos + info.st_mtim.tv_nsec;
}

std::uint32_t clock_mhz(std::uint32_t cores) {
  constexpr std::uint64_t kKilo = 1000;
  const std::uint32_t step = std::max(cores / kMostClocks, 1U);
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  for (std::uint32_t cpu = 0; cpu < cores && count < kMostClocks; cpu += step) {
    const std::string text = read_proc_file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                            "/cpufreq/scaling_cur_freq");
    const auto khz = number_of<std::uint64_t>(std::string_view(text).substr(0, text.find('\n')));
    if (!khz) break;
    sum += *khz / kKilo;
    ++count;
  }
  return count == 0 ? 0 : static_cast<std::uint32_t>(sum / count);
}

/// Whether they differ, apart from ages, which the launcher can count itself.
bool differs(const RankPulse& now, RankPulse told) {
  told.quiet_ms = now.quiet_ms;
  told.heartbeat_ms = now.heartbeat_ms;
  return now != told;
}

}  // namespace

void RankWatch::begin(const wire::StartRanks& start, std::chrono::milliseconds heartbeat,
                      const Environment& login, Running running) {
  if (start.pulse_ms == 0) return;
  if (attempt_ != start.attempt || every_.count() == 0) {
    (void)end();
    attempt_ = start.attempt;
    every_ = std::chrono::milliseconds(start.pulse_ms);
    heartbeat_ = heartbeat;
    patterns_ = std::make_shared<MetricPatterns>(start.metrics);
    running_ = std::move(running);
    began_ = looked_ = monotonic_now();
    looks_ = 0;
    node_ = {};
    node_busy_ = ranks_ms_ = 0;
    gpus_.begin(login, every_);
  }
  const auto common = find_variable(start.env, "CUDA_VISIBLE_DEVICES");
  for (const wire::StartRank& rank : start.ranks) {
    const auto own = find_variable(rank.env, "CUDA_VISIBLE_DEVICES");
    const auto file = find_variable(rank.env, "DLAUNCH_HEARTBEAT_FILE");
    Watched watched{rank.local_rank.value,
                    own ? own : common,
                    file.value_or(""),
                    0,
                    {},
                    {},
                    {},
                    std::nullopt,
                    OutputReader(patterns_),
                    {}};
    watched.told.rank = rank.rank;
    ranks_.insert_or_assign(rank.rank, std::move(watched));
  }
  if (every_ < heartbeat_) own_time_.after(every_, [this] { look_and_wait(); });
}

void RankWatch::look_and_wait() {
  own_time_.after(every_, [this] { look_and_wait(); });
  look_now(monotonic_now());
}

std::set<pid_t> RankWatch::end() {
  every_ = std::chrono::milliseconds(0);
  own_time_.cancel();
  ranks_.clear();
  running_ = nullptr;
  return gpus_.end();
}

void RankWatch::look() {
  const MonotonicTime now = monotonic_now();
  const bool is_due = now - looked_ + heartbeat_ / 2 >= every_;
  if (every_.count() > 0 && every_ >= heartbeat_ && is_due) look_now(now);
}

/// New processes are found before each look at the node: otherwise the CPU time of a rank's new
/// data loaders would seem to be that of other jobs. Those whose parent is not a main thread are
/// still found at every kWholeEvery-th look only.
Depth RankWatch::depth(bool with_node) const {
  if (looks_ % kWholeEvery == 1) return Depth::whole;
  return with_node || looks_ % kCountersEvery == 1 ? Depth::counters : Depth::brief;
}

void RankWatch::look_now(MonotonicTime now) {
  looked_ = now;
  ++looks_;
  // The first two looks show the use of CPUs since the start.
  const bool with_node = looks_ <= 2 || now - node_looked_ >= kNodeEvery;
  std::map<Rank, pid_t> pids;
  for (const RankProcess& one : running_()) pids.emplace(one.rank, one.pid);
  wire::Pulse pulse{attempt_, wall_now(), {}, {}};
  for (auto& [rank, watched] : ranks_) {
    RankPulse seen = watched.told;
    const auto pid = pids.find(rank);
    look_at(watched, pid == pids.end() ? 0 : pid->second, depth(with_node), now, seen);
    if (!differs(seen, watched.told)) continue;
    watched.told = seen;
    pulse.ranks.push_back(std::move(seen));
  }
  if (pulse.ranks.empty() && !with_node) return;
  if (with_node) look_at_node(now);
  pulse.node = node_;
  report_(pulse);
}

void RankWatch::look_at(Watched& watched, pid_t pid, Depth depth, MonotonicTime now,
                        RankPulse& rank) const {
  if (pid > 0 && (!watched.processes || watched.processes->root() != pid))
    watched.processes.emplace(pid);
  if (pid == 0) {
    rank.processes = 0;
    rank.memory = 0;
    rank.state.clear();
  } else {
    watched.processes->look(depth, rank);
  }
  look_at_output(watched, rank);
  rank.quiet_ms = millis(now - std::max(began_, watched.last_output));
  look_at_heartbeat(watched, now, rank);
  add_gpu_use(gpus_.samples(now), watched.visible_gpus, watched.local_rank, ranks_.size() == 1,
              rank);
}

void RankWatch::look_at_output(Watched& watched, RankPulse& rank) const {
  std::array<OutputPump::Written, kStreams.size()> written;
  for (std::size_t i = 0; i < kStreams.size(); ++i)
    written[i] = pump_.written(rank.rank, kStreams[i]);
  rank.output = written[0].bytes + written[1].bytes;
  // Looks at the stream that was written last at the end, because it has the last line.
  const std::size_t first = written[0].last > written[1].last ? 1 : 0;
  for (const std::size_t i : {first, 1 - first}) {
    if (written[i].bytes == std::exchange(watched.written[i], written[i].bytes)) continue;
    watched.last_output = written[i].last;
    const std::uint64_t begin = watched.output.begin_of_look(kStreams[i], written[i].bytes);
    const wire::FetchedOutput end = pump_.read(rank.rank, kStreams[i], begin);
    watched.output.look(kStreams[i], end.bytes, end.offset);
  }
  rank.last_line = watched.output.last_line();
  rank.metrics = watched.output.metrics();
}

void RankWatch::look_at_heartbeat(Watched& watched, MonotonicTime now, RankPulse& rank) {
  const std::int64_t at = changed_at(watched.heartbeat_file);
  if (at != 0 && std::exchange(watched.heartbeat_at, at) != at) {
    ++rank.heartbeats;
    watched.heartbeat_seen = now;
  }
  rank.heartbeat_ms = rank.heartbeats == 0 ? 0 : millis(now - watched.heartbeat_seen);
}

/// Finds waits for a CPU due to a limit of a container or job (cpu.max), or to other processes on
/// the same CPUs: the node as a whole may still have free CPUs.
void RankWatch::look_for_cpu_waits(std::chrono::milliseconds passed) {
  std::int64_t longest = 0;
  std::optional<Rank> whose;
  for (auto& [rank, watched] : ranks_) {
    const std::int64_t waited = watched.processes ? watched.processes->waited().count() : 0;
    if (waited > longest) whose = rank;
    longest = std::max(longest, waited);
  }
  const auto nanos = std::chrono::nanoseconds(passed).count();
  const std::int64_t percent = nanos > 0 ? std::min<std::int64_t>(100 * longest / nanos, 100) : 0;
  if (!whose || percent < kLongWait || passed < kNodeEvery / 2) return;
  node_.remarks.push_back("rank " + std::to_string(whose->value) + " waited for a CPU for " +
                          std::to_string(percent) + " % of the time");
}

void RankWatch::look_at_node(MonotonicTime now) {
  constexpr std::uint64_t kPercent = 100;
  constexpr std::uint64_t kMillis = 1000;
  constexpr std::size_t kCpuText = std::size_t{256} << 10;
  const CpuTime cpu = parse_cpu_time(read_proc_file("/proc/stat", kCpuText));
  const std::uint64_t passed = millis(now - node_looked_);
  const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  std::uint64_t ranks_ms = 0;
  for (const auto& [rank, watched] : ranks_) ranks_ms += watched.told.cpu_ms;
  if (node_busy_ > 0 && passed > 0 && cpu.busy >= node_busy_) {
    node_.cpu_percent =
        static_cast<std::uint32_t>((cpu.busy - node_busy_) * kPercent * kMillis / ticks / passed);
    const std::uint64_t of_ranks = ranks_ms - std::min(ranks_ms_, ranks_ms);
    node_.ranks_cpu_percent = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(of_ranks * kPercent / passed, node_.cpu_percent));
  }
  node_busy_ = cpu.busy;
  ranks_ms_ = ranks_ms;
  node_looked_ = now;
  node_.cores = cpu.cores;
  node_.mhz = clock_mhz(cpu.cores);
  node_.memory_available = parse_available_memory(read_proc_file("/proc/meminfo"));
  node_.network_bytes = parse_network_bytes(read_proc_file("/proc/net/dev"));
  node_.memory_stall_permille = parse_stall_permille(read_proc_file("/proc/pressure/memory"));
  node_.remarks.clear();
  look_for_cpu_waits(std::chrono::milliseconds(passed));
  std::vector<std::string> of_gpus = gpus_.remarks(now);
  node_.remarks.insert(node_.remarks.end(), std::make_move_iterator(of_gpus.begin()),
                       std::make_move_iterator(of_gpus.end()));
}

}  // namespace dlaunch
