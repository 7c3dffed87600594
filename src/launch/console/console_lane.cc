#include "launch/console/console_lane.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "os/detached_thread.h"

namespace dlaunch {

namespace {

// A write that may block is small while the reader is slow, so that a stalled reader is recognised
// correctly; writes grow while the reader keeps up.
constexpr std::size_t kSmallWrite = 4096;
constexpr std::size_t kLargeWrite = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kSlow{20};
// Without a thread, each write waits at most this long for a slow reader.
constexpr std::chrono::milliseconds kWithoutThread{100};
// Texts that together are at most this long become one queue entry.
constexpr std::size_t kJoined = std::size_t{16} << 10;
constexpr std::size_t kMaxPieces = 64;
// How many written texts keep their memory for reuse, and how large they may be.
constexpr std::size_t kMostSpare = 8;
constexpr std::size_t kLargestSpare = std::size_t{512} << 10;
// After this many bytes a pipe gets more room (pipe(7), F_SETPIPE_SZ), so that writer and reader
// need not alternate every 64 KiB.
constexpr std::uint64_t kMuch = std::uint64_t{4} << 20;
constexpr int kWidePipe = 256 << 10;

/// Regular files and /dev/null (device 1:3, admin-guide/devices.txt), for which a thread only costs
/// time.
bool never_blocks(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  return S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3));
}

}  // namespace

struct ConsoleLane::Batch {
  std::array<iovec, kMaxPieces> pieces{};
  int count = 0;
};

struct ConsoleLane::Written {
  std::size_t bytes = 0;
  int error = 0;
};

ConsoleLane::ConsoleLane(int fd, std::function<void()> progress)
    : own_fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)),
      fd_(own_fd_ >= 0 ? own_fd_ : fd),
      progress_(std::move(progress)),
      never_blocks_(never_blocks(fd)) {}

ConsoleLane::~ConsoleLane() {
  if (own_fd_ >= 0) ::close(own_fd_);
}

void ConsoleLane::ensure_thread(const std::shared_ptr<ConsoleLane>& self) {
  if (has_thread_) return;
  // No thread now (EAGAIN): the next write tries again; write_without_thread() does the work.
  has_thread_ = start_detached_thread([self] { self->run(); }) == 0;
}

