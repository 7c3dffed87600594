#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "measure/check/check_output.h"
#include "measure/check/fabric_findings.h"
#include "measure/check/node_checks.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Severity = CheckFinding::Severity;

CheckReport report_of(std::size_t count) {
  CheckReport report;
  for (std::size_t i = 0; i < count; ++i) {
    CheckedNode node;
    node.name = "gpu0" + std::to_string(i + 1);
    node.facts.fabric.gpu_driver = "550.54";
    node.facts.gpus.resize(8);
    for (GpuFact& gpu : node.facts.gpus) gpu.model = "NVIDIA H100 80GB HBM3";
    node.clock_offset_ns = -120'000;
    report.nodes.push_back(node);
  }
  return report;
}

TEST(CheckText, IsATableWithAVerdictForEachHost) {
  CheckReport report = report_of(2);
  report.findings = {
      {Severity::bad, {1}, "driver", "driver 535.10, the other has 550.54", "the same"},
      {Severity::bad, {1}, "memlock", "too little", ""}};
  EXPECT_EQ(
      check_text(report),
      "host   gpus    driver  limits   clock   verdict\n"
      "gpu01  8 H100  550.54  ok       0.1 ms  ok\n"
      "gpu02  8 H100  550.54  memlock  0.1 ms  BAD  driver 535.10, the other has 550.54 (and 1 "
      "more)\n"
      "bad   gpu02: driver 535.10, the other has 550.54\n"
      "      try: the same\n"
      "bad   gpu02: too little\n");
  EXPECT_EQ(check_verdict(report), "1 of 2 nodes is bad");
}

TEST(CheckText, CountsPortsByRate) {
  CheckReport report = report_of(1);
  for (int i = 0; i < 3; ++i) {
    RdmaDevice device;
    device.name = "mlx5_" + std::to_string(i);
    device.driver = "mlx5_core";
    RdmaPort port;
    port.link_layer = RdmaPort::LinkLayer::infiniband;
    port.state = i == 0 ? RdmaPort::State::down : RdmaPort::State::active;
    port.rate_mbit = 400000;
    device.ports = {port};
    report.nodes[0].facts.fabric.rdma.push_back(device);
  }
  EXPECT_THAT(check_text(report), HasSubstr("2x400, 1 DOWN"));
}

/// Two nodes that read a job's folder from a server, the second in half the time.
CheckReport report_with_folders() {
  CheckReport report = report_of(3);
  report.nodes[2].failure = "Connection refused";
  for (std::uint64_t i = 0; i < 2; ++i) {
    NodeCondition& condition = report.nodes[i].condition;
    condition.code = {{"/job", "nfs4 at /job (srv:/job)", 300, 750'000'000 / (i + 1),
                       600'000'000 / (i + 1), 32'000'000, 400'000'000 / (i + 1)}};
    condition.local = {"/tmp", "ext4 at / (/dev/sda1)", 100, 5'000'000, 4'000'000, 0, 0};
  }
  return report;
}

TEST(CheckText, HasARowForEachFolderOverAllNodes) {
  EXPECT_THAT(check_text(report_with_folders()),
              HasSubstr("files in           files/s    MB/s     file system\n"
                        "/job               500..1000  80..160  nfs4 at /job (srv:/job)\n"
                        "/tmp (to compare)  25000      -        ext4 at / (/dev/sda1)\n"));
}

TEST(CheckText, NamesWhatWasNotMeasured) {
  CheckReport report = report_of(2);
  report.not_measured = "gpu02: libmpi.so.40 is not on this node";
  EXPECT_THAT(check_text(report),
              HasSubstr("not measured: gpu02: libmpi.so.40 is not on this node\n"));
  EXPECT_EQ(check_verdict(report), "all 2 nodes are good");
}

measure::CheckData two_fast_of(int nodes) {
  measure::CheckData data;
  data.measured.nodes = nodes;
  data.backend = "mpi: Open MPI v4.1.4";
  data.measured.exchanges = {{{0, 1}, 2, 30}};
  data.all_reduce = measure::AllReduce{{0, 1}, 1.5, 1e6, 2};
  return data;
}

TEST(FabricFindings, TwoNodesBelowTheExpectationBlameTheirLink) {
  CheckReport report = report_of(3);
  add_fabric(two_fast_of(2), {{0, 2}, 2.0, false, {}}, report);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].code, "busbw");
  EXPECT_THAT(report.findings[0].nodes, ElementsAre(0, 2));
  EXPECT_TRUE(is_bad(report));
  EXPECT_FALSE(is_bad(report, 0));
  EXPECT_TRUE(report.figures[2].in_all_reduce);
  EXPECT_FALSE(report.figures[1].in_all_reduce);
  EXPECT_EQ(check_verdict(report), "every node is good, but the network between them is bad");
}

TEST(FabricFindings, AReachedExpectationHasNoFinding) {
  CheckReport report = report_of(2);
  add_fabric(two_fast_of(2), {{0, 1}, 1.5, false, {}}, report);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_THAT(check_text(report),
              HasSubstr("all_reduce over 2 nodes: 1.50 GB/s bus bandwidth with "));
}

TEST(FabricFindings, ReportsWhatWasNotMeasured) {
  CheckReport report = report_of(2);
  measure::CheckData data = two_fast_of(2);
  data.out_of_time = true;
  add_fabric(data, {{0, 1}, 1.5, false, {}}, report);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].code, "out-of-time");
  EXPECT_FALSE(is_bad(report));
  data.out_of_time = false;
  data.measured.exchanges.clear();
  report = report_of(2);
  add_fabric(data, {{0, 1}, 1.5, false, {}}, report);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].text, HasSubstr("no two nodes exchanged data"));
}

