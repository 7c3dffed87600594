#include "measure/check/node_checks.h"

#include <gmock/gmock.h>

#include "measure/check/fabric_findings.h"
#include "measure/check/node_choice.h"
#include "unit/jobfile/read_text.h"
#include "unit/plan/fake_cluster.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Severity = CheckFinding::Severity;

CheckedNode fine(const std::string& name, int gpus = 8) {
  CheckedNode node;
  node.name = name;
  node.facts = test::fake_node(name, {.gpus = gpus}).facts;
  node.facts.memory_bytes = std::uint64_t{512} << 30U;
  node.facts.kernel = "6.1";
  node.facts.architecture = "x86_64";
  node.facts.fabric.gpu_driver = gpus > 0 ? "550.54" : "";
  node.condition.shm_bytes = std::uint64_t{256} << 30U;
  node.condition.disks = {
      {"/tmp", std::uint64_t{100} << 30U, std::uint64_t{200} << 30U, false, ""}};
  node.clock_offset_ns = 100'000;
  node.clock_error_ns = 100'000;
  for (int i = 0; i < 2; ++i) {
    RdmaDevice device;
    device.name = "mlx5_" + std::to_string(i);
    device.driver = "mlx5_core";
    device.pci_address = "0000:18:00.0";
    device.is_usable = true;
    RdmaPort port;
    port.link_layer = RdmaPort::LinkLayer::infiniband;
    port.state = RdmaPort::State::active;
    port.rate_mbit = 400000;
    device.ports = {port};
    node.facts.fabric.rdma.push_back(device);
  }
  return node;
}

std::vector<CheckedNode> nodes(std::size_t count, int gpus = 8) {
  std::vector<CheckedNode> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(fine("gpu0" + std::to_string(i + 1), gpus));
  return all;
}

/// "CODE HOSTINDEX..." of each bad finding.
std::vector<std::string> bad(const std::vector<CheckFinding>& findings) {
  std::vector<std::string> all;
  for (const CheckFinding& one : findings) {
    if (one.severity != Severity::bad) continue;
    std::string text = one.code;
    for (const auto node : one.nodes) text += ' ' + std::to_string(node);
    all.push_back(text);
  }
  return all;
}

TEST(NodeChecks, EqualNodesHaveNoFinding) {
  EXPECT_THAT(check_nodes(nodes(4)), IsEmpty());
  EXPECT_THAT(check_nodes(nodes(1)), IsEmpty());
  EXPECT_THAT(check_nodes({}), IsEmpty());
}

TEST(NodeChecks, NamesTheNodeWithAnotherDriver) {
  auto all = nodes(4);
  all[3].facts.fabric.gpu_driver = "535.10";
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings), ElementsAre("driver 3"));
  EXPECT_EQ(findings.front().text, "NVIDIA driver 535.10, the other 3 have 550.54");
}

TEST(NodeChecks, TwoNodesHaveNoMajority) {
  auto all = nodes(2);
  all[1].facts.fabric.gpu_driver = "535.10";
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings), ElementsAre("driver"));
  EXPECT_THAT(findings.front().text, HasSubstr("535.10 (gpu02)"));
  all = nodes(2);
  all[1].facts.cores.pop_back();  // two kinds of nodes may be intended
  EXPECT_THAT(bad(check_nodes(all)), IsEmpty());
}

TEST(NodeChecks, FewerGpusCoresAndMemory) {
  auto all = nodes(3);
  all[0].facts.gpus.pop_back();
  all[1].facts.cores.pop_back();
  all[2].facts.memory_bytes = std::uint64_t{448} << 30U;
  EXPECT_THAT(bad(check_nodes(all)), ElementsAre("gpus 0", "cores 1", "memory 2"));
}

TEST(NodeChecks, ReservedMemoryIsNotADifference) {
  auto all = nodes(3);
  all[2].facts.memory_bytes -= std::uint64_t{300} << 20U;
  EXPECT_THAT(check_nodes(all), IsEmpty());
}

TEST(NodeChecks, APortThatIsDownOrSlowBesideItsPeers) {
  auto all = nodes(4);
  all[1].facts.fabric.rdma[1].ports[0].state = RdmaPort::State::down;
  all[1].facts.fabric.rdma[1].ports[0].physical_state = "Polling";
  all[2].facts.fabric.rdma[0].ports[0].rate_mbit = 200000;
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings), ElementsAre("port-down 1", "port-rate 2"));
  EXPECT_EQ(findings[0].text, "mlx5_1:1 is DOWN (Polling)");
  EXPECT_EQ(findings[1].text, "mlx5_0:1 runs at 200 Gb/s, the other 3 have 400 Gb/s");
}

