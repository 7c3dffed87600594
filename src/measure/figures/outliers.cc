#include "measure/figures/outliers.h"

#include <algorithm>
#include <map>
#include <set>

namespace dlaunch::measure {

namespace {

// A latency is bad when it is several times the usual one and exceeds it by more than a scheduler
// adds.
constexpr double kLatencyTimes = 3;
constexpr double kLatencySlackUs = 200;

/// The value at this share of the sorted values, rounded up; 0 if there are none.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  auto index = static_cast<std::size_t>(position);
  if (position > static_cast<double>(index)) ++index;
  return values[std::min(index, values.size() - 1)];
}

// All values of a suspect are below most of those measured beside it, by a factor. That is rare by
// chance, whatever the distribution (as in the Mann-Whitney test).
constexpr double kMostBeside = 0.25;

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double ratio(double value, double usual) {
  return usual > 0 ? value / usual : 1;
}

/// 1: as usual; kBad: the limit of a bad value.
double latency_ratio(double us, double usual_us) {
  return us > 0 ? kBad * (kLatencyTimes * usual_us + kLatencySlackUs) / us : 0;
}

double relative(const Exchange& value, const Exchange& usual) {
  return std::min(ratio(value.gbytes_per_s, usual.gbytes_per_s),
                  latency_ratio(value.latency_us, usual.latency_us));
}

/// The value at this share, counted from the worst.
Exchange level_of(const std::vector<Exchange>& values, double share) {
  std::vector<double> speeds;
  std::vector<double> latencies;
  for (const Exchange& value : values) {
    speeds.push_back(value.gbytes_per_s);
    latencies.push_back(value.latency_us);
  }
  return {{}, quantile(std::move(speeds), share), quantile(std::move(latencies), 1 - share)};
}

Exchange middle_of(const std::vector<Exchange>& values) {
  return level_of(values, 0.5);
}

/// The speed of a healthy pair, from the best value of each. Not the median: with one bad node
/// among three, two of three pairs are slow.
Exchange usual_of(const std::vector<Exchange>& all) {
  constexpr double kUpper = 0.75;
  std::map<Pair, Exchange> best;
  for (const Exchange& one : all) {
    Exchange& known = best.try_emplace(one.pair, one).first->second;
    known.gbytes_per_s = std::max(known.gbytes_per_s, one.gbytes_per_s);
    known.latency_us = std::min(known.latency_us, one.latency_us);
  }
  std::vector<double> speeds;
  std::vector<double> latencies;
  for (const auto& [pair, one] : best) {
    speeds.push_back(one.gbytes_per_s);
    if (one.latency_us > 0) latencies.push_back(one.latency_us);
  }
  return {{}, quantile(std::move(speeds), kUpper), quantile(std::move(latencies), 1 - kUpper)};
}

enum class Standing { open, good, slow, unclear };

/// All measurements of a pair.
struct PairMeasurements {
  std::vector<Exchange> values;  // in rounds and alone
  std::vector<Exchange> alone, beside;
};

// Usually several pairs prove that a node is slow. A pair that is the only proof, or whose values
// are noisy, needs more measurements.
constexpr std::size_t kSingleProofs = 2 * std::size_t{kProofs};

Standing unclear_after(std::size_t measurements) {
  return measurements < kSingleProofs ? Standing::open : Standing::unclear;
}

bool may_judge(std::size_t measurements) {
  return measurements == kProofs || measurements >= kSingleProofs;
}

Standing standing_of(const PairMeasurements& pair, const Exchange& usual) {
  const Exchange beside = middle_of(pair.beside);
  const Exchange best_usual{
      {},
      std::max(usual.gbytes_per_s, beside.gbytes_per_s),
      pair.beside.empty() ? usual.latency_us : std::min(usual.latency_us, beside.latency_us)};
  for (const Exchange& value : pair.values) {
    if (relative(value, best_usual) >= kSuspect) return Standing::good;
  }
  if (!may_judge(pair.alone.size())) return Standing::open;
  const Exchange most = level_of(pair.beside, kMostBeside);
  const bool all_bad = std::all_of(pair.alone.begin(), pair.alone.end(),
                                   [&](const Exchange& one) { return relative(one, most) < kBad; });
  return all_bad ? Standing::slow : unclear_after(pair.alone.size());
}

class Pairs {
 public:
  explicit Pairs(const Measured& measured) : usual_(usual_of(measured.exchanges)) {
    for (const Exchange& one : measured.exchanges) pairs_[one.pair].values.push_back(one);
    for (const ExchangeAlone& one : measured.exchanges_alone) {
      PairMeasurements& suspect = pairs_[one.suspect.pair];
      suspect.values.push_back(one.suspect);
      suspect.alone.push_back(one.suspect);
      suspect.beside.push_back(one.beside);
      pairs_[one.beside.pair].values.push_back(one.beside);
    }
    for (const auto& [pair, measurements] : pairs_) {
      const Standing standing = standing_of(measurements, usual_);
      standing_[pair] = standing;
      if (standing != Standing::good) continue;
      good_.insert(pair.a);
      good_.insert(pair.b);
      double best = 0;
      for (const Exchange& value : measurements.values) best = std::max(best, value.gbytes_per_s);
      good_pairs_.emplace_back(best, pair);
    }
    std::sort(good_pairs_.begin(), good_pairs_.end(),
              [](const auto& x, const auto& y) { return x.first > y.first; });
  }

