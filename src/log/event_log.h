// EventLog writes events.jsonl: everything that happened to a run, one JSON object per line, in the
// order in which the launcher learnt of it. docs/run-directory.md describes the members. One thread
// at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/action.h"
#include "model/event.h"
#include "model/result.h"
#include "model/sync.h"
#include "model/time.h"

namespace dlaunch {

/// Buffers, and appends to the file when 64 KiB have come together, at flush() (due() says when)
/// and at the end of its life. While the disk refuses, up to 1 MiB is kept; what comes then is
/// counted and a line "gap" says how many lines are missing once it can be written again. Nothing
/// but whole lines are left out.
class EventLog {
 public:
  /// Creates the file (0600) or appends to it.
  static Result<EventLog> open(const std::string& path);
  EventLog(EventLog&& other) noexcept;
  EventLog& operator=(EventLog&& other) noexcept;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();

  void add(const Event& event, WallTime now);
  void add(const action::Restart& restart, WallTime now);
  void add(const SyncedNode& synced, WallTime now);
  /// A line of the launcher's own: {"time", "event": kind, "text": text}.
  void note(std::string_view kind, std::string_view text, WallTime now);

  /// Writes what is buffered. An error stays no longer than the disk refuses.
  Status flush();

  /// When what is buffered should be written, so that a reader has it as it happens, and not each
  /// line costs a write; nullopt: nothing is buffered, or the disk has refused it.
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