TEST(NodeChecks, APortThatIsDownEverywhereIsNotUsed) {
  auto all = nodes(4);
  for (auto& node : all) node.facts.fabric.rdma[1].ports[0].state = RdmaPort::State::down;
  EXPECT_THAT(check_nodes(all), IsEmpty());
}

TEST(NodeChecks, APortOfOneOfTwoNodesIsANote) {
  auto all = nodes(2);
  all[0].facts.fabric.rdma[0].ports[0].rate_mbit = 200000;
  all[1].facts.fabric.rdma[1].ports[0].state = RdmaPort::State::down;
  all[1].facts.memory_bytes /= 2;
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings), IsEmpty());
  EXPECT_THAT(findings, SizeIs(3));
}

TEST(NodeChecks, NamesTheOneOfTwoNodesThatLostAGpu) {
  auto all = nodes(2);
  all[1].facts.gpus.pop_back();
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings), ElementsAre("gpus 1"));
  EXPECT_THAT(findings.front().text, HasSubstr(", gpu01 has 8 x "));
  all[1].facts.gpus.resize(4);  // half as many may be intended
  EXPECT_THAT(bad(check_nodes(all)), IsEmpty());
  all[1].facts.gpus = all[0].facts.gpus;
  all[1].facts.gpus.pop_back();
  all[1].facts.gpus.front().model = "another";
  EXPECT_THAT(bad(check_nodes(all)), IsEmpty());
}

TEST(NodeChecks, NamesTheOneOfTwoNodesWithAPortDownNearAGpu) {
  auto all = nodes(2);
  for (auto& node : all) {
    const std::string root = "pci0000:15/0000:15:01.0/0000:16:00.0/";
    node.facts.gpus.front().pci_path = root + "0000:17:02.0/0000:1b:00.0";
    node.facts.fabric.rdma[1].pci_path = root + "0000:17:01.0/0000:18:00.0";
  }
  all[0].facts.fabric.rdma[1].ports[0].state = RdmaPort::State::down;
  EXPECT_THAT(bad(check_nodes(all)), ElementsAre("port-down 0"));
}

TEST(NodeChecks, AnUnexpectedNumberOfGpus) {
  auto all = nodes(3);
  EXPECT_THAT(bad(check_nodes(all, 8)), IsEmpty());
  all[1].facts.gpus.pop_back();
  const auto findings = check_nodes(all, 8);
  EXPECT_THAT(bad(findings), ElementsAre("gpus 1"));
  EXPECT_EQ(findings.front().text, "7 GPUs, expected 8");
  all[0].facts.gpus.clear();
  EXPECT_THAT(bad(check_nodes(all, 0)), ElementsAre("gpus 1", "gpus 2"));
}

TEST(NodeChecks, DifferentVersionsOfMpiAndNccl) {
  auto all = nodes(3);
  for (auto& node : all)
    node.condition.collectives = {"mpi: ready, Open MPI v4.1.4", "nccl: ready, NCCL 2.28.9"};
  all[0].condition.collectives[0] = "mpi: ready, Open MPI v4.1.6";
  all[0].condition.collectives[1] = "nccl: NCCL 2.28.3 is installed, but there is no NVIDIA driver";
  EXPECT_THAT(check_nodes(all), IsEmpty());
  all[0].condition.collectives[0] = "mpi: ready, Open MPI v5.0.3";
  all[2].condition.collectives[1] = "nccl: ready, NCCL 2.19.3";
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings), ElementsAre("mpi-version 0", "nccl-version 2"));
  EXPECT_EQ(findings[0].text, "library Open MPI v5.0, the other 2 have Open MPI v4.1");
  // Two nodes have no majority; "nccl" alone is a note on what was not measured.
  all.erase(all.begin());
  const auto of_two = check_nodes(all);
  EXPECT_THAT(bad(of_two), IsEmpty());
  ASSERT_THAT(of_two, SizeIs(1));
  EXPECT_EQ(of_two[0].code, "nccl-version");
  EXPECT_EQ(of_two[0].text, "library differs: NCCL 2.19 (gpu03), NCCL 2.28 (gpu02)");
  all = nodes(3);
  // A missing library has a finding of its own.
  all[0].condition.collectives = {"mpi: libmpi.so.40 is not on this node"};
  all[2].condition.collectives.clear();
  EXPECT_THAT(check_nodes(all), IsEmpty());
}

