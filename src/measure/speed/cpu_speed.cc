#include "measure/speed/cpu_speed.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/speed/matrix_product.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch::speed {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWindows = 3;
constexpr std::size_t kMostThreads = 1024;

/// The CPUs that this process may run on.
std::vector<int> own_cpus() {
  std::vector<int> cpus;
  constexpr int kMostCpus = 8192;
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  CPU_ZERO_S(size, set);
  if (::sched_getaffinity(0, size, set) == 0) {
    for (int cpu = 0; cpu < kMostCpus && cpus.size() < kMostThreads; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

void stay_on(int cpu) {
  cpu_set_t* const set = CPU_ALLOC(cpu + 1);
  const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  static_cast<void>(::sched_setaffinity(0, size, set));  // on failure it runs on any CPU
  CPU_FREE(set);
}

/// Threads that begin each window together, when their owner says so.
class ThreadTeam {
 public:
  /// `member(i)` is called on thread i and returns its work for a window: a function that works
  /// until the given time and returns the amount. Threads that cannot be created are left out.
  using Work = std::function<double(Clock::time_point end)>;
  ThreadTeam(const std::vector<int>& cpus, const std::function<Work(std::size_t)>& member) {
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      try {
        threads_.emplace_back([this, cpu = cpus[i], i, &member] { live(cpu, member(i)); });
      } catch (const std::system_error&) {
        break;
      }
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return resting_ == threads_.size(); });
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  [[nodiscard]] std::size_t size() const { return threads_.size(); }

  /// Work of all threads together per second: the best of kWindows.
  double best_rate(std::chrono::milliseconds window) {
    double best = 0;
    for (int i = 0; i < kWindows; ++i) best = std::max(best, rate(window));
    return best;
  }

 private:
  double rate(std::chrono::milliseconds window) {
    std::unique_lock lock(mutex_);
    work_ = 0;
    resting_ = 0;
    const Clock::time_point begin = Clock::now();
    end_ = begin + window;
    ++window_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return resting_ == threads_.size(); });
    // A thread that was preempted ends late.
    return work_ / std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void live(int cpu, const Work& work) {
    stay_on(cpu);
    static_cast<void>(work(Clock::now()));  // warms caches and touches pages
    std::unique_lock lock(mutex_);
    int seen = 0;
    while (true) {
      ++resting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return over_ || window_ != seen; });
      if (over_) return;
      seen = window_;
      const Clock::time_point end = end_;
      lock.unlock();
      const double done = work(end);
      lock.lock();
      work_ += done;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t resting_ = 0;
  int window_ = 0;
  bool over_ = false;
  Clock::time_point end_;
  double work_ = 0;
  std::vector<std::thread> threads_;
};

/// Returns 10^9 operations. Computes at least one product, so that a window is never empty.
double gflop(std::chrono::milliseconds window, const std::vector<int>& cpus, CpuSpeed& speed) {
  std::atomic<bool> is_right = true;
  const auto member = [&](std::size_t) -> ThreadTeam::Work {
    return [&, product = std::make_shared<MatrixProduct>()](Clock::time_point end) {
      double done = 0;
      do {
        product->multiply();
        done += MatrixProduct::kOperations;
      } while (Clock::now() < end);
      if (!product->is_right()) is_right = false;
      return done;
    };
  };
  ThreadTeam team(cpus, member);
  speed.threads = static_cast<int>(team.size());
  constexpr double kBillion = 1e9;
  const double rate = team.best_rate(window) / kBillion;
  speed.is_right = speed.is_right && is_right;
  return rate;
}

// ---- memory

constexpr std::size_t kArrays = 3;

/// The number in the line that begins with `label`; the largest number: unknown, or "max". Uses C's
/// functions: C++ streams would make the programs that dlaunch carries larger by half.
std::uint64_t number_in_file(const std::string& path, const std::string& label) {
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  char line[256];
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
    const std::vector<std::string_view> words = split_words(line);
    const std::size_t at = label.empty() ? 0 : 1;
    if (words.size() <= at || (at == 1 && words[0] != label)) continue;
    return number_of<std::uint64_t>(words[at]).value_or(kUnknown);
  }
  return kUnknown;
}

/// Free memory of the machine, or what is left of the container's limit if that is less.
std::uint64_t memory_left() {
  constexpr std::uint64_t kKibibyte = 1024;
  constexpr std::uint64_t kUnknown = std::uint64_t{1} << 30U;
  const std::uint64_t available = number_in_file("/proc/meminfo", "MemAvailable:");
  std::uint64_t left = available > std::numeric_limits<std::uint64_t>::max() / kKibibyte
                           ? kUnknown
                           : available * kKibibyte;
  const std::string group = "/sys/fs/cgroup/memory.";
  const std::uint64_t most = number_in_file(group + "max", "");
  const std::uint64_t used = number_in_file(group + "current", "");
  if (most != std::numeric_limits<std::uint64_t>::max() && used < most)
    left = std::min(left, most - used);
  return left;
}

