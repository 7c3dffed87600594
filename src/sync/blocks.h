// The blocks of the files that `stage` copies: their numbers, which of them are sent, and in which
// order. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/stage.h"

namespace dlaunch::sync {

/// The last block of a file may be shorter.
inline constexpr std::uint64_t kBlockBytes = std::uint64_t{64} << 10;

[[nodiscard]] constexpr std::uint64_t blocks_of(std::uint64_t size) {
  return size / kBlockBytes + (size % kBlockBytes == 0 ? 0 : 1);
}

/// Bytes of content that come with an entry.
[[nodiscard]] constexpr std::uint64_t content_of(const StageEntry& at) {
  return at.entry.kind == SyncEntry::Kind::file && at.content_after == 0 ? at.entry.size : 0;
}

/// Numbers the blocks of all entries of a staging, in the order of the entries.
class BlockMap {
 public:
  /// Adds the next entry; `size`: its content_of().
  void add(std::uint64_t size);

  struct Place {
    std::uint32_t entry = 0;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t size = 0;
    bool operator==(const Place&) const = default;
  };
  [[nodiscard]] std::uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  /// `block` < total().
  [[nodiscard]] Place place_of(std::uint64_t block) const;
  [[nodiscard]] std::uint64_t first_of(std::uint32_t entry) const {
    return entry == 0 ? 0 : ends_[entry - 1];
  }
  [[nodiscard]] std::uint64_t end_of(std::uint32_t entry) const { return ends_[entry]; }

 private:
  std::vector<std::uint64_t> ends_;  // by entry: the number after its last block
  std::vector<std::uint64_t> sizes_;
};

/// Blocks in the order in which they are sent: by their numbers, each once. A position counts the
/// blocks before it.
class BlockStream {
 public:
  BlockStream() = default;
  explicit BlockStream(const std::vector<bool>& missing);

  /// Adds the next run. False: it is empty, does not come after the others, or ends after `total`.
  [[nodiscard]] bool add(const BlockRun& run, std::uint64_t total);
  [[nodiscard]] std::uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// `position` < size().
  [[nodiscard]] std::uint64_t at(std::uint64_t position) const;
  /// Whether it has all blocks from `first` to before `end`, which is greater.
  [[nodiscard]] bool has(std::uint64_t first, std::uint64_t end) const;
  [[nodiscard]] const std::vector<BlockRun>& runs() const { return runs_; }

 private:
  std::vector<BlockRun> runs_;
  std::vector<std::uint64_t> ends_;  // by run: the position after it
};

}  // namespace dlaunch::sync
