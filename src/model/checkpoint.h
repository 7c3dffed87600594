// A job's checkpoints, and those that an attempt has added. Plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

/// A file or folder that matches a pattern of `checkpoint.path`, with all regular files in it.
struct CheckpointItem {
  std::string path;         // relative to the workdir if the pattern is
  std::uint64_t bytes = 0;  // of all these files
  std::uint32_t files = 0;  // number of files, at least one
  WallTime written{};       // the latest change of a file, by the clock of its file system
  bool operator==(const CheckpointItem&) const = default;
};

/// What one scan of a node's disks found, newest first.
struct CheckpointList {
  std::vector<CheckpointItem> items;
  bool is_whole = true;  // false: the scan reached a limit, and the oldest items are missing
  bool operator==(const CheckpointList&) const = default;
};

/// What a node knows about an attempt's checkpoints.
struct CheckpointsFound {
  WallTime at{};                        // when the node scanned, by its own clock
  std::vector<CheckpointItem> written;  // in the attempt, newest first; at most kMostCheckpoints
  std::uint32_t unlisted = 0;           // how many more were written than `written` lists
  std::vector<CheckpointItem> older;    // the newest one from before the attempt; at most one
  std::string problem;                  // why something may be missing; empty: nothing is
  bool operator==(const CheckpointsFound&) const = default;
};
inline constexpr std::size_t kMostCheckpoints = 256;

/// An attempt's checkpoints at its end, over all its nodes.
struct CheckpointAccount {
  struct Item {
    std::string path;
    std::uint64_t bytes = 0;
    std::chrono::nanoseconds age{0};  // at the end of the attempt, 0 or more
    bool operator==(const Item&) const = default;
  };
  std::optional<Item> latest;         // the newest one written in the attempt
  std::uint32_t written = 0;          // number written in the attempt, each path counted once
  std::uint64_t bytes = 0;            // of all items written in the attempt
  std::optional<Item> older;          // if none was written: the newest one from before the attempt
  std::vector<std::string> problems;  // "node3 was lost": what may be missing
  bool operator==(const CheckpointAccount&) const = default;
};

using CheckpointAccounts = std::map<Attempt, CheckpointAccount>;

}  // namespace dlaunch
