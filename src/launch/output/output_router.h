// Output of ranks on its way from the agents to the console, with credit: a slow reader
// may slow the console, but not the ranks.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/console/console_view.h"
#include "launch/console/console_writer.h"
#include "launch/console/recent_lines.h"
#include "os/event_loop.h"
#include "wire/codec.h"
#include "wire/message.h"

namespace dlaunch {

/// The console's stream for live rows: a terminal that only this process writes to.
struct LiveTarget {
  Stream stream = Stream::out;
  int fd = -1;
  LiveLines::Size fallback;  // if the terminal does not report its size
};

/// Lives on the engine's one thread.
class OutputRouter {
 public:
  using Grant = std::function<void(const wire::OutputCredit&)>;
  struct Settings {
    Attempt attempt;
    ConsoleOptions console;
    std::vector<std::string> labels;  // one per rank; empty: this rank is not shown
    std::vector<bool> followed;       // by rank: sent to the launcher though not shown; empty: none
    std::string folder;               // where users find the files
    std::optional<LiveTarget> live;   // progress bars are drawn there; else each is one line
    std::optional<Rank> prompts_of = {};  // the user types its input: see ConsoleView
    bool holds_others = false;            // while it prompts, the others' output waits
  };

  OutputRouter(EventLoop& loop, ConsoleWriter& writer, Grant grant);

  /// Begins an attempt.
  void begin(Settings settings);
  /// Bytes of each stream that an agent may send without credit; 0 if no stream is sent.
  [[nodiscard]] std::uint32_t first_credit() const;
  /// By rank: its output is sent to the launcher, to be shown or because a reader follows its file.
  [[nodiscard]] const std::vector<bool>& passing() const { return passing_; }

  void add(const wire::OutputData& data);
  void end(const wire::OutputEnd& end);
  /// The user's input has ended a line on the terminal.
  void answered();
  /// The rank has been started: both of its streams will end.
  void expect(Rank rank);
  /// The rank's node is gone: no more output of the rank will arrive.
  void give_up(Rank rank);

  /// Whole lines of the launcher itself.
  void say(Stream stream, std::string text);

  /// How many of the last `window` lines on stderr's console are from this stream.
  [[nodiscard]] std::size_t recent_lines(Rank rank, Stream stream, std::size_t window) const;

  /// Shows one line below everything else until the next call; empty: none. Call only before the
  /// first attempt.
  void show_status(const LiveTarget& target, std::string text);

  /// Every expected stream has ended.
  [[nodiscard]] bool complete() const { return open_streams_ == 0; }
  /// Bytes received or written so far; constant while the console is stuck.
  [[nodiscard]] std::uint64_t progress() const { return received_ - writer_.pending(); }
  /// Whether everything that the node had stored at its last message has arrived: the stream is
  /// shown or followed, and its node had credit.
  [[nodiscard]] bool has_all_known(Rank rank, Stream stream) const;
  /// Shows no more of the ranks' streams that go to the file of `stream`; the rest counts as
  /// skipped.
  void skip_rest(Stream stream);
  /// What was skipped by skip_rest(), "[... 1.2 MB skipped, complete in FILE]"; empty: nothing.
  [[nodiscard]] std::string skipped_text() const;
  /// Writes the partial lines of streams that did not end.
  void flush_partial_lines();
  /// Ends the view of streams that have not ended: shows a mark that names the file instead of a
  /// partial line. Later output of them is ignored.
  void cut_off();

 private:
  struct StreamState {
    std::uint64_t received = 0;
    std::uint64_t granted = 0;
    std::uint64_t skipped = 0;
    bool open = false;
    bool owed = false;
    bool skips = false;     // the agent was told to skip old output
    bool unwanted = false;  // the agent was told to stop sending
  };

  [[nodiscard]] StreamState& state(Rank rank, Stream stream);
  [[nodiscard]] bool is_shown(Rank rank) const;
  [[nodiscard]] std::string file_of(Rank rank, Stream stream) const;
  void show(const wire::OutputData& data);
  void take(const wire::OutputData& data);
  [[nodiscard]] bool must_wait(Rank rank) const;
  void release_held();
  void grant_owed();
  void grant(std::size_t index);
  void find_stalls();
  void drop_broken(Stream stream);
  void want_no_more(std::size_t index);
  void wait_for_progress();
  /// Marks the bytes before `up_to` that will never arrive, because the console had stalled for a
  /// long time, or because the log file could not be written and the console was behind.
  void mark_gap(Rank rank, Stream stream, std::uint64_t up_to, std::string& text);
  void close(Rank rank, Stream stream);

  void put(Stream stream, std::string text);
  void put_merged();
  void flush_merged();
  void note_time();
  void count_lines(std::size_t whose, Stream stream, std::string_view text);
  void bars_may_have_changed();
  void arm_ticks();
  void tick();
  void take_bars_away();
  void redraw();
  void draw_live(const LiveLines::Size& size, std::string& text);
  [[nodiscard]] LiveLines::Size size_now() const;

  ConsoleWriter& writer_;
  Grant grant_;
  WatchedFd progress_;
  Timer bars_;
  Timer merge_;
  bool waiting_ = false;
  Settings settings_;
  std::vector<bool> passing_;  // see passing()
  std::unique_ptr<ConsoleView> view_;
  LiveLines live_;
  std::string status_;
  RecentLines recent_;  // source: index into streams_
  bool ticking_ = false;
  bool merging_ = false;  // merge_ is set
  bool bars_changed_ = false;
  std::uint32_t ticks_ = 0;
  std::uint32_t idle_ticks_ = 0;
  std::vector<StreamState> streams_;  // two per rank: out, err
  std::vector<std::size_t> owed_;     // indices into streams_
  struct Held {
    Rank rank;
    Stream stream;
    std::uint64_t offset = 0;
    std::string bytes;
  };
  std::vector<Held> held_;  // at most a window of each stream, whose credit is not renewed
  std::size_t open_streams_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t discarded_ = 0;  // received bytes that skip_rest() discarded
  std::uint32_t window_ = 0;
};

}  // namespace dlaunch
