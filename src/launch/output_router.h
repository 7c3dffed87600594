// Output of ranks on its way from the agents to the console, with credit: the console is as slow as
// its reader, the ranks are not.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "log/console_view.h"
#include "log/console_writer.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class OutputRouter {
 public:
  using Grant = std::function<void(const wire::OutputCredit&)>;

  OutputRouter(EventLoop& loop, ConsoleWriter& writer, Grant grant);

  /// Begins an attempt with one label a rank; `show` false: nothing goes to the console.
  void begin(Attempt attempt, ConsoleOptions options, std::vector<std::string> labels, bool show);
  /// Bytes of each stream that an agent may send without asking; 0 when nothing is shown.
  [[nodiscard]] std::uint32_t first_credit() const;

  void add(const wire::OutputData& data);
  void end(const wire::OutputEnd& end);
  /// The rank has been started: both of its streams will end.
  void expect(Rank rank);
  /// Its node is gone: no more is to come.
  void give_up(Rank rank);

  /// Every expected stream has ended.
  [[nodiscard]] bool complete() const { return open_streams_ == 0; }
  /// Bytes that have come or have been written so far; stands still when the console does.
  [[nodiscard]] std::uint64_t progress() const { return received_ - writer_.pending(); }
  /// Writes the partial lines of streams that did not end.
  void flush_partial_lines();

 private:
  struct StreamState {
    std::uint64_t received = 0;
    std::uint64_t granted = 0;
    bool open = false;
    bool owed = false;
  };

  [[nodiscard]] StreamState& state(Rank rank, Stream stream);
  void grant_owed();
  void wait_for_progress();
  /// Bytes before `up_to` that neither came nor will: the log file could not be written, and the
  /// console was behind.
  void mark_gap(Rank rank, Stream stream, std::uint64_t up_to, std::string& text);
  void close(Rank rank, Stream stream);

  ConsoleWriter& writer_;
  Grant grant_;
  WatchedFd progress_;
  bool waiting_ = false;
  std::unique_ptr<ConsoleView> view_;
  bool show_ = true;
  Attempt attempt_;
  std::vector<StreamState> streams_;  // two a rank: out, err
  std::vector<std::size_t> owed_;     // indices into streams_
  std::size_t open_streams_ = 0;
  std::uint64_t received_ = 0;
  std::uint32_t window_ = 0;
};

}  // namespace dlaunch