TEST(FabricFindings, NcclOnSocketsIsBadWhereThereIsInfiniBand) {
  CheckReport report = report_of(2);
  measure::CheckData data = two_fast_of(2);
  data.network = measure::NcclNetwork{"Socket", "NET/IB : No device found."};
  add_fabric(data, {{0, 1}, std::nullopt, true, {}}, report);
  EXPECT_TRUE(report.findings.empty());
  for (CheckedNode& node : report.nodes) {
    RdmaDevice device;
    device.name = "mlx5_0";
    device.driver = "mlx5_core";
    device.pci_address = "0000:18:00.0";
    device.is_usable = true;
    device.ports.resize(1);
    device.ports[0].link_layer = RdmaPort::LinkLayer::infiniband;
    device.ports[0].state = RdmaPort::State::active;
    node.facts.fabric.rdma = {device};
  }
  add_fabric(data, {{0, 1}, std::nullopt, true, {}}, report);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].code, "nccl-socket");
}

TEST(CheckJson, HasStableNames) {
  CheckReport report = report_of(2);
  report.findings = {{Severity::bad, {0, 1}, "slow-link", "slow", "look"}};
  report.took_ms = 1234;
  report.exchanges = 3;
  const auto json = nlohmann::json::parse(check_json(report));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["took_ms"], 1234);
  EXPECT_EQ(json["exchanges"], 3);
  EXPECT_TRUE(json["all_reduce_busbw_gbs"].is_null());
  EXPECT_EQ(json["nodes"][0]["host"], "gpu01");
  EXPECT_EQ(json["nodes"][0]["good"], true);
  EXPECT_EQ(json["nodes"][0]["clock_offset_ms"], -0.12);
  EXPECT_EQ(json["findings"][0]["hosts"], (nlohmann::json{"gpu01", "gpu02"}));
  EXPECT_EQ(json["findings"][0]["code"], "slow-link");
}

TEST(CheckJson, HasTheFoldersOfEachNode) {
  const auto json = nlohmann::json::parse(check_json(report_with_folders()));
  const nlohmann::json expected = {
      {"path", "/job"},      {"file_system", "nfs4 at /job (srv:/job)"},
      {"network", true},     {"files", 300},
      {"files_per_s", 1000}, {"read_mbs", 160},
      {"ms_per_file", 1.25}};
  EXPECT_EQ(json["nodes"][1]["folders"], nlohmann::json::array({expected}));
  EXPECT_EQ(json["nodes"][1]["local_folder"]["path"], "/tmp");
  EXPECT_EQ(json["nodes"][1]["local_folder"]["network"], false);
  EXPECT_TRUE(json["nodes"][1]["local_folder"]["read_mbs"].is_null()) << "too little to tell";
  EXPECT_EQ(json["nodes"][2]["folders"], nlohmann::json::array());
  EXPECT_TRUE(json["nodes"][2]["local_folder"].is_null());
}

/// Virtual machines whose only RDMA device is Azure's Ethernet; the first also has `ports` of
/// InfiniBand.
std::vector<CheckedNode> virtual_machines(std::size_t ports) {
  std::vector<CheckedNode> nodes = report_of(2).nodes;
  for (CheckedNode& node : nodes) {
    RdmaDevice device;
    device.name = "mlx5_an0";
    device.driver = "mlx5_core";
    device.pci_address = "4a6b:00:02.0";
    device.is_usable = true;
    device.ports.resize(1);
    device.ports[0].link_layer = RdmaPort::LinkLayer::ethernet;
    device.ports[0].state = RdmaPort::State::active;
    node.facts.fabric.rdma = {device};
    device.ports[0].link_layer = RdmaPort::LinkLayer::infiniband;
    device.pci_address = "0101:00:00.0";
    if (&node == &nodes.front())
      node.facts.fabric.rdma.insert(node.facts.fabric.rdma.end(), ports, device);
  }
  return nodes;
}

using Notes = std::vector<std::vector<std::uint32_t>>;

/// The nodes of the notes, whose texts must contain the words.
Notes azure_notes(const std::string& size, const std::vector<CheckedNode>& nodes,
                  const std::string& words) {
  Notes whose;
  for (const CheckFinding& one : azure_size_findings(*fabric::azure_size(size), nodes)) {
    EXPECT_EQ(one.code, "azure-size");
    EXPECT_EQ(one.severity, Severity::note);
    if (one.text.find(words) != std::string::npos) whose.push_back(one.nodes);
  }
  return whose;
}

// Microsoft, "Azure virtual machine sizes naming conventions": r = RDMA.
TEST(AzureFindings, CompareASizeWithTheNodes) {
  EXPECT_EQ(azure_notes("ND96asr_v4", virtual_machines(0), "no InfiniBand port was found"),
            (Notes{{0}, {1}}));
  EXPECT_EQ(azure_notes("ND96asr_v4", virtual_machines(8), "no InfiniBand port was found"),
            (Notes{{1}}));
  EXPECT_EQ(azure_notes("NC24r", virtual_machines(0), "without SR-IOV"), (Notes{{}}));
  EXPECT_EQ(azure_notes("D4s_v5", virtual_machines(0), "no RDMA"), (Notes{{}}));
  EXPECT_EQ(azure_notes("D4s_v5", virtual_machines(1), "another size"), (Notes{{0}}));
}

TEST(AzureFindings, IgnoreANodeThatDoesNotAnswer) {
  auto nodes = virtual_machines(0);
  nodes[0].failure = "Connection refused";
  EXPECT_EQ(azure_notes("HB120rs_v3", nodes, ""), (Notes{{1}}));
}

}  // namespace
}  // namespace dlaunch
