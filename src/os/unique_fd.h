// A file descriptor that closes itself. Every descriptor in dlaunch is made close-on-exec.
#pragma once

#include <utility>

#include "model/result.h"

namespace dlaunch {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  explicit operator bool() const { return valid(); }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// pipe2(O_CLOEXEC | flags). Error: errno.
[[nodiscard]] tl::expected<Pipe, int> make_pipe(int flags = 0);

/// A connected pair of unix sockets, close-on-exec. `type` is SOCK_STREAM or SOCK_SEQPACKET.
[[nodiscard]] Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair(int type);

/// A close-on-exec duplicate above 2; invalid if there is no descriptor left.
[[nodiscard]] UniqueFd duplicate(int fd);

/// Opens /dev/null on each of 0, 1, 2 that is closed, so that no later descriptor lands there.
void ensure_standard_descriptors();

}  // namespace dlaunch
