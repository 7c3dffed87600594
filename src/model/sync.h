// What `sync: true` copies, as values: the workdir of the launcher's machine, entry by entry.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"

namespace dlaunch {

struct SyncEntry {
  enum class Kind : std::uint8_t { file = 1, folder = 2, link = 3 };

  std::string path;  // from the workdir, components joined by '/'; bytes, but NUL
  Kind kind = Kind::file;
  std::uint32_t mode = 0;  // the nine permission bits; of links 0
  std::uint64_t size = 0;  // bytes, of files only
  std::int64_t mtime = 0;  // nanoseconds since 1970-01-01 UTC, of files only
  std::string target{};    // of links only, as readlink(2) says it
  bool operator==(const SyncEntry&) const = default;
};

/// XXH3, 128 bits, of a file's content: to know a file again, not to keep anybody out.
struct ContentHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const ContentHash&) const = default;
};

/// How much a sync is about, whether or not the nodes have it already.
struct SyncExtent {
  std::uint64_t files = 0;  // links too
  std::uint64_t bytes = 0;
  bool operator==(const SyncExtent&) const = default;
};

/// What a sync has come to on one node.
struct SyncedNode {
  NodeIndex node;
  std::string name;
  bool is_shared = false;   // it sees the launcher's own folder: there was nothing to copy
  std::uint64_t files = 0;  // whose content was sent
  std::uint64_t bytes = 0;
  std::uint64_t removed = 0;
  std::uint64_t replaced = 0;           // what no sync had put there, and was different
  std::vector<std::string> examples{};  // of these
  bool operator==(const SyncedNode&) const = default;
};
struct SyncReport {
  std::vector<SyncedNode> nodes;
  SyncExtent extent;                   // of the workdir
  std::vector<std::string> special{};  // paths that were not copied: sockets, devices, FIFOs
  std::chrono::nanoseconds took{};
};

}  // namespace dlaunch
