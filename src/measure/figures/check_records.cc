#include "measure/figures/check_records.h"

#include <array>

#include "text/strings.h"

namespace dlaunch::measure {

namespace {

/// The part of the line after "NCCL INFO " or "NCCL WARN ".
std::string_view said_in(std::string_view line) {
  for (const std::string_view mark : {"NCCL INFO ", "NCCL WARN "}) {
    const std::size_t at = line.find(mark);
    if (at != std::string_view::npos) return line.substr(at + mark.size());
  }
  return {};
}

bool is_reason(std::string_view said) {
  constexpr std::array kReasons{
      std::string_view("NET/IB : No device found"), std::string_view("NCCL_IB_DISABLE set"),
      std::string_view("NCCL_NET set"), std::string_view("Failed to open libibverbs"),
      std::string_view("NET/IB : Unable to open device")};
  for (const std::string_view reason : kReasons) {
    if (said.find(reason) != std::string_view::npos) return true;
  }
  return false;
}

void put(const Exchange& one, const std::string& prefix, Record& record) {
  record.set(prefix + "a", one.pair.a).set(prefix + "b", one.pair.b);
  record.set(prefix + "gbytes_per_s", one.gbytes_per_s).set(prefix + "latency_us", one.latency_us);
}

void put(const Compute& one, const std::string& prefix, Record& record) {
  record.set(prefix + "node", one.node);
  record.set(prefix + "compute", one.compute).set(prefix + "memory", one.memory);
}

int node_in(const Record& record, const std::string& key, int nodes) {
  const double number = record.has(key) ? record.number(key) : -1;
  return number >= 0 && number < nodes ? static_cast<int>(number) : -1;
}

std::optional<Exchange> exchange_in(const Record& record, const std::string& prefix, int nodes) {
  const int a = node_in(record, prefix + "a", nodes);
  const int b = node_in(record, prefix + "b", nodes);
  if (a < 0 || b < 0 || a == b) return std::nullopt;
  return Exchange{pair_of(a, b), record.number(prefix + "gbytes_per_s"),
                  record.number(prefix + "latency_us")};
}

std::optional<Compute> compute_in(const Record& record, const std::string& prefix, int nodes) {
  const int node = node_in(record, prefix + "node", nodes);
  if (node < 0) return std::nullopt;
  return Compute{node, record.number(prefix + "compute"), record.number(prefix + "memory")};
}

}  // namespace

NcclNetwork parse_nccl_log(std::string_view log) {
  constexpr std::string_view kUsing = "Using network ";
  constexpr std::size_t kLongest = 200;
  NcclNetwork found;
  while (!log.empty()) {
    const std::string_view said = trimmed(said_in(take_line(log)));
    if (said.starts_with(kUsing) && found.name != "Socket") found.name = said.substr(kUsing.size());
    if (found.reason.empty() && is_reason(said)) found.reason = said.substr(0, kLongest);
  }
  return found;
}

std::string nccl_network_finding(const NcclNetwork& network, bool rdma_is_usable) {
  if (!rdma_is_usable || network.name != "Socket") return {};
  std::string text = "NCCL uses sockets, although usable InfiniBand or RoCE is present";
  if (!network.reason.empty()) text += "; its log: " + network.reason;
  return text;
}

Record record_of(const Exchange& one) {
  Record record("exchange");
  put(one, "", record);
  return record;
}

Record record_of(const Compute& one) {
  Record record("single");
  put(one, "", record);
  return record;
}

Record record_of(const ExchangeAlone& one) {
  Record record("exchange_alone");
  put(one.suspect, "", record);
  put(one.beside, "beside_", record);
  return record;
}

Record record_of(const ComputeAlone& one) {
  Record record("single_alone");
  put(one.suspect, "", record);
  put(one.beside, "beside_", record);
  return record;
}

Record record_of(const AllReduce& one) {
  Record record("all_reduce");
  record.set("nodes", std::vector<double>(one.nodes.begin(), one.nodes.end()));
  record.set("busbw_gbs", one.busbw_gbs).set("bytes", one.bytes).set("ranks", one.ranks);
  return record;
}

Record record_of(const NcclNetwork& one) {
  Record record("network");
  record.set("name", one.name).set("reason", one.reason);
  return record;
}

void add_record(const Record& record, CheckData& data) {
  Measured& measured = data.measured;
  const int nodes = measured.nodes;
  if (record.kind() == "header") data.backend = record.text("backend");
  if (record.kind() == "out_of_time") data.out_of_time = true;
  if (record.kind() == "network")
    data.network = NcclNetwork{record.text("name"), record.text("reason")};
  if (record.kind() == "all_reduce") {
    AllReduce one{{},
                  record.number("busbw_gbs"),
                  record.number("bytes"),
                  static_cast<int>(record.number("ranks"))};
    for (const double node : record.numbers("nodes")) one.nodes.push_back(static_cast<int>(node));
    data.all_reduce = std::move(one);
  }
  const auto exchange = exchange_in(record, "", nodes);
  const auto beside = exchange_in(record, "beside_", nodes);
  if (record.kind() == "exchange" && exchange) measured.exchanges.push_back(*exchange);
  if (record.kind() == "exchange_alone" && exchange && beside)
    measured.exchanges_alone.push_back({*exchange, *beside});
  const auto single = compute_in(record, "", nodes);
  const auto other = compute_in(record, "beside_", nodes);
  if (record.kind() == "single" && single) measured.computes.push_back(*single);
  if (record.kind() == "single_alone" && single && other)
    measured.computes_alone.push_back({*single, *other});
}

}  // namespace dlaunch::measure
