#include "sync/rules.h"

#include <limits>

namespace dlaunch::sync {

namespace {

constexpr std::size_t kLongestPath = 4095;  // PATH_MAX less the NUL
constexpr std::size_t kLongestName = 255;   // NAME_MAX
constexpr std::uint64_t kEntryOverhead = 48;
constexpr std::uint64_t kPieceOverhead = 16;

bool is_safe_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
         name != ".git" && name.find('\0') == std::string_view::npos;
}

Found::Kind found_kind(SyncEntry::Kind kind) {
  switch (kind) {
    case SyncEntry::Kind::file:
      return Found::Kind::file;
    case SyncEntry::Kind::folder:
      return Found::Kind::folder;
    case SyncEntry::Kind::link:
      return Found::Kind::link;
  }
  return Found::Kind::other;
}

const char* name_of(Found::Kind kind) {
  switch (kind) {
    case Found::Kind::nothing:
      return "not";
    case Found::Kind::file:
      return "a file";
    case Found::Kind::folder:
      return "a folder";
    case Found::Kind::link:
      return "a link";
    case Found::Kind::other:
      break;
  }
  return "a device or a socket";
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

/// File systems that store whole seconds drop the rest of a time.
bool is_same_time(std::int64_t found, std::int64_t expected) {
  const std::int64_t second = expected / kSecond - (expected % kSecond < 0 ? 1 : 0);
  return found == expected || (found % kSecond == 0 && found / kSecond == second);
}

/// A time that stands for many times says nothing about a change.
bool is_a_limit(std::int64_t time) {
  return time == kFirst || time == kLast;
}

Decision decide_folder(const Found& found, bool is_ours) {
  Decision decision;
  if (found.kind == Found::Kind::folder) return decision;
  decision.action = Decision::Action::make;
  if (found.kind == Found::Kind::nothing) return decision;
  if (!is_ours) return {Decision::Action::refuse};
  decision.clear = true;
  return decision;
}

Decision decide_link(const SyncEntry& wanted, const Found& found, bool is_ours) {
  if (found.kind == Found::Kind::link && found.target == wanted.target) return {};
  Decision decision{Decision::Action::make};
  if (found.kind == Found::Kind::nothing) return decision;
  decision.late = found.kind == Found::Kind::folder;
  decision.clear = !decision.late;
  decision.replaces = !is_ours;
  return decision;
}

Decision decide_file(const SyncEntry& wanted, const Found& found, bool is_ours) {
  Decision decision{Decision::Action::send};
  decision.late = found.kind == Found::Kind::folder;
  decision.replaces = found.kind != Found::Kind::nothing && !is_ours;
  if (found.kind != Found::Kind::file || found.size != wanted.size) return decision;
  if (!is_same_time(found.mtime, wanted.mtime) || is_a_limit(wanted.mtime)) {
    decision.action = Decision::Action::compare;
    return decision;
  }
  return {found.mode == wanted.mode ? Decision::Action::keep : Decision::Action::set_mode};
}

}  // namespace

std::int64_t nanoseconds(std::int64_t seconds, std::int64_t rest) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(seconds, kSecond, &result) ||
      __builtin_add_overflow(result, rest, &result))
    return seconds < 0 ? kFirst : kLast;
  return result;
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath) return false;
  for (;;) {
    const std::size_t end = path.find('/');
    if (!is_safe_name(path.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool lies_in(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_left_out(std::string_view name) {
  return name == ".git" || name.starts_with(kOwnPrefix);
}

bool is_untouched(const Found& found, const SyncEntry& recorded) {
  if (found.kind != found_kind(recorded.kind)) return false;
  return found.kind == Found::Kind::folder ||
         (found.size == recorded.size && is_same_time(found.mtime, recorded.mtime) &&
          found.target == recorded.target);
}

Decision decide(const SyncEntry& wanted, const Found& found, const SyncEntry* recorded) {
  const bool is_ours = recorded != nullptr && is_untouched(found, *recorded);
  const bool in_the_way = found.kind == Found::Kind::folder && !is_ours;
  if (wanted.kind != SyncEntry::Kind::folder && in_the_way) return {Decision::Action::refuse};
  if (found.kind == Found::Kind::other) return {Decision::Action::refuse};
  switch (wanted.kind) {
    case SyncEntry::Kind::file:
      return decide_file(wanted, found, is_ours);
    case SyncEntry::Kind::folder:
      return decide_folder(found, is_ours);
    case SyncEntry::Kind::link:
      return decide_link(wanted, found, is_ours);
  }
  return {Decision::Action::refuse};
}

std::string refusal(const SyncEntry& wanted, const Found& found) {
  return std::string("is ") + name_of(found.kind) + " there but " +
         name_of(found_kind(wanted.kind)) + " at the source";
}

std::uint64_t cost_of(const SyncEntry& entry) {
  return kEntryOverhead + entry.path.size() + entry.target.size();
}

std::uint64_t cost_of(const wire::SyncEntries& message) {
  std::uint64_t cost = kEntryOverhead;
  for (const SyncEntry& entry : message.entries) cost += cost_of(entry);
  return cost;
}

std::uint64_t cost_of(const wire::SyncData& message) {
  std::uint64_t cost = kEntryOverhead;
  for (const auto& piece : message.pieces) cost += kPieceOverhead + piece.bytes.size();
  return cost;
}

}  // namespace dlaunch::sync
