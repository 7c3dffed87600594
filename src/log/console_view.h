// ConsoleView turns what the ranks write into what the console shows: whole lines, each with a
// prefix that says whose it is. Pure: it makes text, somebody else writes it. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "log/line_splitter.h"
#include "model/ids.h"

namespace dlaunch {

/// `colour` only when the target is a terminal and NO_COLOR is not set: the caller decides.
struct ConsoleOptions {
  bool prefix = false;
  bool colour = false;
  bool operator==(const ConsoleOptions&) const = default;
};

/// With prefix, a line looks like "node0:3  | text\n" whatever its line end was; a line longer than
/// LineSplitter::kMaxLine goes on in lines that start "node0:3  + ". Lone carriage returns end a
/// line as LineSplitter says. Without prefix no byte is added, dropped or changed; bytes of a
/// single rank pass at once, those of several ranks when their line is complete (or longer than
/// kMaxLine), so that no line is torn. At most kMaxLine bytes of a stream are held.
class ConsoleView {
 public:
  /// `labels`: per rank, as "node0:3"; index = rank.
  ConsoleView(ConsoleOptions options, std::vector<std::string> labels);

  /// Appends to `out` everything that may be shown now.
  void add(Rank rank, Stream stream, std::string_view bytes, std::string& out);

  /// The stream is complete: appends what is left of a partial last line, with a newline added
  /// only when prefixing.
  void finish(Rank rank, Stream stream, std::string& out);

 private:
  struct Prefix {
    std::string first;
    std::string continued;
  };

  void add_plain(std::string& held, std::string_view bytes, std::string& out) const;

  ConsoleOptions options_;
  std::vector<Prefix> prefixes_;                        // when prefixing
  std::vector<std::array<LineSplitter, 2>> splitters_;  // when prefixing
  std::vector<std::array<std::string, 2>> held_;        // when not, and there are several ranks
};

}  // namespace dlaunch
