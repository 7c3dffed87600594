// Unpacks the archives of a staging on a node while they arrive, several at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "node/stage/stage_files.h"
#include "node/unpack/unpacker.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class StageArchives {
 public:
  /// `files` must outlive this. `heard` is called from the loop when there may be something to do;
  /// it must not destroy this.
  StageArchives(EventLoop& loop, StageFiles& files, std::function<void()> heard)
      : loop_(loop), files_(files), heard_(std::move(heard)) {}

  /// Starts unpacking archives whose first bytes have arrived, and tells the unpackers how much of
  /// each archive has arrived. Call it when all entries were looked at, and again when more has
  /// arrived.
  void go_on();
  /// Why an archive cannot be unpacked; empty: nothing is wrong so far.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool is_complete() const;
  /// Ends the unpackers under way, which then clean up. True: none is under way.
  [[nodiscard]] bool give_up();
  /// Grows while archives are unpacked.
  [[nodiscard]] std::uint64_t work() const;
  /// Members of all archives together that were left out.
  [[nodiscard]] std::uint64_t skipped() const;

 private:
  struct One {
    std::uint32_t entry = 0;
    std::unique_ptr<Unpacker> unpacker{};
  };
  void begin(One& one);
  void fail(const One& one, const std::string& why);
  [[nodiscard]] std::size_t under_way() const;

  EventLoop& loop_;
  StageFiles& files_;
  std::function<void()> heard_;
  bool is_listed_ = false;
  std::vector<One> archives_;
  std::string problem_;
};

}  // namespace dlaunch