TEST(NodeChecks, HalfOfTheOthersIsNotAMajority) {
  auto all = nodes(3);
  for (const std::size_t i : {0U, 1U})
    all[i].facts.fabric.rdma[1].ports[0].state = RdmaPort::State::down;
  EXPECT_THAT(check_nodes(all), IsEmpty());
}

TEST(NodeChecks, ACardThatIsGone) {
  auto all = nodes(5);
  all[1].facts.fabric.rdma.pop_back();
  all[2].facts.fabric.rdma.clear();
  all[2].facts.limits.locked_memory = 65536;  // not needed there
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings), ElementsAre("rdma-ports 1", "rdma-ports 2"));
  EXPECT_EQ(findings[1].text, "InfiniBand and RoCE ports: 0, the other 3 have 2");
}

TEST(NodeChecks, AFewPerCentOfMemoryAreNotADifference) {
  auto all = nodes(3);
  all[0].facts.memory_bytes = std::uint64_t{498} << 30U;  // 2.7 % less
  EXPECT_THAT(check_nodes(all), IsEmpty());
  all[0].facts.memory_bytes = std::uint64_t{496} << 30U;
  EXPECT_THAT(bad(check_nodes(all)), ElementsAre("memory 0"));
}

TEST(NodeChecks, AHighLimitOfLockedMemoryIsEnough) {
  auto all = nodes(3);
  all[0].facts.limits.locked_memory = std::uint64_t{64} << 30U;
  EXPECT_THAT(check_nodes(all), IsEmpty());
  all[0].facts.limits.locked_memory = std::uint64_t{63} << 30U;
  EXPECT_THAT(bad(check_nodes(all)), ElementsAre("memlock 0"));
}

TEST(NodeChecks, LimitsOfASingleNode) {
  auto all = nodes(3);
  all[0].facts.limits.locked_memory = 65536;
  all[0].condition.shm_bytes = std::uint64_t{64} << 20U;
  all[1].clock_offset_ns = -3'000'000'000;
  all[1].condition.disks[0].free_bytes = 1000;
  all[2].condition.gpu_findings = {"GPU 3: a row waits for a reset"};
  all[2].condition.gpu_processes = {"GPU 0: pid 7 (python) holds 10 MiB of GPU memory"};
  const auto findings = check_nodes(all);
  EXPECT_THAT(bad(findings),
              ElementsAre("memlock 0", "shm 0", "clock 1", "disk 1", "gpu-health 2", "gpu-busy 2"));
}

