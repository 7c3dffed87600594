// Which nodes measure with each other, and which measurements may run at the same time. Pure.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::measure {

/// Two nodes, by index; a < b.
struct Pair {
  int a = 0;
  int b = 0;
  auto operator<=>(const Pair&) const = default;
};

[[nodiscard]] Pair pair_of(int one, int other);

/// The number of rounds of a check: all possible ones for few nodes, else a number that grows with
/// the logarithm of the nodes. 0 for fewer than two nodes.
[[nodiscard]] int rounds_for(int nodes);

/// How often each round is measured: with few pairs, a disturbance must not spoil the only good
/// value.
[[nodiscard]] int repeats_for(int nodes);

/// One round of a round-robin tournament (circle method): each node is in one pair, except for one
/// node if their number is odd. `round` counts from 0; there are nodes - 1 rounds, or `nodes` if
/// that is odd.
[[nodiscard]] std::vector<Pair> pairs_of_round(int nodes, int round);

/// Splits a round into parts that are measured one after another, so that no machine has two pairs
/// at a time: nodes on one kernel (containers, namespaces) share its cores and would disturb each
/// other. `machines`: index = node; equal texts are one machine, an empty one is a machine of its
/// own. One part if every node has its own machine.
[[nodiscard]] std::vector<std::vector<Pair>> parts_of(const std::vector<Pair>& pairs,
                                                      const std::vector<std::string>& machines);

/// Likewise for nodes that measure alone: the first of every machine, then the second, ...
[[nodiscard]] std::vector<std::vector<int>> turns_of(const std::vector<std::string>& machines);

}  // namespace dlaunch::measure
