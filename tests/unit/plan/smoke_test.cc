#include "plan/smoke.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using testing::HasSubstr;

JobSpec big_job() {
  JobSpec spec;
  spec.nodes = NodeRange{4, 4};
  spec.processes = 32;
  spec.restart.max = 3;
  spec.timeouts.run = std::chrono::hours(12);
  spec.hosts.hosts = {HostSpec{"gpu01", 8, "", "", 0}};
  return spec;
}

SmokeInput with_gpus(std::uint32_t gpus) {
  SmokeInput input;
  input.gpus = gpus;
  return input;
}

TEST(Smoke, OneNodeAndARankForEachGpu) {
  const SmokeJob smoke = make_smoke_job(big_job(), with_gpus(8));
  EXPECT_EQ(smoke.spec.nodes, (NodeRange{1, 1}));
  EXPECT_TRUE(smoke.spec.hosts.hosts.empty());
  EXPECT_FALSE(smoke.spec.processes);
  EXPECT_EQ(smoke.spec.processes_per_node.count, 8);
  EXPECT_EQ(smoke.spec.restart.max, 0);
  EXPECT_EQ(smoke.spec.timeouts.run, kSmokeLimit);
  EXPECT_EQ(smoke.spec.timeouts.stop, kSmokeStop);
  EXPECT_EQ(smoke.line,
            "smoke test: 8 ranks (one for each GPU) on this machine, at most 10 min, no restarts");
}

TEST(Smoke, TwoRanksWithoutGpus) {
  EXPECT_EQ(make_smoke_job(big_job(), with_gpus(0)).spec.processes_per_node.count, 2);
}

TEST(Smoke, OneProcessWhereThatStartsItsOwn) {
  JobSpec spec = big_job();
  spec.launch = Launch::per_node;
  for (const std::uint32_t gpus : {0U, 8U}) {
    const SmokeJob smoke = make_smoke_job(spec, with_gpus(gpus));
    EXPECT_EQ(smoke.spec.processes_per_node.count, 1);
    EXPECT_THAT(smoke.line, HasSubstr("1 process "));
  }
}

TEST(Smoke, OneOfEachRoleAndNeverAWorkerAlone) {
  const auto role = [](const char* name, int count) {
    RoleSpec made;
    made.name = name;
    made.count = count;
    made.nodes = 2;
    return made;
  };
  JobSpec spec = big_job();
  spec.processes.reset();
  spec.roles = {role("chief", 1), role("worker", 8), role("ps", 4), role("evaluator", 1)};
  const SmokeJob with_chief = make_smoke_job(spec, with_gpus(8));
  EXPECT_THAT(with_chief.line, HasSubstr("1 chief, 1 worker, 1 ps, 1 evaluator"));
  for (const RoleSpec& made : with_chief.spec.roles) {
    EXPECT_EQ(made.count, 1);
    EXPECT_FALSE(made.nodes);
  }
  spec.roles = {role("worker", 8), role("ps", 4)};
  EXPECT_THAT(make_smoke_job(spec, with_gpus(8)).line, HasSubstr("2 worker, 1 ps"));
}

TEST(Smoke, TheCommandLineWins) {
  JobSpec spec = big_job();
  spec.processes = 5;
  spec.timeouts.run = std::chrono::seconds(90);
  spec.timeouts.stop = std::chrono::seconds(60);
  SmokeInput input = with_gpus(8);
  input.count_given = input.run_limit_given = input.stop_given = true;
  input.ignored = {"hosts", "nodes"};
  const SmokeJob smoke = make_smoke_job(spec, input);
  EXPECT_EQ(smoke.spec.processes, 5);
  EXPECT_EQ(smoke.spec.timeouts.run, std::chrono::seconds(90));
  EXPECT_EQ(smoke.spec.timeouts.stop, std::chrono::seconds(60));
  EXPECT_EQ(
      smoke.line,
      "smoke test: 5 ranks on this machine, at most 90 s, no restarts; not read: hosts, nodes");
}

TEST(Smoke, HiddenGpusAreNotCounted) {
  NodeFacts facts;
  for (int i = 0; i < 4; ++i) facts.gpus.push_back({i, "GPU-" + std::to_string(i), "", "", -1});
  EXPECT_EQ(count_usable_gpus({}, facts), 4U);
  facts.cuda_visible_devices = "1,3";
  EXPECT_EQ(count_usable_gpus({}, facts), 2U);
  JobSpec spec;
  spec.env["CUDA_VISIBLE_DEVICES"] = "2";
  EXPECT_EQ(count_usable_gpus(spec, facts), 1U);
  spec.binding.gpus = Binding::Gpus::none;
  EXPECT_EQ(count_usable_gpus(spec, facts), 0U);
}

}  // namespace
}  // namespace dlaunch