TEST(NodeChecks, FilesThatAreSlowToReadAreNotedOnce) {
  auto all = nodes(4);
  for (auto& node : all) {
    node.condition.code = {{"/job", "ext4 at /", 300, 15'000'000}};
    node.condition.local = {"/tmp", "ext4 at /", 100, 10'000'000};
  }
  EXPECT_THAT(check_nodes(all), IsEmpty());
  all[1].condition.code = {{"/job", "nfs4 at /job (srv:/job)", 300, 600'000'000}};
  all[2].condition.code = {{"/job", "nfs4 at /job (srv:/job)", 200, 1'260'000'000}};
  all[3].condition.code = {
      {"/job", "nfs4 at /job (srv:/job)", 19, 1'000'000'000}};  // too few to tell
  const auto findings = check_nodes(all);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].severity, Severity::note);
  EXPECT_EQ(findings[0].nodes, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(findings[0].code, "slow-files");
  EXPECT_EQ(
      findings[0].text,
      "files in /job take 6.3 ms each to find and read, from nfs4 at /job (srv:/job); slow on 1 "
      "other node too: the roughly 2000 files that `import torch` reads take about 12.6 s "
      "here, 200.0 ms from /tmp");
}

TEST(NodeChecks, FilesOfALocalDiskMayTakeLongerThanThoseOfANetwork) {
  auto all = nodes(3);
  all[0].condition.code = {{"/job", "ext4 at / (/dev/sda1)", 100, 499'000'000}};
  all[1].condition.code = {{"/job", "", 100, 499'000'000}};  // unknown
  all[2].condition.code = {{"/job", "nfs4 at /job (srv:/job)", 100, 49'000'000}};
  EXPECT_THAT(check_nodes(all), IsEmpty());
  for (auto& node : all) node.condition.code[0].took_ns += 1'000'000;
  const auto findings = check_nodes(all);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, HasSubstr("slow on 2 other nodes too"));
}

/// What to do about a slow folder of the only node.
std::string remedy_of_slow(const std::string& folder, const std::string& file_system,
                           const std::string& workdir) {
  auto all = nodes(1);
  all[0].condition.disks.push_back({workdir, std::uint64_t{100} << 30U, 0, false, ""});
  all[0].condition.code = {{folder, file_system, 200, 1'260'000'000}};
  const auto findings = check_nodes(all);
  return findings.size() == 1 ? findings[0].remedy : "";
}

TEST(NodeChecks, AnEnvironmentThatIsSlowToReadIsToBeCopiedWholeToALocalDisk) {
  for (const std::string environment : {"/nfs/venv", "/nfs/of: \"eve\", 1/venv"}) {
    const std::string advice =
        remedy_of_slow(environment + "/lib", "nfs4 at /nfs (srv:/nfs)", environment);
    EXPECT_THAT(advice, HasSubstr("start /local/venv/bin/python"));
    const std::size_t begin = advice.find("sync: ");
    const std::size_t end = advice.find("}]})");
    ASSERT_TRUE(begin < end && end != std::string::npos) << advice;
    const auto job = read_text("command: x\n" + advice.substr(begin, end + 3 - begin) + "\n");
    ASSERT_TRUE(job) << job.error().message;
    ASSERT_THAT(job->sync.paths, SizeIs(1));
    EXPECT_EQ(job->sync.paths[0].from, environment);
    EXPECT_EQ(job->sync.paths[0].to, "/local/venv");
  }
}

TEST(NodeChecks, AWorkdirThatIsSlowToReadBelongsOnALocalDisk) {
  const std::string advice = remedy_of_slow("/nfs/lib", "nfs4 at /nfs (srv:/nfs)", "/nfs/lib");
  EXPECT_THAT(advice, HasSubstr("a folder on a local disk, with sync: true"));
  EXPECT_EQ(advice.find("/nfs"), std::string::npos) << "a sync to the same path changes nothing";
  EXPECT_EQ(remedy_of_slow("/job", "ext4 at /", "/job"),
            "import once per node (preload: [MODULE])");
}

TEST(NodeChecks, LimitsOfMissingHardwareDoNotMatter) {
  auto all = nodes(3, 0);
  for (auto& node : all) {
    node.facts.fabric.rdma.clear();
    node.facts.limits.locked_memory = 65536;
    node.condition.shm_bytes = 0;
  }
  EXPECT_THAT(check_nodes(all), IsEmpty());
}

TEST(NodeChecks, ANodeThatDoesNotAnswerHasOneFinding) {
  auto all = nodes(3);
  all[1] = CheckedNode{};
  all[1].name = "gpu02";
  all[1].failure = "Permission denied (publickey).\nmore";
  const auto findings = check_nodes(all);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].code, "connect");
  EXPECT_EQ(findings[0].text, "Permission denied (publickey).");
}

TEST(NodeChecks, AnUncertainClockIsNotBad) {
  auto all = nodes(3);
  all[0].clock_offset_ns = 3'000'000'000;
  all[0].clock_error_ns = 2'500'000'000;
  EXPECT_THAT(check_nodes(all), IsEmpty());
}

TEST(LinkRate, NcclUsesAllRdmaPortsAndMpiOne) {
  const NodeFacts facts = fine("a").facts;
  EXPECT_EQ(link_rate(facts, "", true).gbs, 100);
  // One rank that adds on the host cannot saturate a port of 400 Gb/s.
  const LinkRate by_host = link_rate(facts, "", false);
  EXPECT_EQ(by_host.gbs * by_host.share, 2);
}

TEST(LinkRate, NcclUsesNoMorePortsThanGpus) {
  EXPECT_EQ(link_rate(fine("a", 1).facts, "", true).gbs, 50);
}

TEST(LinkRate, AVirtualInterfaceIsUnknown) {
  NodeFacts facts;
  facts.interfaces.resize(2);
  facts.interfaces[0].name = "eth0";
  facts.interfaces[0].kind = NetworkInterface::Kind::veth;
  facts.interfaces[0].speed_mbit = 10000;
  facts.interfaces[1].name = "eth1";
  facts.interfaces[1].kind = NetworkInterface::Kind::physical;
  facts.interfaces[1].speed_mbit = 1000;
  EXPECT_EQ(link_rate(facts, "eth0", false), LinkRate{});
  EXPECT_EQ(link_rate(facts, "eth1", false).gbs, 0.125);
  EXPECT_EQ(expected_busbw({link_rate(facts, "eth0", false), link_rate(facts, "eth1", false)}), 0);
  EXPECT_EQ(expected_busbw({}), 0);
}

// ---- preflight

CheckReport report_of(std::size_t count, const std::vector<std::vector<std::uint32_t>>& faults) {
  CheckReport report;
  report.nodes = nodes(count);
  for (const auto& whose : faults)
    report.findings.push_back({Severity::bad, whose, "slow", "it is slow", ""});
  return report;
}

JobSpec job(int min, int max, int spares) {
  JobSpec spec = test::list_job();
  spec.nodes = NodeRange{min, max};
  spec.spares = spares;
  return spec;
}

TEST(ChooseNodes, NodesWanted) {
  EXPECT_EQ(nodes_wanted(job(2, 2, 1), 5), (NodesWanted{2, 2, 3}));
  EXPECT_EQ(nodes_wanted(job(2, 4, 0), 3), (NodesWanted{2, 3, 3}));
  EXPECT_EQ(nodes_wanted(job(2, 4, 1), 8), (NodesWanted{2, 4, 5}));
  JobSpec all = test::list_job();
  all.spares = 1;
  EXPECT_EQ(nodes_wanted(all, 4), (NodesWanted{3, 3, 4}));
  JobSpec two = job(1, 4, 0);
  two.processes = 2;
  EXPECT_EQ(nodes_wanted(two, 1), (NodesWanted{1, 1, 1}));
  EXPECT_EQ(nodes_wanted(two, 4), (NodesWanted{1, 2, 2})) << "a node without a process";
}

TEST(ChooseNodes, ASpareReplacesABadNode) {
  const auto choice = choose_nodes({2, 2, 3}, report_of(3, {{0}}));
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->nodes, ElementsAre(1, 2));
  EXPECT_THAT(choice->notes, ElementsAre("preflight: gpu01: it is slow; replaced by gpu03"));
}

TEST(ChooseNodes, AGoodClusterUsesNoSpare) {
  const auto choice = choose_nodes({2, 2, 3}, report_of(3, {{2}}));
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->nodes, ElementsAre(0, 1));
  EXPECT_THAT(choice->notes, IsEmpty());
}

