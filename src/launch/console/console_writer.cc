#include "launch/console/console_writer.h"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "launch/console/console_lane.h"

namespace dlaunch {

namespace {

bool are_one_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return a == b || (::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 &&
                    first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

/// Outlives the writer while a blocked thread may still use it.
struct ProgressFd {
  ProgressFd() : fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~ProgressFd() {
    if (fd >= 0) ::close(fd);
  }
  ProgressFd(const ProgressFd&) = delete;
  ProgressFd& operator=(const ProgressFd&) = delete;
  const int fd;
};

}  // namespace

ConsoleWriter::ConsoleWriter(int out_fd, int err_fd)
    : out_fd_(out_fd), err_fd_(err_fd), asked_(std::make_shared<std::atomic<bool>>(false)) {
  auto shared = std::make_shared<ProgressFd>();
  progress_fd_ = shared->fd;
  tell_ = [shared = std::move(shared), asked = asked_] {
    if (!asked->exchange(false)) return;
    const std::uint64_t one = 1;
    // The only failure is a counter at its maximum, and then the eventfd is readable anyway.
    if (shared->fd >= 0 && ::write(shared->fd, &one, sizeof one) < 0) return;
  };
  open_lanes();
}

void ConsoleWriter::open_lanes() {
  lanes_[0] = std::make_shared<ConsoleLane>(out_fd_, tell_);
  lanes_[1] =
      are_one_file(out_fd_, err_fd_) ? lanes_[0] : std::make_shared<ConsoleLane>(err_fd_, tell_);
}

std::size_t ConsoleWriter::targets_changed() {
  const std::size_t forgotten = pending();
  for (const auto& lane : lanes_) lane->stop();
  open_lanes();
  tell_();  // a caller that waits for the old files need not wait any longer
  return forgotten;
}

ConsoleWriter::~ConsoleWriter() {
  for (const auto& lane : lanes_) lane->stop();
}

const std::shared_ptr<ConsoleLane>& ConsoleWriter::lane(Stream stream) const {
  return lanes_[stream == Stream::out ? 0 : 1];
}

bool ConsoleWriter::is_one_file() const {
  return lanes_[0] == lanes_[1];
}

void ConsoleWriter::write(Stream stream, std::string text) {
  if (!text.empty()) ConsoleLane::write(lane(stream), std::move(text));
}

void ConsoleWriter::ask_progress() {
  asked_->store(true);
}

std::string ConsoleWriter::take_buffer(Stream stream) {
  return lane(stream)->take_buffer();
}

std::size_t ConsoleWriter::pending() const {
  return lanes_[0]->pending() + (is_one_file() ? 0 : lanes_[1]->pending());
}

std::size_t ConsoleWriter::pending(Stream stream) const {
  return lane(stream)->pending();
}

bool ConsoleWriter::stalled(Stream stream) const {
  return lane(stream)->stalled_for() >= kConsoleStall;
}

bool ConsoleWriter::has_stalled(Stream stream) {
  return lane(stream)->take_longest_stall() >= kConsoleStall;
}

std::size_t ConsoleWriter::discard(Stream stream) {
  return lane(stream)->discard();
}

bool ConsoleWriter::drain(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto left = [end] {
    return std::max(std::chrono::milliseconds(0),
                    std::chrono::duration_cast<std::chrono::milliseconds>(
                        end - std::chrono::steady_clock::now()));
  };
  const bool first = ConsoleLane::drain(lanes_[0], limit);
  return (is_one_file() || ConsoleLane::drain(lanes_[1], left())) && first;
}

bool ConsoleWriter::drain(Stream stream, std::chrono::milliseconds limit) {
  return ConsoleLane::drain(lane(stream), limit);
}

bool ConsoleWriter::broken(Stream stream) const {
  return error_number(stream) != 0;
}

int ConsoleWriter::error_number(Stream stream) const {
  return lane(stream)->error_number();
}

std::uint64_t ConsoleWriter::dropped(Stream stream) const {
  return lane(stream)->dropped();
}

}  // namespace dlaunch
