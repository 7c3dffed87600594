// Errors as values: no function of this library throws.
#ifndef DLAUNCH_COLLECTIVES_STATUS_H
#define DLAUNCH_COLLECTIVES_STATUS_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace dlaunch::collectives {

enum class Code : std::uint8_t {
  ok,
  invalid_argument,  // the caller's error; nothing was started, and the communicator stays usable
  unavailable,       // the back-end is missing or does not support this; what() says why
  timed_out,         // not complete within Options::timeout: a peer is late, stuck or gone
  peer_failed,       // the underlying library reports that a peer is gone
  broken,            // an earlier call failed: the ranks may be out of step
  internal,          // the underlying library failed; what() has its message
};

/// As thread-safe as a std::string.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string what)
      : failure_(code == Code::ok
                     ? nullptr
                     : std::make_shared<const Failure>(Failure{code, std::move(what)})) {}

  [[nodiscard]] bool ok() const noexcept { return failure_ == nullptr; }
  [[nodiscard]] Code code() const noexcept { return failure_ ? failure_->code : Code::ok; }
  /// One line without a final period; empty if ok.
  [[nodiscard]] const std::string& what() const noexcept {
    static const std::string nothing;
    return failure_ ? failure_->what : nothing;
  }

 private:
  struct Failure {
    Code code = Code::ok;
    std::string what;
  };
  std::shared_ptr<const Failure> failure_;  // null if ok, so that a call of 100 ns stays fast
};

/// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}             // NOLINT(google-explicit-constructor)
  Result(Status failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return value_.has_value(); }
  /// Ok if there is a value.
  [[nodiscard]] const Status& status() const noexcept { return failure_; }
  /// Requires a value.
  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  Status failure_;
};

}  // namespace dlaunch::collectives

#endif