/// Bytes of the three arrays together: more than the caches hold, unless that would take long.
std::size_t arrays_size(std::size_t threads) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
  const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  const std::uint64_t wanted = std::max<std::uint64_t>(
      192 * kMebibyte, cache > 0 ? 3 * static_cast<std::uint64_t>(cache) : 0);
  const std::uint64_t quick =
      std::max<std::uint64_t>(192, std::min<std::uint64_t>(threads * 128, 4096)) * kMebibyte;
  return static_cast<std::size_t>(std::min({wanted, quick, memory_left() / 8}));
}

/// Whole pages from the kernel, returned at the end of its lifetime.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    static_cast<void>(::madvise(at, bytes, MADV_HUGEPAGE));
    at_ = static_cast<double*>(at);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (at_ != nullptr) ::munmap(at_, bytes_);
  }
  [[nodiscard]] double* get() const { return at_; }

 private:
  std::size_t bytes_;
  double* at_ = nullptr;
};

/// One thread's part of the arrays. Reads the clock every kPiece elements.
class Triad {
 public:
  Triad(double* begin, std::size_t elements)
      : a_(begin), b_(begin + elements), c_(begin + 2 * elements), elements_(elements) {}

  double work(Clock::time_point end) {
    constexpr double kBytesEach = kArrays * sizeof(double);
    if (!touched_) touch();
    double done = 0;
    do {
      const std::size_t count = std::min(kPiece, elements_ - at_);
      add(a_ + at_, b_ + at_, c_ + at_, count);
      done += static_cast<double>(count) * kBytesEach;
      at_ = at_ + count == elements_ ? 0 : at_ + count;
    } while (Clock::now() < end);
    return done;
  }

  /// The number of elements of one array that are measured.
  [[nodiscard]] std::size_t elements() const { return elements_; }

 private:
  static constexpr std::size_t kPiece = 16384;

  /// Each thread touches its pages first, so that they are on its NUMA node. If that takes long, on
  /// a busy machine, its arrays end after the pages that it has touched.
  void touch() {
    constexpr std::chrono::milliseconds kLimit{300};
    const Clock::time_point end = Clock::now() + kLimit;
    std::size_t at = 0;
    while (at < elements_ && (at == 0 || Clock::now() < end)) {
      const std::size_t next = std::min(at + kPiece, elements_);
      std::fill(a_ + at, a_ + next, 0.0);
      std::fill(b_ + at, b_ + next, 1.0);
      std::fill(c_ + at, c_ + next, 2.0);
      at = next;
    }
    elements_ = at;
    touched_ = true;
  }

  static void add(double* __restrict a, const double* __restrict b, const double* __restrict c,
                  std::size_t count) {
    constexpr double kScale = 3;
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + kScale * c[i];
  }

  double *a_, *b_, *c_;
  std::size_t elements_;
  std::size_t at_ = 0;
  bool touched_ = false;
};

void measure_memory(std::chrono::milliseconds window, const std::vector<int>& cpus,
                    CpuSpeed& speed) {
  constexpr std::size_t kLeast = 4096;  // elements of an array, for each thread
  const std::size_t elements =
      arrays_size(cpus.size()) / (kArrays * cpus.size() * sizeof(double)) / 8 * 8;
  if (elements < kLeast) return;
  const std::size_t bytes = elements * kArrays * cpus.size() * sizeof(double);
  const Pages pages(bytes);
  if (pages.get() == nullptr) return;
  std::vector<std::shared_ptr<Triad>> triads;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    triads.push_back(std::make_shared<Triad>(pages.get() + i * kArrays * elements, elements));
  const auto member = [&](std::size_t i) -> ThreadTeam::Work {
    return [triad = triads[i]](Clock::time_point end) { return triad->work(end); };
  };
  ThreadTeam team(cpus, member);
  constexpr double kBillion = 1e9;
  speed.memory_gbyte_s = team.best_rate(window) / kBillion;
  for (std::size_t i = 0; i < team.size(); ++i)
    speed.memory_bytes += triads[i]->elements() * kArrays * sizeof(double);
}

}  // namespace

CpuSpeed measure_cpu(std::chrono::milliseconds window) {
  CpuSpeed speed;
  const std::vector<int> cpus = own_cpus();
  speed.one_gflop_s = gflop(window, {cpus.front()}, speed);
  speed.all_gflop_s = cpus.size() == 1 ? speed.one_gflop_s : gflop(window, cpus, speed);
  measure_memory(window, cpus, speed);
  return speed;
}

}  // namespace dlaunch::speed
