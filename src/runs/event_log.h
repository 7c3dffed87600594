// EventLog writes events.jsonl: everything that happened to a run, one JSON object per line, in the
// order in which the launcher learnt of it; docs/reference/run-folder.md describes the members. One
// thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/action.h"
#include "model/event.h"
#include "model/result.h"
#include "model/stage.h"
#include "model/sync.h"
#include "model/time.h"
#include "text/json_text.h"

namespace dlaunch {

/// Buffers lines, and appends them to the file at 64 KiB, at flush() (due() says when) and on
/// destruction. While writes fail, it keeps up to 1 MiB and only counts further lines; once writes
/// work again, a line "gap" says how many lines are missing. It never leaves out a part of a line.
class EventLog {
 public:
  /// Creates the file (0600) or appends to it.
  static Result<EventLog> open(const std::string& path);
  EventLog(EventLog&& other) noexcept;
  EventLog& operator=(EventLog&& other) noexcept;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();

  /// Ignores Progress and Stall.
  void add(const Event& event, WallTime now);
  void add(const action::Restart& restart, WallTime now);
  void add(const SyncedNode& synced, WallTime now);
  void add(const StagedNode& staged, WallTime now);
  /// A line about the launcher itself: {"time", "event": kind, "text": text}, and the members
  /// that `more` writes.
  void note(std::string_view kind, std::string_view text, WallTime now,
            const std::function<void(JsonText&)>& more = {});

  /// Writes what is buffered; after an error it may be called again.
  Status flush();

  /// When to call flush(), so that readers see lines soon, but not every line costs a write;
  /// nullopt: nothing is buffered, or writing has failed.
  [[nodiscard]] std::optional<WallTime> due() const { return due_; }
  static constexpr std::chrono::milliseconds kMostWait{100};

 private:
  EventLog(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  static constexpr std::size_t kBuffer = std::size_t{64} << 10;

  template <class WriteMembers>
  void add_line(WallTime now, WriteMembers&& write_members);

  int fd_ = -1;
  std::string path_;
  std::string buffer_;
  std::uint64_t missing_ = 0;       // lines left out
  std::size_t flush_at_ = kBuffer;  // size of the buffer at which it is written
  std::optional<WallTime> due_;
};

}  // namespace dlaunch
