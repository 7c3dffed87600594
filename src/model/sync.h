// Values for `sync: true`: the entries of the workdir on the launcher's machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace dlaunch {

struct SyncEntry {
  enum class Kind : std::uint8_t { file = 1, folder = 2, link = 3 };

  std::string path;  // relative to the workdir, components separated by '/'; bytes without NUL
  Kind kind = Kind::file;
  std::uint32_t mode = 0;  // the nine permission bits; 0 for links
  std::uint64_t size = 0;  // bytes, files only
  std::int64_t mtime = 0;  // nanoseconds since 1970-01-01 UTC, files only
  std::string target{};    // links only, from readlink(2)
  bool operator==(const SyncEntry&) const = default;
};

/// XXH3, 128 bits, of a file's content: detects changes, not attacks.
struct ContentHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const ContentHash&) const = default;
};

/// The size of a sync, regardless of what the nodes already have.
struct SyncExtent {
  std::uint64_t files = 0;  // links too
  std::uint64_t bytes = 0;
  bool operator==(const SyncExtent&) const = default;
};

/// The result of a sync on one node.
struct SyncedNode {
  NodeId node;
  std::string name;
  bool is_shared = false;   // it shares the launcher's folder: nothing was copied
  std::uint64_t files = 0;  // files whose content was sent
  std::uint64_t bytes = 0;
  std::uint64_t removed = 0;
  std::uint64_t replaced = 0;           // existing different files that no sync had written
  std::vector<std::string> examples{};  // some of the replaced files
  bool operator==(const SyncedNode&) const = default;
};
struct SyncReport {
  std::vector<SyncedNode> nodes;
  SyncExtent extent;                   // of the workdir
  std::vector<std::string> special{};  // paths that were not copied: sockets, devices, FIFOs
  std::chrono::nanoseconds took{};
};

}  // namespace dlaunch
