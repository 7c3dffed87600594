// An archive that is read while it arrives: the agent writes the file and says how many bytes are
// correct so far; a reader waits for more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "os/unique_fd.h"

namespace dlaunch {

/// What the agent adds to stop the reader: every call then fails with ECANCELED.
inline constexpr std::uint64_t kGiveUp = std::uint64_t{1} << 62;

/// For one thread. No wait outlasts the agent, whose end kills this process (os/spawn.h).
class ArrivingFile {
 public:
  /// `arrived`: an eventfd(2) without EFD_NONBLOCK. The agent adds to it the number of bytes that
  /// are correct, from the beginning on, and 1 once the hash of the whole file is correct.
  ArrivingFile(UniqueFd file, UniqueFd arrived, std::uint64_t size)
      : file_(std::move(file)), arrived_(std::move(arrived)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// At most `most` bytes at the position, which moves past them; none at the end. Returns 0 or
  /// an errno.
  [[nodiscard]] int read(std::size_t most, std::string& bytes);
  [[nodiscard]] std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) { position_ = position; }
  /// Waits until the hash is known to be correct. Returns 0 or an errno.
  [[nodiscard]] int wait_for_hash() { return wait_for(size_ + 1); }

 private:
  [[nodiscard]] int wait_for(std::uint64_t count);
  [[nodiscard]] bool has_news() const;

  UniqueFd file_;
  UniqueFd arrived_;
  std::uint64_t size_;
  std::uint64_t told_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace dlaunch
