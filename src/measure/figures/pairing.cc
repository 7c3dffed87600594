#include "measure/figures/pairing.h"

#include <algorithm>
#include <map>
#include <set>

namespace dlaunch::measure {

namespace {

// With few nodes all pairs are measured, which finds every slow link.
constexpr int kAllPairsUpTo = 4;

std::string machine_of(const std::vector<std::string>& machines, int node) {
  const auto i = static_cast<std::size_t>(node);
  if (i < machines.size() && !machines[i].empty()) return machines[i];
  return "node " + std::to_string(node);  // a machine's identity has no blank
}

}  // namespace

Pair pair_of(int one, int other) {
  return {std::min(one, other), std::max(one, other)};
}

int rounds_for(int nodes) {
  if (nodes < 2) return 0;
  const int all = nodes % 2 == 0 ? nodes - 1 : nodes;
  if (nodes <= kAllPairsUpTo) return all;
  int logarithm = 0;
  while ((1 << logarithm) < nodes) ++logarithm;
  return std::min(all, logarithm + 1);
}

int repeats_for(int nodes) {
  return nodes <= kAllPairsUpTo ? 3 : 1;
}

/// One node is fixed, the others rotate; an odd number is filled up with an empty seat.
std::vector<Pair> pairs_of_round(int nodes, int round) {
  std::vector<Pair> pairs;
  if (nodes < 2) return pairs;
  const int seats = nodes + nodes % 2;
  const int circle = seats - 1;
  const auto at = [&](int seat) { return seat == 0 ? circle : (seat - 1 + round) % circle; };
  for (int seat = 0; seat < seats / 2; ++seat) {
    const int one = at(seat);
    const int other = at(seats - 1 - seat);
    if (one < nodes && other < nodes) pairs.push_back(pair_of(one, other));
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<std::vector<Pair>> parts_of(const std::vector<Pair>& pairs,
                                        const std::vector<std::string>& machines) {
  std::vector<std::vector<Pair>> parts;
  std::vector<std::set<std::string>> busy;
  for (const Pair& pair : pairs) {
    const std::string one = machine_of(machines, pair.a);
    const std::string other = machine_of(machines, pair.b);
    std::size_t part = 0;
    while (part < parts.size() && (busy[part].contains(one) || busy[part].contains(other))) ++part;
    if (part == parts.size()) {
      parts.emplace_back();
      busy.emplace_back();
    }
    parts[part].push_back(pair);
    busy[part].insert({one, other});
  }
  return parts;
}

std::vector<std::vector<int>> turns_of(const std::vector<std::string>& machines) {
  std::vector<std::vector<int>> turns;
  std::map<std::string, std::size_t> next;
  for (int node = 0; node < static_cast<int>(machines.size()); ++node) {
    const std::size_t turn = next[machine_of(machines, node)]++;
    if (turn == turns.size()) turns.emplace_back();
    turns[turn].push_back(node);
  }
  return turns;
}

}  // namespace dlaunch::measure
