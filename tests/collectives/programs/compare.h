// Two ways to make the same call, timed in turns in the same processes until it is known how many
// times as long the one takes.
#pragma once
#include <functional>
#include <vector>

/// So many calls, one after the other; all are over when it returns.
using Block = std::function<void(int calls)>;

/// What the ranks say to each other between blocks.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual int rank() const = 0;
  virtual void meet() = 0;
  /// Each number becomes the largest that any rank has given, the same at all ranks.
  virtual void largest(std::vector<double>& numbers) = 0;
};

struct Limits {
  double half_width = 0.02;  // of the interval of the ratio: then it is known well enough
  double seconds = 10;       // at most, whatever is known by then
  int least = 30;            // rounds
};

struct Comparison {
  int rounds = 0;
  int calls = 0;    // in a block
  double ours = 0;  // seconds for one call of the slowest rank: the median over the rounds
  double plain = 0;
  double ratio = 1;  // of ours to plain: the median over the rounds, and its 95 % interval
  double low = 0;
  double high = 0;
};

/// The median and its interval, of at least six values. By order statistics: for the median of any
/// distribution between the k-th smallest and the k-th largest value, k = floor((n - 1.96 sqrt n) /
/// 2) (Conover, Practical Nonparametric Statistics, 3.2).
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};
Interval interval_of(std::vector<double> values);

/// A collective call; its result is the same at all ranks. A round is a block of each in the order
/// ours, plain, plain, ours, the next one the other way round, so a machine that becomes slower or
/// faster meanwhile is slower or faster for both.
Comparison compare(Group& group, const Limits& limits, const Block& ours, const Block& plain);
