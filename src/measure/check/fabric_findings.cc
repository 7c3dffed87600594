#include "measure/check/fabric_findings.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "plan/fabric_ports.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using measure::SlowLink;
using measure::SlowNode;
using Severity = CheckFinding::Severity;

/// "0.02 GB/s, other pairs 2.1 GB/s"; or the latencies if these are bad.
std::string exchange_text(double value, double usual, double us, double usual_us) {
  const bool is_slow = value < measure::kBad * usual;
  if (is_slow) return three_digits(value) + " GB/s, other pairs " + three_digits(usual) + " GB/s";
  return three_digits(us) + " us for 8 bytes, other pairs " + three_digits(usual_us) + " us";
}

class Fabric {
 public:
  Fabric(const measure::CheckData& data, const FabricContext& context, CheckReport& report)
      : data_(data), context_(context), report_(report) {}

  void add() {
    report_.backend = data_.backend;
    report_.exchanges = data_.measured.exchanges.size();
    add_figures();
    const measure::Outliers outliers = find_outliers(data_.measured);
    for (const SlowNode& slow : outliers.nodes) add(slow);
    for (const SlowLink& slow : outliers.links) add(slow);
    for (const int node : outliers.undecided)
      put(Severity::note, {node}, "undecided",
          "it was slow at first, but this could not be confirmed: the machines or the network "
          "are busy",
          "check again when they are idle");
    for (const measure::Pair& pair : outliers.undecided_links)
      put(Severity::note, {pair.a, pair.b}, "undecided",
          "the link between them was slow at first, but no time was left to measure it again",
          "check again, or check fewer nodes at once");
    add_out_of_time();
    add_all_reduce();
    add_network();
  }

 private:
  void add_out_of_time() {
    const measure::Measured& measured = data_.measured;
    const bool no_exchange = measured.exchanges.empty() && measured.nodes > 1;
    if (!no_exchange && !data_.out_of_time) return;
    put(Severity::note, {}, "out-of-time",
        no_exchange
            ? "no two nodes exchanged data: links were not measured"
            : "no time was left for some measurements: slow nodes or links may be missing here",
        "check again when the machines are idle, or check fewer nodes at once");
  }

