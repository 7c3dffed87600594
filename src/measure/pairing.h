// Who measures with whom, and what may be measured at the same time. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch::measure {

/// Two nodes, by their index; a < b.
struct Pair {
  int a = 0;
  int b = 0;
  auto operator<=>(const Pair&) const = default;
};

[[nodiscard]] Pair pair_of(int one, int other);

/// How many rounds check() measures: all that there are for few nodes, else a number that grows
/// with the logarithm of the nodes. 0 for fewer than two nodes.
[[nodiscard]] int rounds_for(int nodes);

/// How often each round is measured: few nodes have few pairs, of which chance must not spoil the
/// only good one.
[[nodiscard]] int repeats_for(int nodes);

/// One round of a tournament in which every node meets every other one once (the circle method):
/// each node is in one pair, but for one of them where their number is odd. `round` counts from 0;
/// there are nodes - 1 of them, or nodes where their number is odd.
[[nodiscard]] std::vector<Pair> pairs_of_round(int nodes, int round);

/// Cuts a round into parts that are measured one after another, so that no machine has two pairs at
/// a time: nodes of one kernel (containers, namespaces) share its cores, and would measure each
/// other. `machines`: index = node; equal ones are one machine; an empty one is a machine of its
/// own. On machines of their own, that is one part.
[[nodiscard]] std::vector<std::vector<Pair>> parts_of(const std::vector<Pair>& pairs,
                                                      const std::vector<std::string>& machines);

/// The same for nodes that measure alone: the first of every machine, then the second, ...
[[nodiscard]] std::vector<std::vector<int>> turns_of(const std::vector<std::string>& machines);

}  // namespace dlaunch::measure
