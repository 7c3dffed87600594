#include "node/ranks/stdin_pump.h"

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace dlaunch {

namespace {

/// The first Ctrl-D ends an unfinished line, if there is one (termios(3), VEOF).
constexpr const char* kEndOfLineAndFile = "\x04\x04";

}  // namespace

void StdinPump::begin(Attempt attempt) {
  if (attempt == attempt_) return;
  attempt_ = attempt;
  pipe_.reset();
  waiting_.clear();
  end_ = false;
  taken_ = 0;
}

void StdinPump::connect(Attempt attempt, UniqueFd write_end, bool is_terminal) {
  begin(attempt);
  is_terminal_ = is_terminal;
  pipe_ = std::make_unique<WatchedFd>(loop_, std::move(write_end));
  flush();
}

void StdinPump::add(const wire::StdinData& data) {
  if (data.attempt < attempt_) return;  // for an earlier attempt
  begin(data.attempt);
  if (data.bytes.empty()) end_ = true;
  waiting_ += data.bytes;
  if (pipe_) flush();
}

void StdinPump::flush() {
  const std::uint64_t before = taken_;
  if (end_ && std::exchange(is_terminal_, false)) waiting_ += kEndOfLineAndFile;
  while (pipe_ && !waiting_.empty()) {
    const ssize_t n = ::write(pipe_->get(), waiting_.data(), waiting_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      wait();
      break;
    }
    if (n < 0) return close();  // EPIPE: the rank no longer reads
    taken_ += static_cast<std::uint64_t>(n);
    waiting_.erase(0, static_cast<std::size_t>(n));
  }
  if (taken_ != before) channel_.send(wire::StdinTaken{attempt_, taken_, false});
  if (end_ && waiting_.empty()) close();
}

void StdinPump::wait() {
  pipe_->on_writable([this] { flush(); });
}

void StdinPump::close() {
  if (!pipe_) return;
  pipe_.reset();
  waiting_.clear();
  channel_.send(wire::StdinTaken{attempt_, taken_, true});
}

}  // namespace dlaunch
