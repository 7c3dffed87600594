// A function that waits in the middle: a coroutine that its owner resumes when what it waits for is
// there (launch/session/preparation.cc).
//
// gcc 12 destroys temporaries of a `co_await` expression twice. Wait and its arguments need no
// destructor for that reason.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace dlaunch {

/// Lives on one thread. Begins at the first go_on().
class Coroutine {
 public:
  struct promise_type {
    Coroutine get_return_object() {
      return Coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() { std::terminate(); }
  };
  /// `co_await Wait{is_over}`: waits until the next go_on(), unless the wait is over already.
  struct Wait {
    bool is_over = false;
    [[nodiscard]] bool await_ready() const { return is_over; }
    void await_suspend(std::coroutine_handle<>) const {}
    void await_resume() const {}
  };

  /// No function is under way.
  Coroutine() = default;
  Coroutine(Coroutine&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Coroutine& operator=(Coroutine&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Coroutine() {
    if (handle_) handle_.destroy();
  }

  /// Whether the function waits for go_on(); false even from within go_on().
  [[nodiscard]] bool is_waiting() const { return handle_ && !is_running_; }
  /// Runs the function to its next wait or its end. Requires is_waiting(). True: it has ended.
  bool go_on() {
    is_running_ = true;
    handle_.resume();
    is_running_ = false;
    return handle_.done();
  }

 private:
  explicit Coroutine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
  bool is_running_ = false;
};

}  // namespace dlaunch