/// Writes what the reader accepts within `limit`; a small write to a ready reader does not wait.
void ConsoleLane::write_without_thread(std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  Batch batch;
  while (!queue_.empty() && error_ == 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd wanted{fd_, POLLOUT, 0};
    const int ready = ::poll(&wanted, 1, std::max(0, static_cast<int>(left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    gather(batch, kSmallWrite);
    const ssize_t n = ::writev(fd_, batch.pieces.data(), batch.count);
    const std::size_t looked_at = std::exchange(in_flight_, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    n < 0 ? give_up(errno) : accept(static_cast<std::size_t>(n), looked_at);
    progress_();
  }
}

void ConsoleLane::write_at_once(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error_ = errno;
      dropped_ += text.size();
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void ConsoleLane::run() {
  Batch batch;
  std::size_t limit = kSmallWrite;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    gather(batch, limit);
    lock.unlock();
    const Clock::time_point before = Clock::now();
    const Written written = write_batch(batch);
    const bool slow = Clock::now() - before > kSlow && !may_nowait_;
    limit = slow ? kSmallWrite : std::min(limit * 2, kLargeWrite);
    lock.lock();
    if (stop_) return;
    const std::size_t looked_at = std::exchange(in_flight_, 0);
    if (written.error == 0) {
      accept(written.bytes, looked_at);
    } else {
      give_up(written.error);
    }
    changed_.notify_all();
    progress_();
  }
}

void ConsoleLane::gather(Batch& batch, std::size_t limit) {
  std::size_t skip = offset_;
  in_flight_ = 0;
  for (std::string& text : queue_) {
    if (in_flight_ == kMaxPieces || limit == 0) break;
    const std::size_t size = std::min(text.size() - skip, limit);
    batch.pieces[in_flight_++] = {text.data() + skip, size};
    limit -= size;
    skip = 0;
  }
  batch.count = static_cast<int>(in_flight_);
}

bool ConsoleLane::stopped() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

ConsoleLane::Written ConsoleLane::write_batch(const Batch& batch) {
  bool is_ready = false;  // according to poll(2)
  for (;;) {
    // Without waiting, if the kernel can do that for one call (pipes, since Linux 6.4): O_NONBLOCK
    // would affect all processes that share the open file.
    const ssize_t n = may_nowait_
                          ? ::pwritev2(fd_, batch.pieces.data(), batch.count, -1, RWF_NOWAIT)
                          : ::writev(fd_, batch.pieces.data(), batch.count);
    if (n >= 0) return {static_cast<std::size_t>(n), 0};
    if (errno == EINTR) continue;
    if (may_nowait_ && errno != EAGAIN && errno != EPIPE) {
      may_nowait_ = false;  // EOPNOTSUPP, ENOSYS, ...: a real failure recurs
      continue;
    }
    if (errno != EAGAIN) return {0, errno};
    // poll(2) reports a file that would wait for its disk or its locks (XFS, btrfs) as ready.
    if (is_ready) may_nowait_ = false;
    pollfd wanted{fd_, POLLOUT, 0};
    const int found = ::poll(&wanted, 1, -1);
    if (found < 0 && errno != EINTR) return {0, errno};
    if (stopped()) return {};
    is_ready = found > 0;
  }
}

void ConsoleLane::accept(std::size_t bytes, std::size_t looked_at) {
  const Clock::time_point now = Clock::now();
  longest_ = std::max(longest_, now - last_accept_);
  last_accept_ = now;
  if (std::exchange(discarded_, false)) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(looked_at));
    offset_ = 0;
    return;
  }
  pending_ -= bytes;
  offset_ += bytes;
  accepted_ += bytes;
  while (!queue_.empty() && offset_ >= queue_.front().size()) {
    offset_ -= queue_.front().size();
    keep_buffer(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (accepted_ > kMuch && !widened_) widen_pipe();
}

void ConsoleLane::keep_buffer(std::string&& text) {
  if (spare_.size() == kMostSpare || text.capacity() < kJoined || text.capacity() > kLargestSpare)
    return;
  text.clear();
  spare_.push_back(std::move(text));
}

std::string ConsoleLane::take_buffer() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  std::string text = std::move(spare_.back());
  spare_.pop_back();
  return text;
}

void ConsoleLane::widen_pipe() {
  widened_ = true;
  const int size = ::fcntl(fd_, F_GETPIPE_SZ);
  // Not a pipe, or no more memory for pipes: it keeps its size.
  if (size > 0 && size < kWidePipe && ::fcntl(fd_, F_SETPIPE_SZ, kWidePipe) < 0) return;
}

void ConsoleLane::give_up(int error) {
  error_ = error;
  discarded_ = false;
  dropped_ += pending_;
  pending_ = offset_ = 0;
  queue_.clear();
}

void ConsoleLane::write(const std::shared_ptr<ConsoleLane>& self, std::string text) {
  ConsoleLane& lane = *self;
  const std::lock_guard lock(lane.mutex_);
  if (lane.error_ != 0) {
    lane.dropped_ += text.size();
    return;
  }
  if (lane.never_blocks_) return lane.write_at_once(text);
  std::deque<std::string>& queue = lane.queue_;
  if (queue.empty()) lane.last_accept_ = Clock::now();
  lane.pending_ += text.size();
  const bool joins = queue.size() > lane.in_flight_ && queue.back().size() + text.size() <= kJoined;
  if (joins) {
    queue.back().append(text);
    lane.keep_buffer(std::move(text));
  } else {
    queue.push_back(std::move(text));
  }
  lane.ensure_thread(self);
  if (!lane.has_thread_) return lane.write_without_thread(kWithoutThread);
  lane.work_.notify_one();
}

bool ConsoleLane::drain(const std::shared_ptr<ConsoleLane>& self, std::chrono::milliseconds limit) {
  ConsoleLane& lane = *self;
  std::unique_lock lock(lane.mutex_);
  if (!lane.queue_.empty()) lane.ensure_thread(self);
  if (!lane.has_thread_) lane.write_without_thread(limit);
  const bool empty =
      lane.changed_.wait_for(lock, lane.has_thread_ ? limit : std::chrono::milliseconds(0),
                             [&] { return lane.queue_.empty(); });
  return empty && lane.error_ == 0;
}

void ConsoleLane::stop() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  work_.notify_all();
}

std::size_t ConsoleLane::pending() const {
  const std::lock_guard lock(mutex_);
  return pending_;
}

ConsoleLane::Clock::duration ConsoleLane::stalled_for() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() ? Clock::duration(0) : Clock::now() - last_accept_;
}

ConsoleLane::Clock::duration ConsoleLane::take_longest_stall() {
  const std::lock_guard lock(mutex_);
  return std::exchange(longest_, Clock::duration(0));
}

std::size_t ConsoleLane::discard() {
  const std::lock_guard lock(mutex_);
  // Texts that a write is using stay until it returns.
  queue_.resize(in_flight_);
  discarded_ = in_flight_ > 0;
  if (!discarded_) offset_ = 0;
  return std::exchange(pending_, 0);
}

int ConsoleLane::error_number() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::uint64_t ConsoleLane::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace dlaunch