  [[nodiscard]] std::uint32_t index_of(int node) const {
    return context_.nodes[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] std::string name(int node) const { return report_.nodes[index_of(node)].name; }

  void put(Severity severity, const std::vector<int>& nodes, const char* code, std::string text,
           std::string remedy) {
    CheckFinding finding{severity, {}, code, std::move(text), std::move(remedy)};
    for (const int node : nodes) finding.nodes.push_back(index_of(node));
    report_.findings.push_back(std::move(finding));
  }

  void add_figures() {
    report_.figures.assign(report_.nodes.size(), {});
    const auto best = best_exchange(data_.measured);
    for (std::size_t i = 0; i < best.size(); ++i)
      report_.figures[context_.nodes[i]].exchange_gbs = best[i];
    for (const measure::Compute& one : data_.measured.computes) {
      NodeFigures& figures = report_.figures[index_of(one.node)];
      figures.compute = std::max(figures.compute, one.compute);
      figures.memory_gbs = std::max(figures.memory_gbs, one.memory);
    }
    for (const measure::Exchange& one : data_.measured.exchanges) {
      for (const int node : {one.pair.a, one.pair.b}) {
        double& us = report_.figures[index_of(node)].exchange_us;
        if (one.latency_us > 0 && (us <= 0 || one.latency_us < us)) us = one.latency_us;
      }
    }
    if (!data_.all_reduce) return;
    for (const int node : data_.all_reduce->nodes) {
      if (node >= 0 && node < data_.measured.nodes)
        report_.figures[index_of(node)].in_all_reduce = true;
    }
  }

  void add(const SlowNode& slow) {
    if (slow.by == SlowNode::By::compute) {
      return put(Severity::bad, {slow.node}, "slow-compute",
                 "a core computes " + three_digits(slow.value) + " GFLOP/s, other nodes " +
                     three_digits(slow.usual),
                 "look for other processes, a cgroup limit, or a lower clock (heat, power): top, "
                 "dmesg");
    }
    if (slow.by == SlowNode::By::memory) {
      return put(Severity::bad, {slow.node}, "slow-memory",
                 "a core copies " + three_digits(slow.value) + " GB/s, other nodes " +
                     three_digits(slow.usual),
                 "look for other processes, or a memory module that failed: dmesg");
    }
    std::string with;
    for (std::size_t i = 0; i < slow.with.size(); ++i)
      with += (i == 0 ? "" : i + 1 == slow.with.size() ? " and " : ", ") + name(slow.with[i]);
    put(Severity::bad, {slow.node}, "slow-network",
        "exchanges with " + with + ": " +
            exchange_text(slow.value, slow.usual, slow.latency_us, slow.usual_us),
        "check its network card, cable and switch port");
  }

  void add(const SlowLink& slow) {
    put(Severity::bad, {slow.pair.a, slow.pair.b}, "slow-link",
        "the link between them: " +
            exchange_text(slow.value, slow.usual, slow.latency_us, slow.usual_us) +
            "; both are fast with other nodes",
        "check the switches and routes between them");
  }

  [[nodiscard]] double expected() const {
    if (context_.min_busbw) return *context_.min_busbw;
    if (!data_.all_reduce) return 0;
    std::vector<LinkRate> links;
    for (const int node : data_.all_reduce->nodes) {
      if (node < 0 || node >= data_.measured.nodes) continue;
      const std::uint32_t at = index_of(node);
      const std::string interface = at < context_.interfaces.size() ? context_.interfaces[at] : "";
      links.push_back(link_rate(report_.nodes[at].facts, interface, context_.nccl));
    }
    return expected_busbw(links);
  }

  void add_all_reduce() {
    if (!data_.all_reduce) return;
    const double reached = data_.all_reduce->busbw_gbs;
    report_.all_reduce_gbs = reached;
    report_.all_reduce_bytes = data_.all_reduce->bytes;
    report_.expected_gbs = expected();
    if (*report_.expected_gbs <= 0 || reached >= *report_.expected_gbs) return;
    const std::string text = "all_reduce reaches " + three_digits(reached) +
                             " GB/s bus bandwidth, expected at least " +
                             three_digits(*report_.expected_gbs);
    if (data_.measured.nodes == 2) {
      return put(Severity::bad, {0, 1}, "busbw",
                 text + ": the link between them or one of the nodes is bad",
                 "check them with a third node to find out which");
    }
    put(Severity::bad, {}, "busbw", text,
        "dlaunch plan shows which ports are used; set --min-busbw if less is normal for these "
        "nodes");
  }

  void add_network() {
    if (!data_.network) return;
    const bool rdma = std::all_of(context_.nodes.begin(), context_.nodes.end(), [&](auto node) {
      const NodeFacts& facts = report_.nodes[node].facts;
      return !usable_ports(facts, RdmaPort::LinkLayer::infiniband).empty() ||
             !usable_ports(facts, RdmaPort::LinkLayer::ethernet).empty();
    });
    const std::string text = nccl_network_finding(*data_.network, rdma);
    if (!text.empty())
      put(Severity::bad, {}, "nccl-socket", text,
          "NCCL_DEBUG=INFO shows more; NCCL_IB_DISABLE and NCCL_NET must not be set");
  }

  const measure::CheckData& data_;
  const FabricContext& context_;
  CheckReport& report_;
};

}  // namespace

using LinkLayer = RdmaPort::LinkLayer;

LinkRate link_rate(const NodeFacts& facts, const std::string& interface, bool nccl) {
  constexpr double kMbitPerGbyte = 8000;
  constexpr double kShareOfRdma = 0.5;
  // One process adds the numbers in host memory, which is slower than the network.
  constexpr double kMostByHost = 2;
  // With one process and TCP the CPU limits the rate more than the network.
  constexpr double kShareOfTcp = 0.25;
  constexpr double kMostByTcp = 1.25;  // 10 Gb/s
  for (const LinkLayer layer : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    std::vector<double> rates;
    for (const FabricPort& port : choose_ports(facts, layer).ports) {
      if (port.port->rate_mbit == 0) return {};
      rates.push_back(port.port->rate_mbit / kMbitPerGbyte);
    }
    if (rates.empty()) continue;
    std::sort(rates.begin(), rates.end(), std::greater<>());
    if (!nccl) return {std::min(rates.front(), kMostByHost / kShareOfRdma), kShareOfRdma};
    // A GPU uses one port at a time.
    const std::size_t used = std::min(rates.size(), std::max<std::size_t>(facts.gpus.size(), 1));
    const auto end = rates.begin() + static_cast<std::ptrdiff_t>(used);
    return {std::accumulate(rates.begin(), end, 0.0), kShareOfRdma};
  }
  for (const NetworkInterface& one : facts.interfaces) {
    if (one.name == interface && one.kind == NetworkInterface::Kind::physical)
      return {std::min(one.speed_mbit / kMbitPerGbyte, kMostByTcp), kShareOfTcp};
  }
  return {};
}

double expected_busbw(const std::vector<LinkRate>& links) {
  double least = links.empty() ? 0 : links.front().gbs * links.front().share;
  for (const LinkRate& link : links) least = std::min(least, link.gbs * link.share);
  return least;
}

void add_fabric(const measure::CheckData& data, const FabricContext& context, CheckReport& report) {
  Fabric(data, context, report).add();
}

}  // namespace dlaunch
