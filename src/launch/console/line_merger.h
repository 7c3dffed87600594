// LineMerger holds the lines of several ranks for a moment, so that a line which several of them
// print is shown once. Pure: it is told the time. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/console/number_fold.h"
#include "launch/console/recent_lines.h"
#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

/// Lines are shown in the order in which the first rank printed each. A rank joins a line only
/// after those that it has joined or added before, so its lines keep their order; stdout and
/// stderr are matched separately. A line waits for kWait, or until every rank whose stream is open
/// has printed it or a later one; when there are too many lines, the oldest one does not wait.
class LineMerger {
 public:
  static constexpr MonotonicTime kWait = std::chrono::milliseconds(100);
  // The most lines and bytes that are held, if next() is called after each add(). In a flood of
  // lines that do not merge, the limit is kFewLines: as many as a processor's cache has room for.
  static constexpr std::size_t kMostLines = 4096;
  static constexpr std::size_t kFewLines = 256;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  using Words = std::span<const std::uint64_t>;
  struct Line {
    Stream stream = Stream::out;
    bool continues = false;  // see LineSplitter
    std::string_view text;
    Words ranks;            // rank r is bit r % 64 of word r / 64
    std::size_t count = 0;  // number of ranks
  };

  /// `shown`: by rank, whether it prints lines. `fold_numbers`: lines that differ in one number
  /// count as equal (NumberFold).
  LineMerger(const std::vector<bool>& shown, bool fold_numbers);

  void add(Rank rank, Stream stream, std::string_view text, bool continues, MonotonicTime now);
  /// The stream prints no more lines: no line waits for it.
  void end(Rank rank, Stream stream);
  /// Ends the wait of all lines that were added until now.
  void show_all() { settled_ = {end_, end_}; }

  /// Takes the next line that can be shown; nullopt: there is none. Valid until the next call of a
  /// member that is not const.
  [[nodiscard]] std::optional<Line> next(MonotonicTime now);
  /// When next() has a line again, even if none is added; nullopt: no line is held.
  [[nodiscard]] std::optional<MonotonicTime> due() const;

  /// How many of the last `window` lines that were taken (of this stream only, unless `of_both`)
  /// are from this stream of the rank; knows the last RecentLines::kMost.
  [[nodiscard]] std::size_t recent(Rank rank, Stream stream, std::size_t window,
                                   bool of_both) const;

 private:
  // Lines have positions: 0 for the first that was added, and so on.
  using Position = std::uint64_t;
  static constexpr Position kNone = ~Position{0};
  struct Held {
    std::string text;
    std::uint64_t hash = 0;
    Position next = kNone;  // in its bucket
    MonotonicTime since{};
    std::uint32_t count = 0;  // number of its ranks
    Stream stream = Stream::out;
    bool continues = false;
  };
  /// A chain of the lines whose hashes are alike, the oldest first. Lines leave in the order of
  /// their age, so the one that leaves is always the first of its chain.
  struct Bucket {
    Position first = kNone;
    Position last = kNone;
  };

  [[nodiscard]] Held& at(Position position) { return ring_[position & (ring_.size() - 1)]; }
  [[nodiscard]] const Held& at(Position position) const {
    return ring_[position & (ring_.size() - 1)];
  }
  [[nodiscard]] NumberFold& fold_of(Position position) {
    return folds_[position & (ring_.size() - 1)];
  }
  [[nodiscard]] const NumberFold& fold_of(Position position) const {
    return folds_[position & (ring_.size() - 1)];
  }
  [[nodiscard]] std::uint64_t* words_of(Position position) {
    return &ranks_[(position & (ring_.size() - 1)) * words_];
  }
  [[nodiscard]] const std::uint64_t* words_of(Position position) const {
    return &ranks_[(position & (ring_.size() - 1)) * words_];
  }
  /// What lines must have in common, apart from the text and its numbers.
  struct Kind {
    std::uint64_t hash;
    Stream stream;
    bool continues;
  };
  [[nodiscard]] static bool is_of(const Held& held, const Kind& kind);
  /// The held line that the rank joins; kNone: there is none.
  [[nodiscard]] Position find(std::string_view text, const Kind& kind, Position from) const;
  Position append(std::string_view text, const Kind& kind, MonotonicTime now);
  [[nodiscard]] bool is_complete(Position position) const;
  void grow();

  bool fold_numbers_;
  std::size_t words_;                 // for the ranks of a line
  std::vector<Held> ring_;            // size: a power of two; lines taken stay for recent()
  std::vector<std::uint64_t> ranks_;  // words_ for each of ring_
  std::vector<NumberFold> folds_;     // one for each of ring_, or none
  std::vector<Bucket> buckets_;
  Position front_ = 0;  // the held lines are [front_, end_)
  Position end_ = 0;
  std::size_t bytes_ = 0;
  std::size_t most_lines_ = kMostLines;
  std::array<Position, 2> settled_{};               // by stream: lines before it need not wait
  std::array<std::vector<std::uint64_t>, 2> open_;  // by stream: ranks that may print lines
  std::array<std::size_t, 2> open_count_{};
  std::vector<Position> behind_;  // one per rank and stream: the position after the last line
  std::string taken_;  // the text of the line that next() has returned, if it is not held
};

}  // namespace dlaunch
