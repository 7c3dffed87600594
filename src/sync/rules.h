// What a sync does with one entry of the workdir on a node: a function of what the launcher has,
// what is on the node, and what an earlier sync put there. docs/how-to/sync-code.md describes it
// for users. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/sync.h"
#include "wire/message.h"

namespace dlaunch::sync {

/// Every file that dlaunch itself makes in a workdir has this prefix. Such files are not copied.
inline constexpr std::string_view kOwnPrefix = ".dlaunch-";
/// A file by which a node finds out that it sees the launcher's file system; 32 hex digits follow.
inline constexpr std::string_view kMarkerPrefix = ".dlaunch-sync-";

/// More than this is an error: the sync is probably a mistake, or another way is better.
inline constexpr std::uint64_t kMostFiles = 100'000;
inline constexpr std::uint64_t kMostBytes = std::uint64_t{2} << 30;
/// The same limit for one item of `stage` or `collect`. An entry costs the launcher about 200
/// bytes.
inline constexpr std::uint64_t kMostStaged = 1'000'000;

/// Whether a path from another machine stays below a folder: no component is empty, ".", ".." or
/// ".git", and lengths are within Linux's limits.
[[nodiscard]] bool is_safe_path(std::string_view path);
/// Whether an absolute path is `folder` or below it. A '/' at the end of `folder` is ignored.
[[nodiscard]] bool lies_in(std::string_view path, std::string_view folder);
/// The path without slashes at its end; "/" stays.
[[nodiscard]] std::string without_slashes(std::string path);
/// Whether files with this name in the workdir are never copied: git's own data, and dlaunch's.
[[nodiscard]] bool is_left_out(std::string_view name);

/// A file's time (seconds and nanoseconds of a timespec) as it is compared and sent: nanoseconds
/// since 1970, clamped to 64 bits (before 1677 and after 2262).
[[nodiscard]] std::int64_t nanoseconds(std::int64_t seconds, std::int64_t rest);

/// What lstat(2) has found at a path.
struct Found {
  enum class Kind : std::uint8_t { nothing, file, folder, link, other };
  Kind kind = Kind::nothing;
  std::uint32_t mode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime = 0;
  std::string target{};
  // Files only: which file it is, and how many names (hard links) it has.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t names = 0;
  [[nodiscard]] bool is_same_file(const Found& other) const {
    return kind == Kind::file && other.kind == kind && device == other.device &&
           inode == other.inode;
  }
};

/// Whether what is on the node is what a sync put there, unchanged since.
[[nodiscard]] bool is_untouched(const Found& found, const SyncEntry& recorded);

struct Decision {
  enum class Action : std::uint8_t {
    keep,
    set_mode,  // everything else is right
    compare,   // same size, another time: the content decides
    send,
    make,    // a folder or a link, for which no content is needed
    refuse,  // what is there must not be removed
  };
  Action action = Action::keep;
  bool clear = false;     // an earlier sync's entry is in the way: remove it first
  bool late = false;      // a folder of an earlier sync is in the way: retry after removals
  bool replaces = false;  // something that no sync put there is lost
};
/// `recorded`: the record of the same path; null: no sync has put `found` there.
[[nodiscard]] Decision decide(const SyncEntry& wanted, const Found& found,
                              const SyncEntry* recorded);
/// Why decide() refused: "is a link there but a folder at the source".
[[nodiscard]] std::string refusal(const SyncEntry& wanted, const Found& found);

/// How much of a window a message takes: about its bytes on the wire. Both ends compute the same.
[[nodiscard]] std::uint64_t cost_of(const SyncEntry& entry);
[[nodiscard]] std::uint64_t cost_of(const wire::SyncEntries& message);
[[nodiscard]] std::uint64_t cost_of(const wire::SyncData& message);

}  // namespace dlaunch::sync
