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
  invalid_argument,  // of the caller; nothing was begun, and the communicator may be used on
  unavailable,       // no such back-end here, or it cannot do this; what() says which and why
  timed_out,         // not within Options::timeout: a peer is late, stuck or gone
  peer_failed,       // the library below has seen that a peer is gone
  broken,            // an earlier call has failed: whether the others are in step is not known
  internal,          // the library below has failed; what() has its words
};

/// Not thread-safe beyond what a std::string is.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string what)
      : failure_(code == Code::ok
                     ? nullptr
                     : std::make_shared<const Failure>(Failure{code, std::move(what)})) {}

  [[nodiscard]] bool ok() const noexcept { return failure_ == nullptr; }
  [[nodiscard]] Code code() const noexcept { return failure_ ? failure_->code : Code::ok; }
  /// One line without a dot at its end; empty when ok.
  [[nodiscard]] const std::string& what() const noexcept {
    static const std::string nothing;
    return failure_ ? failure_->what : nothing;
  }

 private:
  struct Failure {
    Code code = Code::ok;
    std::string what;
  };
  std::shared_ptr<const Failure> failure_;  // null where all is well: a call of 100 ns notices more
};

/// A value, or why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}             // NOLINT(google-explicit-constructor)
  Result(Status failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return value_.has_value(); }
  /// Ok where there is a value.
  [[nodiscard]] const Status& status() const noexcept { return failure_; }
  /// Only where there is a value.
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