  [[nodiscard]] bool proven_good(int node) const { return good_.contains(node); }
  [[nodiscard]] const std::set<int>& good_nodes() const { return good_; }
  [[nodiscard]] Standing of(Pair pair) const {
    const auto found = standing_.find(pair);
    return found == standing_.end() ? Standing::open : found->second;
  }
  [[nodiscard]] bool was_measured(Pair pair) const { return pairs_.contains(pair); }
  [[nodiscard]] const std::map<Pair, Standing>& all() const { return standing_; }
  [[nodiscard]] const PairMeasurements& measurements(Pair pair) const { return pairs_.at(pair); }

  /// A good pair to measure beside `suspect`, on other nodes if possible.
  [[nodiscard]] std::optional<Pair> beside(Pair suspect) const {
    const auto shares = [&](Pair pair) {
      return (pair.a == suspect.a || pair.a == suspect.b ? 1 : 0) +
             (pair.b == suspect.a || pair.b == suspect.b ? 1 : 0);
    };
    for (int common = 0; common <= 1; ++common) {
      for (const auto& [speed, pair] : good_pairs_) {
        if (shares(pair) == common) return pair;
      }
    }
    return std::nullopt;
  }

 private:
  Exchange usual_;
  std::map<Pair, PairMeasurements> pairs_;
  std::map<Pair, Standing> standing_;
  std::set<int> good_;
  std::vector<std::pair<double, Pair>> good_pairs_;  // fastest first
};

// ---- single nodes

double value_of(const Compute& one, SlowNode::By by) {
  return by == SlowNode::By::compute ? one.compute : one.memory;
}

class Singles {
 public:
  Singles(const Measured& measured, SlowNode::By by) : by_(by) {
    std::vector<double> values;
    for (const Compute& one : measured.computes) {
      const double value = value_of(one, by);
      if (value <= 0) continue;
      double& best = best_[one.node];
      best = std::max(best, value);
    }
    for (const auto& [node, best] : best_) values.push_back(best);
    // With two nodes the faster one counts as usual, with more the majority.
    usual_ = median(values);
    for (const ComputeAlone& one : measured.computes_alone) {
      const double value = value_of(one.suspect, by);
      alone_[one.suspect.node].push_back(value);
      beside_[one.suspect.node].push_back(value_of(one.beside, by));
      double& best = best_[one.suspect.node];
      best = std::max(best, value);
    }
  }

  [[nodiscard]] Standing of(int node) const {
    const auto best = best_.find(node);
    if (best == best_.end()) return Standing::unclear;
    if (ratio(best->second, usual_) >= kSuspect) return Standing::good;
    const auto alone = alone_.find(node);
    if (alone == alone_.end() || alone->second.size() < kSingleProofs) return Standing::open;
    const double top = *std::max_element(alone->second.begin(), alone->second.end());
    const double most = quantile(beside_.at(node), kMostBeside);
    return ratio(top, most) < kBad ? Standing::slow : Standing::unclear;
  }
  [[nodiscard]] std::optional<Question> question() const {
    for (const auto& [node, best] : best_) {
      if (of(node) != Standing::open) continue;
      const auto fastest =
          std::max_element(best_.begin(), best_.end(),
                           [](const auto& x, const auto& y) { return x.second < y.second; });
      if (fastest->first == node) return std::nullopt;
      return Question{{}, {}, node, fastest->first};
    }
    return std::nullopt;
  }
  void add_slow(std::vector<SlowNode>& slow) const {
    for (const auto& [node, best] : best_) {
      if (of(node) == Standing::slow)
        slow.push_back({node, by_,
                        *std::max_element(alone_.at(node).begin(), alone_.at(node).end()),
                        beside(node)});
    }
  }

