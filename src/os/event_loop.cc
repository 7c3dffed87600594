#include "os/event_loop.h"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

namespace dlaunch {

using asio::posix::descriptor_base;

struct EventLoop::State {
  asio::io_context context{1};
};

EventLoop::EventLoop() : state_(std::make_unique<State>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  auto guard = asio::make_work_guard(state_->context);
  state_->context.run();
}

void EventLoop::stop() {
  state_->context.stop();
}

bool EventLoop::run_one(std::optional<MonotonicTime> deadline) {
  auto guard = asio::make_work_guard(state_->context);
  if (state_->context.stopped()) state_->context.restart();
  if (!deadline) return state_->context.run_one() > 0;
  // steady_clock is CLOCK_MONOTONIC in libstdc++ on Linux.
  return state_->context.run_one_until(std::chrono::steady_clock::time_point(*deadline)) > 0;
}

void EventLoop::poll() {
  if (state_->context.stopped()) state_->context.restart();
  state_->context.poll();
}

void EventLoop::post(std::function<void()> work) {
  asio::post(state_->context, std::move(work));
}

// Shared with pending callbacks, which must not be called once the object is closed.
struct WatchedFd::State {
  explicit State(asio::io_context& context) : descriptor(context) {}
  asio::posix::stream_descriptor descriptor;
  bool open = false;

  static void wait(const std::shared_ptr<State>& self, descriptor_base::wait_type what,
                   std::function<void()> callback) {
    if (!self->open) return;
    self->descriptor.async_wait(
        what, [self, callback = std::move(callback)](const asio::error_code& error) {
          if (!error && self->open) callback();
        });
  }
};

WatchedFd::WatchedFd(EventLoop& loop, UniqueFd fd)
    : state_(std::make_shared<State>(loop.state().context)) {
  if (!fd) return;
  asio::error_code error;
  state_->descriptor.assign(fd.get(), error);
  if (error) return;  // no memory or no more watches: behaves as closed, and `fd` closes itself
  [[maybe_unused]] const int owned = fd.release();
  state_->open = true;
  state_->descriptor.native_non_blocking(true, error);
}

WatchedFd::~WatchedFd() {
  close();
}

void WatchedFd::on_readable(std::function<void()> callback) {
  State::wait(state_, descriptor_base::wait_read, std::move(callback));
}

void WatchedFd::on_writable(std::function<void()> callback) {
  State::wait(state_, descriptor_base::wait_write, std::move(callback));
}

int WatchedFd::get() const {
  return state_->open ? state_->descriptor.native_handle() : -1;
}

void WatchedFd::close() {
  if (!state_->open) return;
  state_->open = false;
  asio::error_code ignored;
  state_->descriptor.close(ignored);
}

struct Timer::State {
  explicit State(asio::io_context& context) : timer(context) {}
  asio::steady_timer timer;
  std::uint64_t generation = 0;  // only the callback of the latest after() is called
};

Timer::Timer(EventLoop& loop) : state_(std::make_shared<State>(loop.state().context)) {}

Timer::~Timer() {
  cancel();
}

void Timer::after(std::chrono::nanoseconds delay, std::function<void()> callback) {
  const std::uint64_t mine = ++state_->generation;
  state_->timer.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay));
  state_->timer.async_wait(
      [self = state_, mine, callback = std::move(callback)](const asio::error_code& error) {
        if (!error && self->generation == mine) callback();
      });
}

void Timer::cancel() {
  ++state_->generation;
  state_->timer.cancel();
}

}  // namespace dlaunch
