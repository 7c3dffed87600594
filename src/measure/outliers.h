// Which nodes and which links are slow, from measurements of pairs and of single nodes. Pure.
//
// What the rules rest on:
//   - Whatever disturbs a measurement makes it slower. So one good value of a pair is a proof that
//     both nodes and the link between them can be fast; slow values prove nothing by themselves.
//   - A slow pair has three suspects. A node is bad when it is slow with several nodes that are
//     proven good; a link is bad when both its ends are proven good by others.
//   - A suspect is named only by values that were measured while nobody else measured, several
//     times, and each time next to a pair (a node) that is known as good: on a machine that is busy
//     both get slower.
// With two nodes, and without an expectation, there is nothing to compare a pair with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/pairing.h"

namespace dlaunch::measure {

/// Below this share of what is usual, a value is looked at again; below kBad it is bad.
inline constexpr double kSuspect = 0.75;
inline constexpr double kBad = 0.6;
/// Slow values of a pair, each measured alone, that it takes as one of several proofs against a
/// node; to call a link slow, or what a node does by itself, it takes twice as many.
inline constexpr int kProofs = 8;
/// Nodes that are proven good and with which a bad node was slow (fewer where there are fewer).
inline constexpr int kWitnesses = 3;

/// What two nodes reached with each other.
struct Exchange {
  Pair pair;
  double gbytes_per_s = 0;  // each way at once, 10^9 bytes; 0: it failed
  double latency_us = 0;    // half a round trip of 8 bytes
  bool operator==(const Exchange&) const = default;
};

/// What a node computes by itself, in any unit that is the same for all. 0: not measured.
struct Compute {
  int node = 0;
  double compute = 0;
  double memory = 0;
  bool operator==(const Compute&) const = default;
};

/// Measured while nobody else was; `beside` (a pair or node known as good) right after it.
struct ExchangeAlone {
  Exchange suspect;
  Exchange beside;
  bool operator==(const ExchangeAlone&) const = default;
};
struct ComputeAlone {
  Compute suspect;
  Compute beside;
  bool operator==(const ComputeAlone&) const = default;
};

/// All that was measured so far.
struct Measured {
  int nodes = 0;
  std::vector<Exchange> exchanges;  // in rounds, perhaps many at a time
  std::vector<Compute> computes;
  std::vector<ExchangeAlone> exchanges_alone;
  std::vector<ComputeAlone> computes_alone;
  bool operator==(const Measured&) const = default;
};

/// What has to be measured alone next.
struct Question {
  std::optional<Pair> pair, beside_pair;
  std::optional<int> node, beside_node;
  bool operator==(const Question&) const = default;
};

/// Nothing: all is decided that can be. What was asked is expected to be among `measured` then,
/// with a value of 0 where it failed.
[[nodiscard]] std::optional<Question> next_question(const Measured& measured);

struct SlowNode {
  enum class By { compute, memory, exchange };
  int node = 0;
  By by = By::exchange;
  double value = 0;         // best of those measured alone
  double usual = 0;         // of those beside it
  double latency_us = 0;    // of exchange, where it is that which is bad; else 0
  double usual_us = 0;      // likewise
  std::vector<int> with{};  // of exchange: the good nodes with which it was slow
  bool operator==(const SlowNode&) const = default;
};
struct SlowLink {
  Pair pair;
  double value = 0;
  double usual = 0;
  double latency_us = 0;
  double usual_us = 0;
  bool operator==(const SlowLink&) const = default;
};
struct Outliers {
  std::vector<SlowNode> nodes;        // ascending; one entry a node and reason
  std::vector<SlowLink> links;        // ascending
  std::vector<int> undecided;         // slow at first, but not proven either way; ascending
  std::vector<Pair> undecided_links;  // likewise, between nodes that are proven good; ascending
  bool operator==(const Outliers&) const = default;
};

/// Says of nodes and links only what is proven.
[[nodiscard]] Outliers find_outliers(const Measured& measured);

/// Best value of each node in all that was measured of it with others, GB/s; 0: none.
[[nodiscard]] std::vector<double> best_exchange(const Measured& measured);

}  // namespace dlaunch::measure