 private:
  [[nodiscard]] double beside(int node) const { return median(beside_.at(node)); }

  SlowNode::By by_;
  double usual_ = 0;
  std::map<int, double> best_;
  std::map<int, std::vector<double>> alone_, beside_;
};

// ---- which node of a slow pair is bad

class OutlierSearch {
 public:
  explicit OutlierSearch(const Measured& measured)
      : nodes_(measured.nodes),
        compute_(measured, SlowNode::By::compute),
        memory_(measured, SlowNode::By::memory),
        pairs_(measured) {
    std::vector<SlowNode> slow;
    compute_.add_slow(slow);
    memory_.add_slow(slow);
    for (const SlowNode& one : slow) bad_.insert(one.node);
    singles_ = std::move(slow);
  }

  [[nodiscard]] std::optional<Question> question() const {
    if (auto asked = compute_.question()) return asked;
    if (auto asked = memory_.question()) return asked;
    for (int node = 0; node < nodes_; ++node) {
      if (auto asked = question_about(node)) return asked;
    }
    for (const auto& [pair, standing] : pairs_.all()) {
      if (!both_proven(pair)) continue;
      const bool begun = standing == Standing::slow && !is_proven_slow(pair);
      if (standing == Standing::open || begun) return ask(pair);
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_undecided(int node) const {
    return (nodes_ > 2 && !pairs_.proven_good(node) && was_measured(node)) ||
           compute_.of(node) == Standing::open || memory_.of(node) == Standing::open;
  }

  [[nodiscard]] Outliers outliers() const {
    Outliers found;
    found.nodes = singles_;
    for (int node = 0; node < nodes_; ++node) {
      const std::vector<int> slow_with = witnesses(node, Standing::slow);
      if (is_slow_with_all(node)) {
        found.nodes.push_back(described(node, slow_with));
      } else if (!bad_.contains(node) && is_undecided(node)) {
        found.undecided.push_back(node);
      }
    }
    for (const auto& [pair, standing] : pairs_.all()) {
      if (!both_proven(pair)) continue;
      if (is_proven_slow(pair)) {
        found.links.push_back(described(pair));
      } else if (standing == Standing::open || standing == Standing::slow) {
        found.undecided_links.push_back(pair);  // no time was left to measure it
      }
    }
    std::stable_sort(found.nodes.begin(), found.nodes.end(),
                     [](const SlowNode& x, const SlowNode& y) { return x.node < y.node; });
    return found;
  }

 private:
  [[nodiscard]] bool both_proven(Pair pair) const {
    return pairs_.proven_good(pair.a) && pairs_.proven_good(pair.b) && !bad_.contains(pair.a) &&
           !bad_.contains(pair.b);
  }
  /// Whether the pair is proof enough, without other pairs of the same node.
  [[nodiscard]] bool is_proven_slow(Pair pair) const {
    return pairs_.of(pair) == Standing::slow &&
           pairs_.measurements(pair).alone.size() >= kSingleProofs;
  }
  [[nodiscard]] bool was_measured(int node) const {
    return std::any_of(pairs_.all().begin(), pairs_.all().end(),
                       [&](const auto& one) { return one.first.a == node || one.first.b == node; });
  }
  [[nodiscard]] std::vector<int> witnesses(int node, Standing standing) const {
    std::vector<int> found;
    for (const int good : pairs_.good_nodes()) {
      if (good != node && !bad_.contains(good) && pairs_.was_measured(pair_of(node, good)) &&
          pairs_.of(pair_of(node, good)) == standing)
        found.push_back(good);
    }
    return found;
  }
  [[nodiscard]] std::size_t wanted(int node) const {
    std::size_t possible = 0;
    for (const int good : pairs_.good_nodes())
      possible += good != node && !bad_.contains(good) ? 1U : 0U;
    return std::min<std::size_t>(possible, kWitnesses);
  }
  /// Requires at least two proofs: a single one could come from a slow link.
  [[nodiscard]] bool is_slow_with_all(int node) const {
    constexpr std::size_t kFewest = 2;
    if (pairs_.proven_good(node) || bad_.contains(node)) return false;
    const std::size_t needed = wanted(node);
    return needed >= kFewest && witnesses(node, Standing::slow).size() >= needed;
  }

  [[nodiscard]] std::optional<Question> question_about(int node) const {
    if (pairs_.proven_good(node) || bad_.contains(node) || !was_measured(node)) return std::nullopt;
    if (witnesses(node, Standing::slow).size() >= wanted(node)) return std::nullopt;
    constexpr std::size_t kMostUnclear = 2;
    if (witnesses(node, Standing::unclear).size() > kMostUnclear) return std::nullopt;
    std::optional<Pair> next;
    std::size_t most = 0;
    for (const int good : pairs_.good_nodes()) {
      const Pair pair = pair_of(node, good);
      if (good == node || bad_.contains(good) || pairs_.of(pair) != Standing::open) continue;
      // Suspects under investigation first, then those from the rounds.
      const std::size_t known =
          pairs_.was_measured(pair) ? 1 + pairs_.measurements(pair).alone.size() : 0;
      if (!next || known > most) {
        next = pair;
        most = known;
      }
    }
    return next ? ask(*next) : std::nullopt;
  }

  [[nodiscard]] std::optional<Question> ask(Pair pair) const {
    const auto beside = pairs_.beside(pair);
    if (!beside) return std::nullopt;
    return Question{pair, beside, {}, {}};
  }

  [[nodiscard]] SlowNode described(int node, const std::vector<int>& with) const {
    SlowNode slow{node, SlowNode::By::exchange};
    slow.with = with;
    std::vector<Exchange> beside;
    for (const int good : with) {
      const PairMeasurements& known = pairs_.measurements(pair_of(node, good));
      beside.insert(beside.end(), known.beside.begin(), known.beside.end());
      for (const Exchange& one : known.alone) take_best(one, slow.value, slow.latency_us);
    }
    const Exchange usual = middle_of(beside);
    slow.usual = usual.gbytes_per_s;
    slow.usual_us = usual.latency_us;
    return slow;
  }
  [[nodiscard]] SlowLink described(Pair pair) const {
    SlowLink slow{pair};
    const PairMeasurements& known = pairs_.measurements(pair);
    for (const Exchange& one : known.alone) take_best(one, slow.value, slow.latency_us);
    const Exchange usual = middle_of(known.beside);
    slow.usual = usual.gbytes_per_s;
    slow.usual_us = usual.latency_us;
    return slow;
  }
  static void take_best(const Exchange& one, double& value, double& latency_us) {
    value = std::max(value, one.gbytes_per_s);
    if (one.latency_us > 0 && (latency_us <= 0 || one.latency_us < latency_us))
      latency_us = one.latency_us;
  }

  int nodes_;
  Singles compute_;
  Singles memory_;
  Pairs pairs_;
  std::set<int> bad_;  // by their own speed
  std::vector<SlowNode> singles_;
};

}  // namespace

std::optional<Question> next_question(const Measured& measured) {
  return OutlierSearch(measured).question();
}

Outliers find_outliers(const Measured& measured) {
  return OutlierSearch(measured).outliers();
}

std::vector<double> best_exchange(const Measured& measured) {
  std::vector<double> best(static_cast<std::size_t>(std::max(measured.nodes, 0)), 0);
  const auto add = [&](const Exchange& one) {
    for (const int node : {one.pair.a, one.pair.b}) {
      if (node < 0 || static_cast<std::size_t>(node) >= best.size()) continue;
      double& value = best[static_cast<std::size_t>(node)];
      value = std::max(value, one.gbytes_per_s);
    }
  };
  for (const Exchange& one : measured.exchanges) add(one);
  for (const ExchangeAlone& one : measured.exchanges_alone) {
    add(one.suspect);
    add(one.beside);
  }
  return best;
}

}  // namespace dlaunch::measure
