// ConsoleView turns the output of the ranks into what the console shows: whole lines, each with the
// prefix of its rank. Pure: it makes text and writes nothing. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/console/line_merger.h"
#include "launch/console/line_splitter.h"
#include "launch/console/live_lines.h"
#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

/// `colour` only if the target is a terminal and NO_COLOR is not set: the caller decides.
struct ConsoleOptions {
  bool prefix = false;
  bool colour = false;
  bool merged = false;        // a line that several ranks print is shown once
  bool fold_numbers = false;  // merged: also lines that differ in one number
  bool operator==(const ConsoleOptions&) const = default;
};

/// With prefix, a line looks like "node0:3  | text\n" whatever its line end was; a line longer than
/// LineSplitter::kMaxLine continues in lines that start with "node0:3  + ". A progress bar becomes
/// one line when it is complete; until then live_rows() has its state. Without prefix no byte is
/// added, dropped or changed; the bytes of a single rank pass at once, those of several ranks when
/// their line is complete (or longer than kMaxLine), so that no line is torn. At most kMaxLine
/// bytes of a stream are held, not counting bars.
///
/// Merged, a line of ranks 0 to 63 looks like "[0-63] text\n". Lines are whole with or
/// without prefix, and take_merged() takes what can be shown: the other members append nothing.
class ConsoleView {
 public:
  /// Consecutive lines of one stream.
  struct Piece {
    Stream stream = Stream::out;
    std::string text;
  };

  /// `labels`: per rank, as "node0:3"; index = rank. A rank with an empty label is not shown.
  ConsoleView(ConsoleOptions options, std::vector<std::string> labels);

  /// Appends to `out` everything that can be shown now.
  void add(Rank rank, Stream stream, std::string_view bytes, std::string& out);

  /// The stream is complete: appends what is left of a partial last line, with a newline added
  /// only when prefixing.
  void finish(Rank rank, Stream stream, std::string& out);

  /// A line of the launcher's own within the stream; ends a partial line before it.
  void add_note(Rank rank, Stream stream, std::string_view note, std::string& out);

  /// Drops a partial line that was not shown, because the rest will not arrive; returns its size.
  std::size_t drop_partial(Rank rank, Stream stream);

  /// The user types this rank's input: its unfinished line may be a prompt and is the last live
  /// row. Has no effect if no byte is held.
  void show_prompts_of(Rank rank);
  [[nodiscard]] bool has_prompt() const;
  /// The user's input ends the prompt's line: later output is shown without the prompt. False:
  /// there was no prompt.
  bool answered();

  /// There are progress bars now, or a prompt.
  [[nodiscard]] bool has_live_rows() const { return !bars_.empty() || has_prompt(); }
  /// Call regularly while there are bars: appends those that are complete.
  void settle(std::array<std::string, 2>& out);
  /// The bars as they are now, by rank, and the prompt below them.
  [[nodiscard]] std::vector<LiveRow> live_rows() const;
  /// Appends a line for each bar that has changed since the last call.
  void show_states(std::array<std::string, 2>& out);

  /// Merged: the time for what is added from now on, and for take_merged().
  void set_time(MonotonicTime now) { now_ = now; }
  /// Merged: the lines that can be shown now, in their order.
  [[nodiscard]] std::vector<Piece> take_merged();
  /// Merged: lines added until now no longer wait for other ranks.
  void show_waiting();
  /// Merged: when take_merged() has lines again; nullopt: none are held.
  [[nodiscard]] std::optional<MonotonicTime> merged_due() const;
  /// LineMerger::recent()
  [[nodiscard]] std::size_t recently_merged(Rank rank, Stream stream, std::size_t window,
                                            bool of_both) const;

 private:
  struct Prefix {
    std::string first;
    std::string continued;
    std::size_t columns = 0;
  };
  using Key = std::pair<Rank, Stream>;

  void add_plain(std::string& held, std::string_view bytes, std::string& out) const;
  void add_line(Key key, std::string_view text, bool continues, std::string& out);
  void put_line(Key key, std::string_view text, bool continues, std::string& out);
  void end_line(Rank rank, Stream stream, std::string& out);
  void take_ready();
  [[nodiscard]] Prefix merged_prefix(const std::string& ranks, std::string_view colour) const;
  [[nodiscard]] const Prefix& prefix_of(const LineMerger::Line& line);
  [[nodiscard]] std::string_view open_line(Stream stream) const;
  [[nodiscard]] LineSplitter& splitter(Rank rank, Stream stream);
  void watch_bars(Rank rank, Stream stream);

  ConsoleOptions options_;
  std::vector<Prefix> prefixes_;                        // when prefixing or merged
  std::vector<std::array<LineSplitter, 2>> splitters_;  // when prefixing or merged
  std::map<Key, std::string> bars_;                     // with the states that were last shown
  std::vector<std::array<std::string, 2>> held_;        // otherwise, with several ranks
  char last_ = '\n';                                    // last byte of a single rank's output
  std::optional<Rank> prompts_of_;
  std::array<std::size_t, 2> answered_{};  // bytes of that rank's open lines that stay visible
  std::optional<LineMerger> merger_;
  std::vector<Piece> pieces_;
  std::size_t expected_ = 0;            // bytes of a new piece
  std::vector<std::uint64_t> several_;  // ranks of the last line from several ranks; its prefix:
  Prefix several_prefix_;
  MonotonicTime now_{};
};

}  // namespace dlaunch
