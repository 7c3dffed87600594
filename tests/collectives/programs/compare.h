// Times two implementations of the same call, which alternate in the same processes until the ratio
// of their times is known.
#pragma once
#include <functional>
#include <vector>

/// Makes this many calls, one after another. All are complete when it returns.
using Block = std::function<void(int calls)>;

/// Communication of the ranks between blocks.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual int rank() const = 0;
  virtual void meet() = 0;
  /// Replaces each number by the largest of all ranks.
  virtual void largest(std::vector<double>& numbers) = 0;
};

struct Limits {
  double half_width = 0.02;  // ends when the interval of the ratio is this narrow
  double seconds = 10;       // or after this time
  int least = 30;            // rounds
};

struct Comparison {
  int rounds = 0;
  int calls = 0;    // in a block
  double ours = 0;  // seconds per call at the slowest rank: the median over the rounds
  double plain = 0;
  double ratio = 1;  // of ours to plain: the median over the rounds, and its 95 % interval
  double low = 0;
  double high = 0;
};

/// The median of at least six values, and its 95 % interval for any distribution: from the k-th
/// smallest to the k-th largest value, k = floor((n - 1.96 sqrt n) / 2) (Conover, Practical
/// Nonparametric Statistics, 3.2).
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};
Interval interval_of(std::vector<double> values);

/// Collective, with the same result at all ranks. A round has four blocks: ours, plain, plain,
/// ours; the next round has the opposite order, so that a drift of the machine affects both
/// equally.
Comparison compare(Group& group, const Limits& limits, const Block& ours, const Block& plain);
