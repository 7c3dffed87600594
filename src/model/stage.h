// Values for `stage`: docs/how-to/stage-data.md.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/sync.h"

namespace dlaunch {

/// BLAKE2b, 256 bits, of a file's content: nothing else can be made to have the same.
using StrongHash = std::array<std::uint64_t, 4>;

/// One line of `stage` or of `collect`: a file or a folder, and the path of its copy. Absolute but
/// for what a message says.
struct StageItem {
  std::string from;
  std::string to;
  bool unpack = false;  // of `stage`: `to` gets the content of the archive `from`
  bool operator==(const StageItem&) const = default;
};

/// Blocks in a row, by their numbers (sync/blocks.h).
struct BlockRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const BlockRun&) const = default;
};

/// A file, folder or link to copy.
struct StageEntry {
  std::uint32_t root = 0;  // index of the folder on the nodes that it is below
  SyncEntry entry;
  std::string unpack{};  // of an archive: the name in the same folder that its content gets
  bool operator==(const StageEntry&) const = default;
};

/// Where a line of `stage` comes from.
struct StageOrigin {
  std::string name;  // the machine and the path there; empty: nodes keep no record of it
  /// An absolute path beside or in the target: a node that finds it sees the source itself, perhaps
  /// by NFS, and must not write there. Empty: the source has another path, or cannot be written
  /// here.
  std::string marker{};
  std::string target{};  // the copy's absolute path: the root, or a file or folder in it
  bool removes = false;  // what an earlier staging has put there, and this one has not, is removed
  bool operator==(const StageOrigin&) const = default;
};

/// What stagings from one source have put at one target of a node: from the node's record of it.
struct StagedTarget {
  std::string target;            // absolute
  std::string source;            // "machine:/path"
  bool unpacked = false;         // the content of an archive
  bool made_folder = false;      // the target was made by a staging, not found there
  std::string real_root{};       // its folder without links; empty: not known
  bool whole = false;            // the staging has ended; else some files may be of an earlier one
  std::int64_t staged_at = 0;    // nanoseconds since 1970; 0: not known
  std::string by;                // "run 20261120-210142-k3f"; empty: not known
  std::uint64_t files = 0;       // that are there as they were staged; after a cleaning: removed
  std::uint64_t bytes = 0;       // in them
  std::uint64_t unfinished = 0;  // bytes that interrupted stagings have left beside them; likewise
  std::vector<std::string> users{};  // runs that have it in use
  std::string problem{};             // why it was not removed, or not all of it
  bool failed = false;               // the problem is an error
  bool operator==(const StagedTarget&) const = default;
};

/// What one node says of all of them, in the order of the targets.
struct StagedOnNode {
  std::string name;
  std::vector<StagedTarget> targets{};
  std::string problem{};  // why not all of it is told
  bool is_lost = false;   // the node could not be asked, or has not answered
};

/// What a node has at the path of a file.
struct StageWant {
  std::uint32_t entry = 0;
  std::vector<std::uint64_t> hashes;  // of its blocks, from the first one on; a further StageWant
                                      // of the entry goes on
  bool operator==(const StageWant&) const = default;
};

/// What both ends of a connection between two nodes know of it. Texts of random_secret().
struct StageKey {
  std::string ticket;  // goes over the connection in the clear, to tell which one it is
  std::string up;      // seals what the receiver of blocks sends
  std::string down;    // seals what it receives
  bool operator==(const StageKey&) const = default;
};
struct StageAddress {
  std::string address;
  std::uint16_t port = 1;
  bool operator==(const StageAddress&) const = default;
};

/// The result on one node.
struct StagedNode {
  NodeId node;
  std::string name;
  std::uint64_t bytes = 0;          // that it received
  std::uint64_t from_launcher = 0;  // of these
  std::uint64_t removed = 0;        // files and folders that were gone from the source
  std::string source{};             // the node that fed it last; empty: the launcher
  bool operator==(const StagedNode&) const = default;
};
struct StageReport {
  std::vector<StagedNode> nodes;
  SyncExtent extent;                   // of all that is staged, on each node
  std::vector<std::string> special{};  // not copied: sockets, devices, FIFOs
  std::vector<std::string> notes{};    // nodes that could not be fed by another one
  std::chrono::nanoseconds took{};
};

/// What `collect` has brought from one node.
struct CollectedNode {
  NodeId node;
  std::string name;
  std::uint64_t files = 0;             // that it has there
  std::uint64_t bytes = 0;             // in them
  std::uint64_t received = 0;          // bytes that were sent for it
  std::vector<std::string> missing{};  // what it was asked for and does not have
  std::vector<std::string> special{};  // not copied: sockets, devices, FIFOs
  std::string problem{};               // why not all is here; empty: all is
  bool operator==(const CollectedNode&) const = default;
};
struct CollectReport {
  std::vector<CollectedNode> nodes;
  std::chrono::nanoseconds took{};
  [[nodiscard]] bool is_whole() const {
    for (const CollectedNode& node : nodes) {
      if (!node.problem.empty()) return false;
    }
    return true;
  }
};

}  // namespace dlaunch
