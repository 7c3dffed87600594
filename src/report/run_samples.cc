#include "report/run_samples.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "report/metric_number.h"
#include "text/json_text.h"

namespace dlaunch {

namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMostRows = 600;
constexpr std::size_t kLeastRows = 60;
constexpr std::size_t kMostCells = 60'000;  // of all nodes: about 2 MB as text
constexpr double kMostNumber = 1e18;
constexpr double kPercent = 100;
constexpr double kMega = 1e6;

double in_seconds(MonotonicTime time) {
  return std::chrono::duration<double>(time).count();
}

float since(std::uint64_t before, std::uint64_t now) {
  return now > before ? static_cast<float>(now - before) : 0;
}

void write_real(JsonText& json, double value) {
  json.real(std::strtod(metric_number(value).c_str(), nullptr));
}

/// Writes the list `name`: a whole number or null for each of `all`.
template <class All, class ValueOf>
void write_list(JsonText& json, std::string_view name, const All& all, const ValueOf& value_of) {
  json.line(4).key(name).begin_array();
  for (const auto& one : all) {
    const std::optional<double> value = value_of(one);
    value ? json.number(std::llround(std::min(*value, kMostNumber))) : json.null();
  }
  json.end_array();
}

}  // namespace

void RunSamples::Use::add(const Use& other) {
  seen += other.seen;
  cpu += other.cpu;
  gpu += other.gpu;
  gpu_seen += other.gpu_seen;
  output += other.output;
  network += other.network;
  memory = std::max(memory, other.memory);
  gpu_memory = std::max(gpu_memory, other.gpu_memory);
}

void RunSamples::Value::add(const Value& other) {
  if (other.count == 0) return;
  low = count == 0 ? other.low : std::min(low, other.low);
  high = count == 0 ? other.high : std::max(high, other.high);
  count += other.count;
  // A sum could overflow.
  const double part = static_cast<double>(other.count) / static_cast<double>(count);
  mean = mean * (1 - part) + other.mean * part;
}

RunSamples::RunSamples(std::vector<std::string> metrics)
    : metric_names_(std::move(metrics)), metrics_(metric_names_.size()) {}

void RunSamples::begin(const LaunchPlan& plan, MonotonicTime at) {
  places_.clear();
  ranks_.clear();
  for (const NodePlan& node : plan.nodes) {
    auto found = std::find_if(nodes_.begin(), nodes_.end(),
                              [&](const OfNode& one) { return one.name == node.name; });
    if (found == nodes_.end()) {
      nodes_.push_back({node.name, 0, at, 0, at, std::vector<Use>(rows_)});
      found = std::prev(nodes_.end());
    }
    found->heard = at;
    places_[node.id] = static_cast<std::size_t>(found - nodes_.begin());
  }
  for (const RankPlan& rank : plan.ranks)
    ranks_[plan.nodes[rank.node.value].id].push_back({rank.rank});
}

std::size_t RunSamples::most_rows() const {
  return std::clamp(kMostCells / std::max<std::size_t>(nodes_.size(), 1), kLeastRows, kMostRows);
}

std::size_t RunSamples::row_of(MonotonicTime at) const {
  return static_cast<std::size_t>(std::max(at, MonotonicTime(0)) / step_);
}

/// Makes a row for this time; halves the number of rows if there are too many.
void RunSamples::make_room(MonotonicTime at) {
  const auto halve = [](auto& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto one = std::exchange(rows[i], {});
      rows[i / 2].add(one);
    }
    rows.resize((rows.size() + 1) / 2);
  };
  if (row_of(at) < rows_) return;
  while (row_of(at) >= most_rows()) {
    step_ *= 2;
    for (OfNode& node : nodes_) halve(node.uses);
    for (auto& metric : metrics_) halve(metric);
    rows_ = (rows_ + 1) / 2;
  }
  rows_ = std::max(rows_, row_of(at) + 1);
  for (OfNode& node : nodes_) node.uses.resize(rows_);
  for (auto& metric : metrics_) metric.resize(rows_);
}

void RunSamples::add(NodeId node, const NodePulse& pulse, const std::vector<RankPulse>& ranks,
                     MonotonicTime at) {
  const auto place = places_.find(node);
  if (place == places_.end()) return;
  make_room(at);
  OfNode& seen = nodes_[place->second];
  if (pulse.cores > 0) seen.cores = pulse.cores;
  spread(seen, use_of_ranks(node, ranks), std::exchange(seen.heard, at), at);
  note_network(seen, pulse.network_bytes, at);
  for (const RankPulse& rank : ranks) {
    if (find(node, rank.rank) != nullptr) note_metrics(rank, at);
  }
}

RunSamples::OfRank* RunSamples::find(NodeId node, Rank rank) {
  std::vector<OfRank>& ranks = ranks_[node];
  const auto found =
      std::lower_bound(ranks.begin(), ranks.end(), rank,
                       [](const OfRank& one, Rank wanted) { return one.rank < wanted; });
  return found != ranks.end() && found->rank == rank ? &*found : nullptr;
}

