// An archive that is unpacked while it arrives: the agent's end of the process
// (node/unpack/unpack_main.h is the other).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/result.h"
#include "node/unpack/unpack_archive.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the agent's one thread. RankService reaps the process with the agent's other children.
class Unpacker {
 public:
  /// `archive`: open for reading; it has `size` bytes once complete. `heard` is called from the
  /// loop when is_over() or signs() may have changed; it must not destroy this. Errors:
  /// exit_code::kPreflight.
  [[nodiscard]] static Result<std::unique_ptr<Unpacker>> start(EventLoop& loop,
                                                               const UnpackOrder& order,
                                                               const UniqueFd& archive,
                                                               std::uint64_t size,
                                                               std::function<void()> heard);
  /// Kills the process. What it has made beside the target stays until the next unpacker cleans it
  /// up.
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// The first `bytes` bytes of the archive are correct. Never fewer than before.
  void arrived(std::uint64_t bytes);
  /// Call when all bytes and their hash are correct: the unpacked files then take the target's
  /// place.
  void is_right() { arrived(size_ + 1); }
  /// Makes the process clean up and end. After is_right(), it has no effect.
  void give_up();

  [[nodiscard]] bool is_over() const { return outcome_.has_value(); }
  /// Once it is over. Empty: it is unpacked.
  [[nodiscard]] const std::string& problem() const { return outcome_->problem; }
  [[nodiscard]] std::uint64_t skipped() const { return outcome_->skipped; }
  /// Grows while it works.
  [[nodiscard]] std::uint64_t signs() const { return signs_; }

 private:
  struct Outcome {
    std::string problem;
    std::uint64_t skipped = 0;
  };
  Unpacker(EventLoop& loop, UniqueFd output, UniqueFd arrived, UniqueFd process, std::uint64_t size,
           std::function<void()> heard);
  void watch();
  void read();
  void end();

  WatchedFd output_;
  UniqueFd arrived_;
  UniqueFd process_;  // a pidfd
  const std::uint64_t size_;
  std::function<void()> heard_;
  std::uint64_t told_ = 0;
  std::uint64_t signs_ = 0;
  std::string said_;  // without signs of life
  std::optional<Outcome> outcome_;
};

}  // namespace dlaunch
