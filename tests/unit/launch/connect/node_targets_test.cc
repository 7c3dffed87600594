#include "launch/connect/node_targets.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

OwnMachine own() {
  return {"gpu01.cluster.example", {"127.0.0.1", "10.0.0.1", "::1", "fd00::1"}, "me"};
}

JobSpec job(const std::vector<std::string>& hosts) {
  JobSpec spec;
  for (const std::string& name : hosts) {
    spec.hosts.hosts.emplace_back();
    spec.hosts.hosts.back().name = name;
  }
  return spec;
}

/// "local ssh": the connector of each; or the error.
std::string ways(const JobSpec& spec) {
  const auto targets = node_targets(spec, own());
  if (!targets) return targets.error().message;
  std::string text;
  for (const NodeTarget& target : *targets)
    text += (text.empty() ? "" : " ") + std::string(target.connector->name);
  return text;
}

TEST(NodeTargets, WithoutHostsThisMachine) {
  const auto targets = node_targets(job({}), own());
  ASSERT_EQ(targets->size(), 1U);
  EXPECT_EQ(targets->front().host.name, "gpu01.cluster.example");
  EXPECT_TRUE(targets->front().is_local());
}

TEST(NodeTargets, ThisMachineIsRecognisedWhereverItStands) {
  EXPECT_EQ(ways(job({"gpu02", "gpu01.cluster.example", "gpu03"})), "ssh local ssh");
  for (const char* name : {"gpu01", "GPU01", "localhost", "127.0.0.1", "127.0.1.1", "::1",
                           "10.0.0.1", "fd00::1", "fd00:0:0::1"}) {
    EXPECT_EQ(ways(job({"gpu02", name})), "ssh local") << name;
  }
}

TEST(NodeTargets, OthersAreNot) {
  for (const char* name :
       {"gpu011", "gpu0", "gpu01.other.example", "10.0.0.10", "10.0.0.1.example", "fd00::2"})
    EXPECT_EQ(ways(job({name})), "ssh") << name;
}

TEST(NodeTargets, AnAddressOfThisMachineTellsTooWhateverTheName) {
  JobSpec spec = job({"first", "second"});
  spec.hosts.hosts[0].address = "10.0.0.1";
  spec.hosts.hosts[1].address = "10.0.0.2";
  EXPECT_EQ(ways(spec), "local ssh");
}

TEST(NodeTargets, AnotherPortOrUserIsAnotherServer) {
  JobSpec spec = job({"localhost"});
  spec.hosts.hosts[0].port = 2222;
  EXPECT_EQ(ways(spec), "ssh");
  spec.hosts.hosts[0].port = 22;
  EXPECT_EQ(ways(spec), "local");
  spec.connect.user = "me";
  EXPECT_EQ(ways(spec), "local");
  spec.connect.user = "another";
  EXPECT_EQ(ways(spec), "ssh");
}

TEST(NodeTargets, PortAndUserOfTheJobGoWhereTheHostHasNone) {
  JobSpec spec = job({"a", "b"});
  spec.connect.user = "all";
  spec.connect.port = 2222;
  spec.hosts.hosts[1].user = "own";
  spec.hosts.hosts[1].port = 23;
  const auto targets = node_targets(spec, own());
  EXPECT_EQ((*targets)[0].host.user, "all");
  EXPECT_EQ((*targets)[0].host.port, 2222);
  EXPECT_EQ((*targets)[1].host.user, "own");
  EXPECT_EQ((*targets)[1].host.port, 23);
}

TEST(NodeTargets, ViaSaysItForAll) {
  JobSpec spec = job({"gpu01", "gpu02", "localhost"});
  spec.connect.via = Connect::Via::local;
  EXPECT_EQ(ways(spec), "local local local");
  spec.connect.via = Connect::Via::ssh;
  EXPECT_EQ(ways(spec), "ssh ssh ssh");
  spec.connect.via = Connect::Via::command;
  EXPECT_EQ(ways(spec), "connect.via: command needs connect.command");
  spec.connect.via = Connect::Via::slurm;
  EXPECT_EQ(ways(spec), "slurm slurm slurm");
}

TEST(NodeTargets, ThisMachineTwiceIsAnError) {
  EXPECT_EQ(ways(job({"gpu01", "gpu02", "localhost"})),
            "the hosts \"gpu01\" and \"localhost\" are both this machine; name it once");
}

TEST(NodeTargets, NotMoreThanTheJobCanUse) {
  JobSpec spec = job({"a", "b", "c", "d"});
  spec.nodes = NodeRange{1, 2};
  EXPECT_EQ(ways(spec), "ssh ssh");
  spec.spares = 1;
  EXPECT_EQ(ways(spec), "ssh ssh ssh");
  spec.nodes = NodeRange{9, 9};
  EXPECT_EQ(node_targets(spec, own())->size(), 4U);
}

TEST(NodeTargets, NamesThatCouldBeReadAsSomethingElseAreRefused) {
  for (const char* name :
       {"-oProxyCommand=x", "a b", "a;b", "$(id)", "a\nb", "`id`", "a'b", "a\\b", "{command}"})
    EXPECT_NE(ways(job({name})).find("is not a valid host name"), std::string::npos) << name;
  JobSpec spec = job({"a"});
  spec.hosts.hosts[0].user = "-x";
  EXPECT_EQ(ways(spec), "\"-x\" is not a valid user name");
  for (const char* name : {"gpu_12", "10.0.0.1", "fe80::1%eth0", "h\xc3\xb6st"})
    EXPECT_TRUE(node_targets(job({name}), own())) << name;
}

}  // namespace
}  // namespace dlaunch
