#include "plan/candidates.h"

#include <gmock/gmock.h>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using Kind = NetworkInterface::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

NetworkInterface nic(const std::string& name, const std::string& address_and_prefix,
                     std::uint32_t speed = 0, Kind kind = Kind::physical) {
  const std::size_t slash = address_and_prefix.find('/');
  NetworkInterface interface;
  interface.name = name;
  interface.kind = kind;
  interface.is_up = true;
  interface.speed_mbit = speed;
  interface.addresses = {
      {address_and_prefix.substr(0, slash), std::stoi(address_and_prefix.substr(slash + 1))}};
  return interface;
}

NetworkInterface loopback() {
  return nic("lo", "127.0.0.1/8", 0, Kind::loopback);
}
NetworkInterface docker() {
  return nic("docker0", "172.17.0.1/16", 10000, Kind::bridge);
}

/// gpu01, gpu02, ... with these interfaces.
Cluster nodes_with(const std::vector<std::vector<NetworkInterface>>& interfaces) {
  Cluster cluster;
  for (const auto& of_node : interfaces) {
    Node node = test::fake_node("gpu0" + std::to_string(cluster.nodes.size() + 1), {});
    node.address = "";
    node.facts.interfaces = of_node;
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

/// "ADDRESS: reason" of each candidate; the error's text if there are none.
std::vector<std::string> found(const Cluster& cluster, const RendezvousSpec& spec = {}) {
  const auto candidates = rendezvous_candidates(spec, cluster);
  if (!candidates) return {candidates.error().message};
  std::vector<std::string> lines;
  for (const Candidate& candidate : *candidates)
    lines.push_back(candidate.address + ": " + candidate.reason);
  return lines;
}

RendezvousSpec on_interface(const std::string& text) {
  RendezvousSpec spec;
  spec.interface = text;
  return spec;
}

TEST(Candidates, TheOnlySubnet) {
  EXPECT_THAT(found(nodes_with({{loopback(), nic("eth0", "10.0.0.4/24"), docker()},
                                {loopback(), nic("eth0", "10.0.0.5/24"), docker()}})),
              ElementsAre("10.0.0.4: eth0, the only subnet that both nodes share"));
}

TEST(Candidates, TwoNamesOfOneMachine) {
  const std::vector<NetworkInterface> all = {loopback(), nic("eth0", "10.0.0.4/24"), docker()};
  EXPECT_THAT(found(nodes_with({all, all})),
              ElementsAre("127.0.0.1: all nodes are the same machine",
                          "10.0.0.4: eth0, the only subnet that both nodes share"));
  EXPECT_THAT(found(nodes_with({{loopback()}, {loopback()}})),
              ElementsAre("127.0.0.1: all nodes are the same machine"));
  // A third one that is another machine: it cannot reach loopback.
  EXPECT_THAT(found(nodes_with({all, all, {loopback(), nic("eth0", "10.0.0.5/24"), docker()}})),
              ElementsAre("10.0.0.4: eth0, the only subnet that all 3 nodes share"));
}

TEST(Candidates, TheFastestSubnetWithOtherNames) {
  const Cluster cluster = nodes_with(
      {{nic("eno1", "192.168.0.4/24", 1000), nic("ib0", "10.9.0.4/16", 400000, Kind::infiniband)},
       {nic("ib1", "10.9.0.5/16", 200000, Kind::infiniband), nic("eth7", "192.168.0.5/24", 1000)}});
  EXPECT_THAT(found(cluster), ElementsAre("10.9.0.4: ib0, the fastest subnet that both nodes share",
                                          "192.168.0.4: eno1, a subnet that both nodes share"));
  const auto candidates = rendezvous_candidates({}, cluster);
  EXPECT_THAT(candidates->front().routes,
              ElementsAre(NodeRoute{"ib0", "10.9.0.4"}, NodeRoute{"ib1", "10.9.0.5"}));
}

TEST(Candidates, ASubnetIsAsFastAsItsSlowestLink) {
  EXPECT_THAT(
      found(nodes_with({{nic("a", "10.1.0.4/24", 100000), nic("b", "10.2.0.4/24", 25000)},
                        {nic("a", "10.1.0.5/24", 10000), nic("b", "10.2.0.5/24", 25000)},
                        {nic("a", "10.1.0.6/24", 100000), nic("b", "10.2.0.6/24", 25000)}})),
      ElementsAre("10.2.0.4: b, the fastest subnet that all 3 nodes share",
                  "10.1.0.4: a, a subnet that all 3 nodes share"));
}

TEST(Candidates, UnknownSpeedsComeLastInTheKernelsOrder) {
  EXPECT_THAT(found(nodes_with({{nic("a", "10.1.0.4/24"), nic("b", "10.2.0.4/24"),
                                 nic("c", "10.3.0.4/24", 1000)},
                                {nic("a", "10.1.0.5/24", 100000), nic("b", "10.2.0.5/24"),
                                 nic("c", "10.3.0.5/24", 1000)}})),
              ElementsAre("10.3.0.4: c, the fastest subnet that both nodes share",
                          "10.1.0.4: a, a subnet that both nodes share",
                          "10.2.0.4: b, a subnet that both nodes share"));
}

TEST(Candidates, SharedByAllBeforeSharedBySome) {
  EXPECT_THAT(found(nodes_with({{nic("a", "10.1.0.4/24", 100000), nic("b", "10.2.0.4/24", 1000)},
                                {nic("a", "10.1.0.5/24", 100000), nic("b", "10.2.0.5/24", 1000)},
                                {nic("b", "10.2.0.6/24", 1000)}})),
              ElementsAre("10.2.0.4: b, the only subnet that all 3 nodes share",
                          "10.1.0.4: a, over a router"));
}

TEST(Candidates, RoutedNetworksBySpeed) {
  // Google's machines have /32 addresses; all networks between them are routed.
  EXPECT_THAT(found(nodes_with(
                  {{nic("ens4", "10.128.0.2/32", 10000), nic("ens5", "10.5.0.2/32", 200000)},
                   {nic("ens4", "10.128.0.3/32", 10000), nic("ens5", "10.5.0.3/32", 200000)}})),
              ElementsAre("10.5.0.2: ens5, over a router", "10.128.0.2: ens4, over a router"));
}

TEST(Candidates, NeverWhatIsInternalToAHost) {
  NetworkInterface down = nic("eth9", "10.9.0.4/24", 400000);
  down.is_up = false;
  for (const char* name :
       {"docker0", "virbr0", "br-0123456789ab", "cni0", "flannel.1", "podman0"}) {
    EXPECT_THAT(
        found(nodes_with(
            {{nic(name, "10.7.0.1/24", 10000, Kind::bridge), down, nic("eth0", "10.0.0.4/24")},
             {nic(name, "10.7.0.2/24", 10000, Kind::bridge), down, nic("eth0", "10.0.0.5/24")}})),
        ElementsAre("10.0.0.4: eth0, the only subnet that both nodes share"))
        << name;
  }
  EXPECT_FALSE(is_host_internal("br-lan"));
  EXPECT_FALSE(is_host_internal("br0"));
}

TEST(Candidates, AnAddressThatAnotherNodeHasTooIsNone) {
  EXPECT_THAT(
      found(nodes_with(
          {{nic("mybridge", "192.168.50.1/24", 0, Kind::bridge), nic("eth0", "10.0.0.4/24")},
           {nic("eth0", "10.0.0.5/24")},
           {nic("mybridge", "192.168.50.1/24", 0, Kind::bridge), nic("eth0", "10.0.0.6/24")}})),
      ElementsAre("10.0.0.4: eth0, the only subnet that all 3 nodes share"));
}

TEST(Candidates, ABridgeWithACardIsAsGoodAsTheCard) {
  NetworkInterface card = nic("eno1", "0.0.0.0/0", 25000);
  card.addresses.clear();
  card.master = "br0";
  EXPECT_THAT(
      found(nodes_with({{nic("br0", "10.0.0.4/24", 25000, Kind::bridge), card,
                         nic("br1", "10.1.0.4/24", 100000, Kind::bridge)},
                        {nic("eth0", "10.0.0.5/24", 25000), nic("eth1", "10.1.0.5/24", 100000)}})),
      ElementsAre("10.0.0.4: br0, a subnet that both nodes share",
                  "10.1.0.4: br1, a subnet that both nodes share"));
}

TEST(Candidates, TunnelsAndLinkLocalAreTheLastResort) {
  EXPECT_THAT(
      found(nodes_with({{nic("eth1", "169.254.3.4/16", 100000),
                         nic("wg0", "10.7.0.1/24", 0, Kind::tunnel), nic("eth0", "10.0.0.4/24")},
                        {nic("eth1", "169.254.3.5/16", 100000),
                         nic("wg0", "10.7.0.2/24", 0, Kind::tunnel), nic("eth0", "10.5.0.4/24")}})),
      ElementsAre("10.0.0.4: eth0, over a router", "10.7.0.1: wg0, a subnet that both nodes share",
                  "169.254.3.4: eth1, a subnet that both nodes share"));
}

TEST(Candidates, Ipv6AfterIpv4OfTheSameLinkAndAlone) {
  NetworkInterface first = nic("eth0", "fd00::4/64", 1000);
  NetworkInterface second = nic("eth0", "fd00::5/64", 1000);
  EXPECT_THAT(found(nodes_with({{first}, {second}})),
              ElementsAre("fd00::4: eth0, the only subnet that both nodes share"));
  first.addresses.push_back({"10.0.0.4", 24});
  second.addresses.push_back({"10.0.0.5", 24});
  EXPECT_THAT(found(nodes_with({{first}, {second}})),
              ElementsAre("10.0.0.4: eth0, the only subnet that both nodes share",
                          "fd00::4: eth0, the only subnet that both nodes share"));
}

TEST(Candidates, TheChosenAddressIsTheOnlyOne) {
  const Cluster cluster = nodes_with({{nic("eth0", "10.0.0.4/24"), nic("eth1", "10.1.0.4/24")},
                                      {nic("eth0", "10.0.0.5/24"), nic("eth1", "10.1.0.5/24")}});
  RendezvousSpec spec;
  spec.address = "10.1.0.4";
  auto candidates = rendezvous_candidates(spec, cluster);
  ASSERT_TRUE(candidates && candidates->size() == 1);
  EXPECT_TRUE(candidates->front().is_own);
  EXPECT_EQ(candidates->front().routes[1], (NodeRoute{"eth1", "10.1.0.5"}));
  spec.address = "203.0.113.9";  // translated on the way
  candidates = rendezvous_candidates(spec, cluster);
  ASSERT_TRUE(candidates && candidates->size() == 1);
  EXPECT_FALSE(candidates->front().is_own);
  EXPECT_TRUE(candidates->front().is_ip);
  EXPECT_EQ(candidates->front().routes, std::vector<NodeRoute>(2));
  spec.address = "head.cluster";
  candidates = rendezvous_candidates(spec, cluster);
  ASSERT_TRUE(candidates && candidates->size() == 1);
  EXPECT_FALSE(candidates->front().is_ip);
  EXPECT_EQ(candidates->front().address, "head.cluster");
}

TEST(Candidates, TheAddressInHostsIsTheFirst) {
  Cluster cluster =
      nodes_with({{nic("eth0", "10.0.0.4/24", 100000), nic("eth1", "10.1.0.4/24", 1000)},
                  {nic("eth0", "10.0.0.5/24", 100000), nic("eth1", "10.1.0.5/24", 1000)}});
  cluster.nodes[0].address = "10.1.0.4";
  EXPECT_THAT(found(cluster),
              ElementsAre("10.1.0.4: address of gpu01 in hosts",
                          "10.0.0.4: eth0, the fastest subnet that both nodes share"));
  // Loopback and the name under which the node was reached are not addresses chosen by the user.
  for (const char* address : {"127.0.0.1", "gpu01", "login.cluster", ""}) {
    cluster.nodes[0].address = address;
    EXPECT_EQ(found(cluster).size(), 2U) << address;
    EXPECT_THAT(found(cluster).front(), HasSubstr("10.0.0.4")) << address;
  }
}

TEST(Candidates, ANameThatIsAnAddressBehindATranslationIsTheLast) {
  Cluster cluster = nodes_with({{nic("eth0", "10.0.0.4/24")}, {nic("eth0", "10.5.0.4/24")}});
  cluster.nodes[0].name = cluster.nodes[0].address = "203.0.113.9";
  EXPECT_THAT(found(cluster),
              ElementsAre("10.0.0.4: eth0, over a router", "203.0.113.9: name of the first node"));
}

TEST(Candidates, TheChosenInterfaces) {
  const Cluster cluster =
      nodes_with({{nic("eth0", "10.0.0.4/24", 100000), nic("eth1", "10.1.0.4/24"), docker()},
                  {nic("ens3", "10.0.0.5/24", 100000), nic("ens4", "10.1.0.5/24")}});
  const auto only = ElementsAre("10.1.0.4: eth1, the only subnet that both nodes share");
  EXPECT_THAT(found(cluster, on_interface("eth1,ens4")), only);
  EXPECT_THAT(found(cluster, on_interface("eth1, ens*")), only);
  EXPECT_THAT(found(cluster, on_interface("10.1.0.0/16")), only);
  EXPECT_THAT(found(cluster, on_interface("^eth0,docker0")), only);
  EXPECT_THAT(found(cluster, on_interface("^10.0.0.0/24,docker*")), only);
  EXPECT_THAT(
      found(cluster, on_interface("eth1")),
      ElementsAre("rendezvous.interface: eth1 matches no interface that is up on gpu02, which has "
                  "ens3 (10.0.0.5), ens4 (10.1.0.5)"));
}

TEST(Candidates, NothingButLoopbackAndDocker) {
  EXPECT_THAT(found(nodes_with(
                  {{loopback(), docker()}, {loopback(), nic("eth0", "10.0.0.5/24"), docker()}})),
              ElementsAre("gpu01 has no address that other nodes could reach: it has docker0 "
                          "(172.17.0.1)\n         try: --set rendezvous.address=ADDRESS"));
}

TEST(Candidates, WhatAnAgentSaysThatIsNoAddressIsIgnored) {
  EXPECT_THAT(found(nodes_with({{nic("x", "10.0.0.4; rm -rf/24"), nic("y", "224.0.0.1/24"),
                                 nic("z", "127.8.0.1/24"), nic("eth0", "10.0.0.4/24")},
                                {nic("eth0", "10.0.0.5/24")}})),
              ElementsAre("10.0.0.4: eth0, the only subnet that both nodes share"));
}

TEST(Candidates, NotMoreThanEight) {
  std::vector<NetworkInterface> many;
  std::vector<NetworkInterface> others;
  for (int i = 0; i < 20; ++i) {
    many.push_back(nic("e" + std::to_string(i), "10.0." + std::to_string(i) + ".4/24"));
    others.push_back(nic("e" + std::to_string(i), "10.0." + std::to_string(i) + ".5/24"));
  }
  EXPECT_EQ(found(nodes_with({many, others})).size(), kMostCandidates);
}

// ---- the resulting plan

TEST(Meeting, NamesOfInterfacesAreSetForEachNodeByItself) {
  const Cluster cluster = nodes_with({{nic("eth0", "10.0.0.4/24")}, {nic("ens3", "10.0.0.5/24")}});
  const auto plan = make_plan(test::list_job(), cluster, test::fake_context());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->master.address, "10.0.0.4");
  EXPECT_EQ(plan->master.reason, "eth0, the only subnet that both nodes share");
  const Environment first = test::environment_of(*plan, 0);
  const Environment second = test::environment_of(*plan, 1);
  EXPECT_EQ(first.at("NCCL_SOCKET_IFNAME"), "=eth0");  // NCCL: '=' for the whole name
  EXPECT_EQ(second.at("NCCL_SOCKET_IFNAME"), "=ens3");
  EXPECT_EQ(first.at("GLOO_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(second.at("GLOO_SOCKET_IFNAME"), "ens3");
  EXPECT_EQ(second.at("TP_SOCKET_IFNAME"), "ens3");
}

TEST(Meeting, WhatWasTriedWins) {
  Cluster cluster = nodes_with({{nic("eth0", "10.0.0.4/24")}, {nic("ens3", "10.0.0.5/24")}});
  cluster.meeting = Meeting{"10.7.0.1", "wg0, because", {{"wg0", "10.7.0.1"}, {"wg1", "10.7.0.2"}}};
  const auto plan = make_plan(test::list_job(), cluster, test::fake_context());
  ASSERT_TRUE(plan);
  EXPECT_EQ(test::environment_of(*plan, 1).at("MASTER_ADDR"), "10.7.0.1");
  EXPECT_EQ(test::environment_of(*plan, 1).at("GLOO_SOCKET_IFNAME"), "wg1");
  EXPECT_EQ(plan->nodes[1].address, "10.7.0.2");
}

TEST(Meeting, WhatUserOrNodeHaveSetIsLeft) {
  Cluster cluster = nodes_with({{nic("eth0", "10.0.0.4/24")}, {nic("eth0", "10.0.0.5/24")}});
  cluster.nodes[1].facts.environment = {{"GLOO_SOCKET_IFNAME", "ib7"}};
  JobSpec spec = test::list_job();
  spec.env = {{"NCCL_SOCKET_IFNAME", "eth"}};
  const auto plan = make_plan(spec, cluster, test::fake_context());
  ASSERT_TRUE(plan);
  for (const std::uint32_t rank : {0U, 1U})
    EXPECT_EQ(test::environment_of(*plan, rank).at("NCCL_SOCKET_IFNAME"), "eth");
  EXPECT_EQ(test::environment_of(*plan, 0).at("GLOO_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(test::environment_of(*plan, 1).at("GLOO_SOCKET_IFNAME"), "ib7");
  EXPECT_THAT(kept_variables(spec),
              testing::IsSupersetOf({"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",
                                     "OMP_NUM_THREADS"}));
}

TEST(Meeting, NothingOfItOnOneNodeOrWithoutAFramework) {
  const Cluster one = nodes_with({{nic("eth0", "10.0.0.4/24")}});
  const auto plan = make_plan(test::list_job(), one, test::fake_context());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->master.address, "127.0.0.1");
  EXPECT_FALSE(test::environment_of(*plan, 0).contains("NCCL_SOCKET_IFNAME"));
  const Cluster two = nodes_with({{loopback()}, {loopback()}});
  JobSpec spec = test::list_job();
  spec.framework = Framework::none;
  const auto without = make_plan(spec, two, test::fake_context());
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(nodes_to_meet(spec, two, test::fake_context()), Cluster{});
  spec.framework = Framework::pytorch;
  EXPECT_EQ(nodes_to_meet(spec, two, test::fake_context()), two);
  EXPECT_EQ(nodes_to_meet(spec, one, test::fake_context()), Cluster{});
  spec.nodes = NodeRange{1, 1};
  EXPECT_EQ(nodes_to_meet(spec, two, test::fake_context()), Cluster{});
}

TEST(Meeting, EveryTaskHasItsNodesAddressInTheChosenSubnet) {
  const Cluster cluster =
      nodes_with({{nic("eth0", "192.168.0.4/24", 1000), nic("ib0", "fd00::4/64", 200000)},
                  {nic("eth0", "192.168.0.5/24", 1000), nic("ib1", "fd00::5/64", 200000)}});
  JobSpec spec = test::list_job();
  spec.framework = Framework::tensorflow;
  const auto plan = make_plan(spec, cluster, test::fake_context());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(test::environment_of(*plan, 1).at("TF_CONFIG"),
              HasSubstr(R"({"worker":["[fd00::4]:21000","[fd00::5]:21000"]})"));
}

TEST(Meeting, AnIpv6MasterHasNoBrackets) {
  const auto plan = make_plan(test::list_job(),
                              nodes_with({{nic("ib0", "fd00::4/64")}, {nic("ib0", "fd00::5/64")}}),
                              test::fake_context());
  ASSERT_TRUE(plan);
  EXPECT_EQ(test::environment_of(*plan, 1).at("MASTER_ADDR"), "fd00::4");
}

}  // namespace
}  // namespace dlaunch