TEST(ChooseNodes, AJobMayShrinkToItsMinimum) {
  const auto choice = choose_nodes({2, 3, 3}, report_of(3, {{1}}));
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->nodes, ElementsAre(0, 2));
  EXPECT_THAT(choice->notes, ElementsAre("preflight: gpu02: it is slow; left out",
                                         "preflight: the job runs on 2 nodes of at most 3"));
  const auto too_few = choose_nodes({3, 3, 3}, report_of(3, {{1}}));
  ASSERT_FALSE(too_few);
  EXPECT_EQ(too_few.error().exit_code, exit_code::kPreflight);
}

TEST(ChooseNodes, NeverBothEndsOfASlowLink) {
  const auto choice = choose_nodes({2, 2, 3}, report_of(3, {{0, 1}}));
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->nodes, ElementsAre(0, 2));
  EXPECT_FALSE(choose_nodes({2, 2, 2}, report_of(2, {{0, 1}})));
}

TEST(ChooseNodes, AFaultOfAllNodesIsAnError) {
  EXPECT_FALSE(choose_nodes({1, 2, 2}, report_of(2, {{}})));
}

TEST(UnmeasuredNotes, NameWhatWasNotMeasured) {
  CheckReport report = report_of(2, {{0}});
  report.findings.push_back({Severity::note, {1}, "undecided", "it was slow at first", ""});
  EXPECT_THAT(unmeasured_notes(report), IsEmpty());
  report.not_measured = "gpu01: no MPI";
  report.findings.push_back({Severity::note, {}, "nccl", "NCCL was not measured: gpu01: why", ""});
  report.findings.push_back({Severity::note, {}, "nccl", "NCCL was not measured: gpu02: so", "it"});
  EXPECT_THAT(unmeasured_notes(report),
              ElementsAre("preflight: not measured: gpu01: no MPI",
                          "preflight: NCCL was not measured: gpu01: why",
                          "preflight: NCCL was not measured: gpu02: so; try: it"));
}

}  // namespace
}  // namespace dlaunch
