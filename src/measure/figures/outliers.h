// Which nodes and which links are slow, from measurements of pairs and of single nodes. Pure.
//
// The rules rest on three principles:
//   - Disturbances only make a measurement slower. So one good value of a pair proves that
//     both nodes and the link between them can be fast; slow values alone prove nothing.
//   - A slow pair has three suspects. A node is bad when it is slow with several nodes that
//     are proven good; a link is bad when both its ends are proven good with other nodes.
//   - A suspect is named only after it was measured alone several times, each time next to a pair
//     (or node) that is known to be good: on a busy machine both get slower.
// With only two nodes there is no other pair with which to compare theirs.
#pragma once

#include <optional>
#include <vector>

#include "measure/figures/pairing.h"

namespace dlaunch::measure {

/// A value below this share of the usual one is measured again; below kBad it is bad.
inline constexpr double kSuspect = 0.75;
inline constexpr double kBad = 0.6;
/// How many slow values of a pair, each measured alone, count as one of several proofs against a
/// node. Naming a link, or a node by its own speed, takes twice as many.
inline constexpr int kProofs = 8;
/// With how many proven good nodes a bad node must be slow (with all of them if there are fewer).
inline constexpr int kWitnesses = 3;

/// A measurement of two nodes.
struct Exchange {
  Pair pair;
  double gbytes_per_s = 0;  // each way at once, 10^9 bytes; 0: it failed
  double latency_us = 0;    // half a round trip of 8 bytes
  bool operator==(const Exchange&) const = default;
};

/// The speed of a node alone, in any unit that is the same for all. 0: not measured.
struct Compute {
  int node = 0;
  double compute = 0;
  double memory = 0;
  bool operator==(const Compute&) const = default;
};

/// Measured alone, right before `beside`, a pair or node known to be good.
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

/// Everything measured so far.
struct Measured {
  int nodes = 0;
  std::vector<Exchange> exchanges;  // in rounds, perhaps many at a time
  std::vector<Compute> computes;
  std::vector<ExchangeAlone> exchanges_alone;
  std::vector<ComputeAlone> computes_alone;
  bool operator==(const Measured&) const = default;
};

/// The next measurement to make alone.
struct Question {
  std::optional<Pair> pair, beside_pair;
  std::optional<int> node, beside_node;
  bool operator==(const Question&) const = default;
};

/// nullopt: everything that can be decided is decided. The caller adds the requested measurement to
/// `measured`, with a value of 0 if it failed.
[[nodiscard]] std::optional<Question> next_question(const Measured& measured);

struct SlowNode {
  enum class By { compute, memory, exchange };
  int node = 0;
  By by = By::exchange;
  double value = 0;         // best of those measured alone
  double usual = 0;         // of those measured beside it
  double latency_us = 0;    // for an exchange with a bad latency; else 0
  double usual_us = 0;      // likewise
  std::vector<int> with{};  // for an exchange: the good nodes with which it was slow
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
  std::vector<SlowNode> nodes;        // ascending; one for each node and reason
  std::vector<SlowLink> links;        // ascending
  std::vector<int> undecided;         // slow at first, neither proven bad nor good; ascending
  std::vector<Pair> undecided_links;  // likewise, between proven good nodes; ascending
  bool operator==(const Outliers&) const = default;
};

/// Names only nodes and links that are proven slow.
[[nodiscard]] Outliers find_outliers(const Measured& measured);

/// The best value of each node with any other, GB/s; 0: none.
[[nodiscard]] std::vector<double> best_exchange(const Measured& measured);

}  // namespace dlaunch::measure
