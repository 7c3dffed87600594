#include "report/plan_json.h"

#include <gmock/gmock.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(PlanJson, HoldsTheWholePlan) {
  JobSpec spec = test::list_job({"python", "train \"quoted\".py"});
  spec.env = {{"B", "line\nbreak\t\x01"}};
  const auto plan =
      make_plan(spec, test::fake_cluster({{.gpus = 3}, {.gpus = 2}}), test::fake_context());
  ASSERT_TRUE(plan.has_value());
  const json parsed = json::parse(plan_json(*plan));
  EXPECT_EQ(parsed["format"], 1);
  EXPECT_EQ(parsed["name"], "job");
  EXPECT_EQ(parsed["framework"], "pytorch");
  EXPECT_EQ(parsed["launch"], "per-process");
  EXPECT_EQ(parsed["workdir"], "/home/eve/project");
  EXPECT_FALSE(parsed.contains("sync"));
  LaunchPlan synced = *plan;
  synced.sync = SyncExtent{12, 3'400'000};
  EXPECT_EQ(json::parse(plan_json(synced))["sync"], (json{{"files", 12}, {"bytes", 3'400'000}}));
  synced.staged = {{"/a", "/b", true, SyncExtent{1, 2}}, {"n:/c", "/c", false, std::nullopt}};
  EXPECT_EQ(json::parse(plan_json(synced))["stage"],
            (json{{{"from", "/a"}, {"to", "/b"}, {"unpack", true}, {"files", 1}, {"bytes", 2}},
                  {{"from", "n:/c"}, {"to", "/c"}, {"unpack", false}}}));
  EXPECT_EQ(parsed["master"],
            (json{{"address", "addr-of-node0"}, {"port", 21000}, {"reason", "the first node"}}));
  EXPECT_EQ(parsed["commands"][0]["argv"], (json{"python", "train \"quoted\".py"}));
  EXPECT_EQ(parsed["nodes"][1]["ranks"], (json{3, 4}));
  EXPECT_EQ(parsed["nodes"][1]["variables"]["LOCAL_WORLD_SIZE"], "2");
  EXPECT_EQ(parsed["variables"]["WORLD_SIZE"], "5");
  EXPECT_EQ(parsed["variables"]["B"], "line\nbreak\t\x01");
  ASSERT_EQ(parsed["ranks"].size(), 5U);
  EXPECT_EQ(parsed["ranks"][4]["node"], 1);
  EXPECT_EQ(parsed["ranks"][4]["local_rank"], 1);
  EXPECT_EQ(parsed["ranks"][4]["variables"]["RANK"], "4");
  EXPECT_EQ(parsed["ranks"][4]["gpus"], (json{"0", "1"}));
  EXPECT_EQ(parsed["ranks"][0]["ports"], json{21000});
  EXPECT_EQ(parsed["ranks"][0]["cpus"], (json{0, 1, 2}));
  EXPECT_EQ(parsed["reasons"]["WORLD_SIZE"], "number of ranks");
  EXPECT_EQ(parsed["reasons"]["RANK"], "global rank, hosts in the order given");
}

TEST(PlanJson, TheNetworkOfEachNode) {
  Cluster cluster = test::fake_cluster({{}, {}});
  RdmaDevice device;
  device.name = "mlx5_0";
  device.ports.resize(1);
  device.ports[0].state = RdmaPort::State::down;
  cluster.nodes[1].facts.fabric.rdma = {device};
  cluster.nodes[0].facts.fabric.no_rdma = "no such device";
  const auto plan = make_plan(test::list_job(), cluster, test::fake_context());
  ASSERT_TRUE(plan.has_value());
  const json parsed = json::parse(plan_json(*plan, &cluster));
  EXPECT_EQ(parsed["nodes"][0]["facts"]["fabric"]["no_rdma"], "no such device");
  const json& port = parsed["nodes"][1]["facts"]["fabric"]["rdma"][0]["ports"][0];
  EXPECT_EQ(port["state"], "down");
  EXPECT_TRUE(port["rate_mbit"].is_null());
}

TEST(PlanJson, HostfilesOfALauncher) {
  JobSpec spec = test::list_job();
  spec.launch = Launch::once;
  const auto plan = make_plan(spec, test::fake_cluster({{.gpus = 2}, {}}), test::fake_context());
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const auto tree = nlohmann::json::parse(plan_json(*plan));
  EXPECT_EQ(
      tree["hosts"],
      nlohmann::json::parse(R"([{"name": "node0", "slots": 2}, {"name": "node1", "slots": 1}])"));
  EXPECT_EQ(tree["nodes"][0]["files"][0]["text"], "node0 slots=2\nnode1 slots=1\n");
  EXPECT_EQ(tree["nodes"][0]["files"][0]["path"], tree["variables"]["DLAUNCH_HOSTFILE"]);
}

TEST(PlanJson, NeverHoldsValuesThatWerePassed) {
  JobSpec spec = test::list_job();
  spec.env_pass = {"WANDB_API_KEY"};
  spec.env_secret = {"HF_TOKEN"};
  PlanContext context = test::fake_context();
  context.launcher_env = {{"WANDB_API_KEY", "passed-value"}, {"HF_TOKEN", "secret-value"}};
  const auto plan = make_plan(spec, test::fake_cluster({{}}), context);
  ASSERT_TRUE(plan.has_value());
  const std::string text = plan_json(*plan);
  EXPECT_THAT(text, Not(HasSubstr("passed-value")));
  EXPECT_THAT(text, Not(HasSubstr("secret-value")));
  const json parsed = json::parse(text);
  EXPECT_EQ(parsed["passed"], json::array({"WANDB_API_KEY"}));
  EXPECT_EQ(parsed["secret"], json::array({"HF_TOKEN"}));
}

TEST(PlanEnvJson, OneRankWithItsReasons) {
  JobSpec spec = test::list_job();
  spec.env_secret = {"HF_TOKEN"};
  PlanContext context = test::fake_context();
  context.launcher_env = {{"HF_TOKEN", "secret-value"}};
  const auto plan = make_plan(spec, test::fake_cluster({{}}), context);
  ASSERT_TRUE(plan.has_value());
  const std::string text = plan_env_json(*plan, Rank(0));
  EXPECT_THAT(text, Not(HasSubstr("secret-value")));
  const json parsed = json::parse(text);
  EXPECT_EQ(parsed["rank"], 0);
  EXPECT_EQ(parsed["node"], "node0");
  EXPECT_EQ(parsed["variables"][0], (json{{"name", "RANK"},
                                          {"value", "0"},
                                          {"reason", "global rank, hosts in the order given"}}));
  EXPECT_TRUE(
      std::any_of(parsed["variables"].begin(), parsed["variables"].end(),
                  [](const json& v) { return v["name"] == "HF_TOKEN" && v["value"].is_null(); }));
}

}  // namespace
}  // namespace dlaunch
