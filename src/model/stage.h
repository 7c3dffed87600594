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

/// A BLAKE2 hash of a file (os/file_hash.h), 256 bits: no other file can be made to match it.
using StrongHash = std::array<std::uint64_t, 4>;

/// One line of `stage` or of `collect`: a file or a folder, and the path of its copy. Both are
/// absolute except where a message says otherwise.
struct StageItem {
  std::string from;
  std::string to;
  bool unpack = false;  // of `stage`: `to` gets the content of the archive `from`
  std::vector<std::string> exclude{};  // of `stage`: see Transfer
  bool keeps = false;  // of `stage`: what was removed from the folder `from` stays at `to`
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
  std::uint32_t root = 0;  // index of the folder on the nodes that contains it
  SyncEntry entry;
  std::string unpack{};  // of an archive: the name that its content gets, in the same folder
  /// If the list has more names (hard links) of this file: the number of entries from this one to
  /// the last of them, whose entry stands for the content; 0: this entry does.
  std::uint32_t content_after = 0;
  std::uint64_t holes = 0;  // of a sparse file: bytes in holes, in whole blocks
  bool operator==(const StageEntry&) const = default;
};

/// Where the data of a line of `stage` comes from.
struct StageOrigin {
  std::string name;  // the machine and the path there; empty: nodes keep no record of it
  /// An absolute path beside or in the target: a node that finds it sees the source itself, perhaps
  /// over NFS, and must not write there. Empty: the source has a different path, or is read-only on
  /// its own machine.
  std::string marker{};
  std::string target{};  // the copy's absolute path: the root, or a file or folder in it
  bool removes = false;  // removes what an earlier staging put there and this one did not
  bool operator==(const StageOrigin&) const = default;
};

/// What stagings from one source have put at one target of a node, according to the node's record.
struct StagedTarget {
  std::string target;            // absolute
  std::string source;            // "machine:/path"
  bool unpacked = false;         // the content of an archive
  bool made_folder = false;      // the target was made by a staging, not found there
  std::string real_root{};       // the real path of its folder, without links; empty: not known
  bool whole = false;            // the staging has ended; else some files may predate it
  std::int64_t staged_at = 0;    // nanoseconds since 1970; 0: not known
  std::string by;                // "run 20261120-210142-k3f"; empty: not known
  std::uint64_t files = 0;       // files that are still as staged; after a cleaning: removed files
  std::uint64_t bytes = 0;       // in these files
  std::uint64_t unfinished = 0;  // bytes left beside them by interrupted stagings; after a
                                 // cleaning: removed ones
  std::vector<std::string> users{};  // runs that use it
  std::string problem{};             // why it was not, or not fully, removed
  bool failed = false;               // the problem is an error
  bool operator==(const StagedTarget&) const = default;
};

/// What one node reports about all its targets, in the order of their paths.
struct StagedOnNode {
  std::string name;
  std::vector<StagedTarget> targets{};
  std::string problem{};  // why the report is incomplete
  bool is_lost = false;   // the node could not be asked, or has not answered
};

/// What a node has at the path of a file.
struct StageWant {
  std::uint32_t entry = 0;
  std::vector<std::uint64_t> hashes;  // of its blocks, from the first one on; a further StageWant
                                      // for the same entry continues
  bool operator==(const StageWant&) const = default;
};

/// Secrets shared by both ends of a connection between two nodes, made by random_secret().
struct StageKey {
  std::string ticket;  // goes over the connection in the clear, to identify it
  std::string up;      // seals what the receiver of blocks sends
  std::string down;    // seals what that receiver gets
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
  std::uint64_t bytes = 0;          // that the node received
  std::uint64_t from_launcher = 0;  // part of `bytes`, sent by the launcher
  std::uint64_t removed = 0;        // files and folders, removed because the source lacks them now
  std::string source{};             // the node that fed it last; empty: the launcher
  bool operator==(const StagedNode&) const = default;
};
struct StageReport {
  std::vector<StagedNode> nodes;
  SyncExtent extent;                   // of everything staged on each node
  std::vector<std::string> special{};  // not copied: sockets, devices, FIFOs
  std::vector<std::string> notes{};    // nodes that could not be fed by another one
  std::chrono::nanoseconds took{};
};

/// What `collect` has brought from one node.
struct CollectedNode {
  NodeId node;
  std::string name;
  std::uint64_t files = 0;             // that the node has
  std::uint64_t bytes = 0;             // in these files
  std::uint64_t received = 0;          // bytes that the node sent
  std::vector<std::string> missing{};  // what the node was asked for and does not have
  std::vector<std::string> special{};  // not copied: sockets, devices, FIFOs
  std::string problem{};               // why something is missing here; empty: nothing is
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
