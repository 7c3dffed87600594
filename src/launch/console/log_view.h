// `dlaunch logs`: prints the output of a run's ranks from the files of its folder, once or as it
// grows.
#pragma once

#include <optional>
#include <vector>

#include "launch/console/console_view.h"
#include "launch/console/line_splitter.h"
#include "runs/rank_stream.h"
#include "runs/run_view.h"

namespace dlaunch {

struct LogSelection {
  std::vector<std::uint32_t> ranks;  // ascending
  bool out = true;
  bool err = true;
  std::optional<std::uint32_t> attempt;  // nullopt: the last; when following, also all later ones
  std::optional<std::uint32_t> tail;     // lines of each stream; nullopt: all
  bool timestamps = false;               // before each line; all lines in order of time
};

/// "dlaunch: no output (run ...: failed, exit 70)", to stderr.
void say_no_output(const RunView& run);

class LogView {
 public:
  /// `labels`: "node0:3", index = rank. A single rank is printed byte for byte, several with a
  /// prefix before each line. Ignores SIGPIPE from then on.
  LogView(const RunView& run, LogSelection selection, std::vector<std::string> labels);

  /// Prints the output so far, rank by rank or by time. Says on stderr if there is none. A reader
  /// that exits (| head) is not an error.
  [[nodiscard]] Status show();
  /// Prints the output of all ranks as it grows, across restarts, until the run ends; then says how
  /// the run ended.
  [[nodiscard]] Status follow();

 private:
  void begin_attempt(std::uint32_t attempt);
  [[nodiscard]] Status skip();
  /// Prints one piece of each stream; false: there was nothing new.
  Result<bool> read_round();
  Status read_all(RankStream& stream);
  /// Prints the output whose times are recorded, in their order.
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

  const RunView& run_;
  LogSelection selection_;
  std::vector<std::string> labels_;
  ConsoleOptions options_;
  std::uint32_t attempt_ = 0;
  std::vector<RankStream> streams_;
  std::optional<ConsoleView> view_;
  struct TimedStream {
    LineSplitter lines;
    std::string time;  // of its latest bytes
  };
  std::vector<TimedStream> timed_;  // with timestamps; index as in streams_
  std::string time_;                // of the output being printed; empty: not known
  bool has_written_ = false;
  bool follows_ = false;  // the output being printed was just written
};

}  // namespace dlaunch
