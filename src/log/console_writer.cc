#include "log/console_writer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace dlaunch {

namespace {

// One writev is small while the reader is slow, so that pending() falls in small steps and
// "accepted nothing for a while" is seen as it is; it grows while the reader keeps up.
constexpr std::size_t kSmallWrite = 4096;
constexpr std::size_t kLargeWrite = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kSlow{20};
// Texts shorter than this together become one queue entry.
constexpr std::size_t kJoined = std::size_t{32} << 10;
constexpr std::size_t kMaxPieces = 64;

std::size_t index_of(Stream stream) {
  return stream == Stream::out ? 0 : 1;
}

struct Batch {
  std::array<iovec, kMaxPieces> pieces{};
  int count = 0;
};

struct Written {
  std::size_t bytes = 0;
  int error = 0;
};

/// Regular files and /dev/null (device 1:3, admin-guide/devices.txt): a thread would only cost
/// time.
bool never_blocks(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  return S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3));
}

Written write_batch(int fd, const Batch& batch) {
  for (;;) {
    const ssize_t n = ::writev(fd, batch.pieces.data(), batch.count);
    if (n >= 0) return {static_cast<std::size_t>(n), 0};
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return {0, errno};
    // Another process that shares the description has made it non-blocking.
    pollfd wanted{fd, POLLOUT, 0};
    if (::poll(&wanted, 1, -1) < 0 && errno != EINTR) return {0, errno};
  }
}

}  // namespace

/// Shared with the thread, so that either may go first.
struct ConsoleWriter::State {
  struct Text {
    Stream stream = Stream::out;
    std::string bytes;
  };

  State(int out_fd, int err_fd)
      : fds{out_fd, err_fd},
        never_block{never_blocks(out_fd), never_blocks(err_fd)},
        progress_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~State() {
    if (progress_fd >= 0) ::close(progress_fd);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void ensure_thread(const std::shared_ptr<State>& self);
  void write_at_once(Stream stream, std::string_view text);
  void run();
  Stream gather(Batch& batch, std::size_t limit);
  void accept(std::size_t bytes);
  void give_up(Stream stream, int error);
  void tell_progress();

  const std::array<int, 2> fds;
  const std::array<bool, 2> never_block;
  const int progress_fd;

  mutable std::mutex mutex;  // guards all below; never held while writing
  std::condition_variable work;
  std::condition_variable progress;
  std::deque<Text> queue;     // a deque, because its elements stay where they are when it grows
  std::size_t offset = 0;     // bytes of the front that have been accepted
  std::size_t in_flight = 0;  // texts at the front that a write is looking at
  std::size_t pending = 0;
  std::array<int, 2> errors{};
  std::array<std::uint64_t, 2> dropped{};
  bool has_thread = false;
  bool stop = false;
};

void ConsoleWriter::State::ensure_thread(const std::shared_ptr<State>& self) {
  if (has_thread) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([self] { self->run(); }).detach();
    has_thread = true;
  } catch (const std::system_error&) {
    // No thread to be had now (EAGAIN): the next write tries again, the texts wait.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ConsoleWriter::State::write_at_once(Stream stream, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fds[index_of(stream)], text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      errors[index_of(stream)] = errno;
      dropped[index_of(stream)] += text.size();
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void ConsoleWriter::State::run() {
  using Clock = std::chrono::steady_clock;
  Batch batch;
  std::size_t limit = kSmallWrite;
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [this] { return stop || !queue.empty(); });
    if (stop) return;
    const Stream stream = gather(batch, limit);
    lock.unlock();
    const Clock::time_point before = Clock::now();
    const Written written = write_batch(fds[index_of(stream)], batch);
    limit = Clock::now() - before > kSlow ? kSmallWrite : std::min(limit * 2, kLargeWrite);
    lock.lock();
    in_flight = 0;
    if (written.error == 0) {
      accept(written.bytes);
    } else {
      give_up(stream, written.error);
    }
    tell_progress();
  }
}

Stream ConsoleWriter::State::gather(Batch& batch, std::size_t limit) {
  const Stream stream = queue.front().stream;
  std::size_t skip = offset;
  batch.count = 0;
  in_flight = 0;
  for (Text& text : queue) {
    if (text.stream != stream || in_flight == kMaxPieces || limit == 0) break;
    const std::size_t size = std::min(text.bytes.size() - skip, limit);
    batch.pieces[in_flight++] = {text.bytes.data() + skip, size};
    limit -= size;
    skip = 0;
  }
  batch.count = static_cast<int>(in_flight);
  return stream;
}

void ConsoleWriter::State::accept(std::size_t bytes) {
  pending -= bytes;
  offset += bytes;
  while (!queue.empty() && offset >= queue.front().bytes.size()) {
    offset -= queue.front().bytes.size();
    queue.pop_front();
  }
}

void ConsoleWriter::State::give_up(Stream stream, int error) {
  std::uint64_t& lost = dropped[index_of(stream)];
  errors[index_of(stream)] = error;
  if (queue.front().stream == stream) {  // the front may have been accepted in part
    queue.front().bytes.erase(0, offset);
    offset = 0;
  }
  std::erase_if(queue, [&](const Text& text) {
    if (text.stream != stream) return false;
    lost += text.bytes.size();
    pending -= text.bytes.size();
    return true;
  });
}

void ConsoleWriter::State::tell_progress() {
  progress.notify_all();
  const std::uint64_t one = 1;
  // The only failure is a counter at its maximum, and then it is readable anyway.
  if (progress_fd >= 0 && ::write(progress_fd, &one, sizeof one) < 0) return;
}

ConsoleWriter::ConsoleWriter(int out_fd, int err_fd)
    : state_(std::make_shared<State>(out_fd, err_fd)) {}

ConsoleWriter::~ConsoleWriter() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->work.notify_all();
}

void ConsoleWriter::write(Stream stream, std::string text) {
  if (text.empty()) return;
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (state.errors[index_of(stream)] != 0) {
    state.dropped[index_of(stream)] += text.size();
    return;
  }
  if (state.never_block[index_of(stream)] && state.queue.empty()) {
    return state.write_at_once(stream, text);
  }
  state.pending += text.size();
  std::deque<State::Text>& queue = state.queue;
  const bool joins = queue.size() > state.in_flight && queue.back().stream == stream &&
                     queue.back().bytes.size() + text.size() <= kJoined;
  if (joins) {
    queue.back().bytes.append(text);
  } else {
    queue.push_back({stream, std::move(text)});
  }
  state.ensure_thread(state_);
  state.work.notify_one();
}

std::size_t ConsoleWriter::pending() const {
  const std::lock_guard lock(state_->mutex);
  return state_->pending;
}

int ConsoleWriter::progress_fd() const {
  return state_->progress_fd;
}

bool ConsoleWriter::drain(std::chrono::milliseconds limit) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (!state.queue.empty()) state.ensure_thread(state_);
  const bool empty = state.progress.wait_for(lock, limit, [&] { return state.queue.empty(); });
  return empty && state.errors[0] == 0 && state.errors[1] == 0;
}

bool ConsoleWriter::broken(Stream stream) const {
  return error_number(stream) != 0;
}

int ConsoleWriter::error_number(Stream stream) const {
  const std::lock_guard lock(state_->mutex);
  return state_->errors[index_of(stream)];
}

std::uint64_t ConsoleWriter::dropped(Stream stream) const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped[index_of(stream)];
}

}  // namespace dlaunch
