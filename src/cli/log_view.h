// Shows the output of a run's ranks from the files of its folder, once or as it comes.
#pragma once

#include <optional>
#include <vector>

#include "log/console_view.h"
#include "log/line_splitter.h"
#include "report/rank_stream.h"
#include "report/run_view.h"

namespace dlaunch {

struct LogSelection {
  std::vector<std::uint32_t> ranks;  // ascending
  bool out = true;
  bool err = true;
  std::optional<std::uint32_t> attempt;  // none: the last one, and when following all that come
  std::optional<std::uint32_t> tail;     // lines of each stream; none: all
  bool timestamps = false;               // before each line, and all of them in order of time
};

/// "dlaunch: no output (run ...: failed, exit 70)", to stderr.
void say_no_output(const RunView& run);
/// On stderr, of a lost run whose ranks were on other nodes.
void say_where_output_is(const RunView& run);

class LogView {
 public:
  /// `labels`: "node0:3", index = rank. One selected rank is shown byte for byte, several with a
  /// prefix for each line.
  LogView(const RunView& run, LogSelection selection, std::vector<std::string> labels);

  /// Rank by rank, or by time; what is written meanwhile is not waited for. Returns an exit code. A
  /// reader that is gone (| head) is no error. Says so on stderr where there is no output at all.
  [[nodiscard]] int show();
  /// All of them as their output comes, over restarts, until the run has ended; says then how.
  [[nodiscard]] int follow();

 private:
  void begin_attempt(std::uint32_t attempt);
  [[nodiscard]] Status skip();
  /// One piece of each stream; false: there was nothing new.
  Result<bool> read_round();
  Status read_all(RankStream& stream);
  /// Prints the output that has times, in their order.
  Status read_by_time();
  [[nodiscard]] std::string timed_line(std::size_t stream, std::string_view line) const;
  Status print_timed(std::size_t stream, std::string_view bytes);
  Status finish_timed();
  Status finish_attempt();
  Status print(RankStream& stream, std::string_view bytes);
  Status write(Stream stream, std::string_view text);
  [[nodiscard]] std::uint32_t first_attempt() const;
  [[nodiscard]] std::optional<std::uint32_t> next_attempt() const;
  Status follow_until_end();
  int end_with(const Status& status) const;

  const RunView& run_;
  LogSelection selection_;
  std::vector<std::string> labels_;
  ConsoleOptions options_;
  std::uint32_t attempt_ = 0;
  std::vector<RankStream> streams_;
  std::optional<ConsoleView> view_;
  struct TimedStream {
    LineSplitter lines;
    std::string time;  // of its last bytes
  };
  std::vector<TimedStream> timed_;  // with timestamps; index as of streams_
  std::string time_;                // of the output that is printed; empty: not known
  bool has_written_ = false;
  bool follows_ = false;  // the output that is printed has just come
};

}  // namespace dlaunch