/// `ranks` has only ranks for which something has changed.
RunSamples::Use RunSamples::use_of_ranks(NodeId id, const std::vector<RankPulse>& ranks) {
  constexpr float kMillis = 1000;
  Use use;
  use.seen = 1;
  for (const RankPulse& now : ranks) {
    OfRank* const before = find(id, now.rank);
    if (before == nullptr) continue;
    use.cpu += since(before->cpu_ms, now.cpu_ms) / kMillis;
    use.output += since(before->output, now.output);
    *before = {now.rank,   now.gpu_percent, now.output,       now.cpu_ms,
               now.memory, now.gpu_memory,  now.processes > 0};
  }
  float gpus = 0;
  for (const OfRank& rank : ranks_[id]) {
    use.memory += static_cast<float>(rank.memory);
    use.gpu_memory += static_cast<float>(rank.gpu_memory);
    if (rank.gpu_percent < 0 || !rank.has_processes) continue;
    use.gpu += static_cast<float>(rank.gpu_percent);
    gpus += 1;
  }
  if (gpus > 0) {
    use.gpu /= gpus;
    use.gpu_seen = 1;
  }
  return use;
}

void RunSamples::note_network(OfNode& node, std::uint64_t bytes, MonotonicTime at) {
  constexpr std::chrono::seconds kNetworkLook{12};  // agents look every 10 s; before, it was idle
  const std::uint64_t before = std::exchange(node.network, bytes);
  if (before == bytes) return;
  Use use;
  use.network = since(before, bytes);
  if (before > 0) spread(node, use, std::max(node.network_at, at - kNetworkLook), at);
  node.network_at = at;
}

/// Divides the amounts of `use` among the rows that the time overlaps, in proportion to the
/// overlap.
void RunSamples::spread(OfNode& node, const Use& use, MonotonicTime from, MonotonicTime to) {
  // Times never decrease, but two pulses may arrive at the same time.
  from = std::min(from, to - MonotonicTime(std::chrono::milliseconds(1)));
  const double whole = in_seconds(to - from);
  for (std::size_t row = row_of(from); row <= row_of(to) && row < node.uses.size(); ++row) {
    const MonotonicTime begin = std::max(from, step_ * static_cast<std::int64_t>(row));
    const MonotonicTime end = std::min(to, step_ * static_cast<std::int64_t>(row + 1));
    const auto part = static_cast<float>(in_seconds(end - begin));
    if (part <= 0) continue;
    const auto share = part / static_cast<float>(whole);
    node.uses[row].add({use.seen * part, use.cpu * share, use.gpu * part, use.gpu_seen * part,
                        use.output * share, use.network * share, use.memory, use.gpu_memory});
  }
}

void RunSamples::note_metrics(const RankPulse& rank, MonotonicTime at) {
  for (const MetricPulse& one : rank.metrics) {
    const double value = std::strtod(one.value.c_str(), nullptr);
    if (one.metric >= metrics_.size() || !std::isfinite(value)) continue;
    metrics_[one.metric][row_of(at)].add({value, value, value, 1});
  }
}

std::string RunSamples::json(WallTime started) const {
  using Number = std::optional<double>;
  std::string out;
  JsonText json(out);
  json.begin_object().line(1).key("version").number(kVersion);
  json.line(1).key("started").string(time_text(started));
  json.line(1).key("step_s").number(step_ / std::chrono::seconds(1));
  json.line(1).key("nodes").begin_array();
  for (const OfNode& node : nodes_) {
    const auto list = [&](std::string_view name, auto value_of) {
      write_list(json, name, node.uses, [&](const Use& use) {
        return use.seen > 0 ? Number(value_of(use)) : std::nullopt;
      });
    };
    json.line(2).begin_object().key("node").string(node.name).key("cores").number(node.cores);
    list("cpu", [](const Use& use) { return kPercent * use.cpu / use.seen; });
    list("memory", [](const Use& use) { return use.memory / kMega; });
    list("network", [](const Use& use) { return use.network / use.seen; });
    list("output", [](const Use& use) { return use.output / use.seen; });
    const auto has_gpu = [](const Use& use) { return use.gpu_seen > 0; };
    if (std::any_of(node.uses.begin(), node.uses.end(), has_gpu)) {
      write_list(json, "gpu", node.uses, [](const Use& use) {
        return use.gpu_seen > 0 ? Number(use.gpu / use.gpu_seen) : std::nullopt;
      });
      list("gpu_memory", [](const Use& use) { return use.gpu_memory / kMega; });
    }
    json.end_object();
  }
  json.line(1).end_array().key("metrics").begin_array();
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    json.line(2).begin_object().key("name").string(metric_names_[i]);
    const auto list = [&](std::string_view name, auto value_of) {
      json.line(4).key(name).begin_array();
      for (const Value& value : metrics_[i])
        value.count > 0 ? write_real(json, value_of(value)) : static_cast<void>(json.null());
      json.end_array();
    };
    list("low", [](const Value& value) { return value.low; });
    list("mean", [](const Value& value) { return value.mean; });
    list("high", [](const Value& value) { return value.high; });
    json.end_object();
  }
  json.line(1).end_array().line(0).end_object();
  out += '\n';
  return out;
}

}  // namespace dlaunch
