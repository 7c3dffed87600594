#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "report/summary.h"
#include "report_builder.h"

namespace dlaunch {
namespace {

using namespace testing_support;
using nlohmann::json;
using std::chrono::milliseconds;
using How = RankEnd::How;

TEST(SummaryJson, HasTheSlurmJob) {
  const RunReport report;
  SummaryInput input{nullptr, report, "", {}};
  input.slurm = {"17", "Slurm job 17 was cancelled by scancel",
                 WallTime(std::chrono::seconds(1'800'000'000))};
  EXPECT_EQ(json::parse(summary_json(input)).at("slurm"),
            (json{{"job", "17"},
                  {"ends", "2027-01-15T08:00:00.000000Z"},
                  {"said", "Slurm job 17 was cancelled by scancel"}}));
  input.slurm = {"17", "", std::nullopt};
  EXPECT_EQ(json::parse(summary_json(input)).at("slurm"),
            (json{{"job", "17"}, {"ends", nullptr}, {"said", nullptr}}));
}

TEST(SummaryJson, HasStalls) {
  const RunReport report;
  SummaryInput input{nullptr, report, "", {}};
  EXPECT_EQ(json::parse(summary_json(input)).at("stalls"), json::array());
  StallSeen seen{Attempt(1), kStart, milliseconds(61'500), {}};
  seen.verdict = {Verdict::Kind::slow, {Rank(3)}, "slow: rank 3", {"a line"}};
  input.stalls = {seen};
  EXPECT_EQ(json::parse(summary_json(input)).at("stalls"),
            (json::array({{{"attempt", 1},
                           {"at", "2026-11-20T21:01:42.000000Z"},
                           {"silence_s", 61.5},
                           {"verdict", "slow"},
                           {"ranks", {3}},
                           {"headline", "slow: rank 3"},
                           {"lines", {"a line"}},
                           {"resumed", false}}})));
}

TEST(SummaryJson, HasEveryMember) {
  const LaunchPlan plan = make_plan(2, 2);
  RunReport report;
  report.outcome.exit_code = 139;
  report.outcome.from_rank = true;
  report.outcome.cause = Cause::signal;
  report.outcome.first = Rank(3);
  report.outcome.perhaps_first = {Rank(1)};
  report.elapsed = milliseconds(12'400);
  report.leftovers = 2;
  report.ranks = {make_end(How::exited, code(0), milliseconds(1)),
                  make_end(How::stopped, killed_by(SIGTERM), milliseconds(2)), RankEnd{},
                  make_end(How::exited, ExitStatus{true, SIGSEGV, true, "cgroup limit 1 GiB"},
                           milliseconds(3))};
  Evidence evidence;
  evidence.exception = "Fatal Python error: Segmentation fault";
  evidence.last_lines = {"a \"quoted\" line", "last"};
  const json seen = json::parse(summary_json(SummaryInput{&plan, report, "runs/x", evidence}));

  EXPECT_EQ(seen.at("version"), 1);
  EXPECT_EQ(seen.at("run"), "20261120-210142-k3f");
  EXPECT_EQ(seen.at("name"), "cifar-ddp");
  EXPECT_EQ(seen.at("path"), "runs/x");
  EXPECT_EQ(seen.at("exit_code"), 139);
  EXPECT_EQ(seen.at("origin"), "rank");
  EXPECT_EQ(seen.at("cause"), "signal");
  EXPECT_EQ(seen.at("detail"), nullptr);
  EXPECT_EQ(seen.at("elapsed_s"), 12.4);
  EXPECT_EQ(seen.at("attempt"), 0);
  EXPECT_EQ(seen.at("first"), 3);
  EXPECT_EQ(seen.at("perhaps_first"), json::array({1}));
  EXPECT_EQ(seen.at("lost_node"), nullptr);
  EXPECT_EQ(seen.at("signal"), nullptr);
  EXPECT_EQ(seen.at("leftovers"), 2);
  EXPECT_EQ(seen.at("slurm"), nullptr);
  EXPECT_EQ(seen.at("exception"), "Fatal Python error: Segmentation fault");
  EXPECT_EQ(seen.at("where"), nullptr);
  EXPECT_EQ(seen.at("last_lines"), json::array({"a \"quoted\" line", "last"}));
  ASSERT_EQ(seen.at("ranks").size(), 4U);
  EXPECT_EQ(seen["ranks"][0], (json{{"rank", 0},
                                    {"node", "node0"},
                                    {"how", "exited"},
                                    {"exit_code", 0},
                                    {"signal", nullptr},
                                    {"core_dumped", false},
                                    {"out_of_memory", nullptr},
                                    {"gpu_fault", nullptr},
                                    {"mpi", nullptr},
                                    {"started", "2026-11-20T21:01:42.000000Z"},
                                    {"ended", "2026-11-20T21:01:42.001000Z"},
                                    {"error", nullptr}}));
  EXPECT_EQ(seen["ranks"][1]["how"], "stopped");
  EXPECT_EQ(seen["ranks"][1]["signal"], "SIGTERM");
  EXPECT_EQ(seen["ranks"][2]["how"], "not-started");
  EXPECT_EQ(seen["ranks"][2]["exit_code"], nullptr);
  EXPECT_EQ(seen["ranks"][2]["started"], nullptr);
  EXPECT_EQ(seen["ranks"][3]["signal"], "SIGSEGV");
  EXPECT_EQ(seen["ranks"][3]["core_dumped"], true);
  EXPECT_EQ(seen["ranks"][3]["out_of_memory"], "cgroup limit 1 GiB");
  EXPECT_EQ(seen["ranks"][3]["node"], "node1");
}

TEST(SummaryJson, TellsFailedAttempts) {
  RunReport report;
  report.attempt = Attempt(1);
  FailedAttempt failed;
  failed.outcome.cause = Cause::port_taken;
  failed.outcome.exit_code = 1;
  failed.outcome.from_rank = true;
  failed.outcome.first = Rank(0);
  failed.outcome.port = TakenPort{20001, "pid 7 (nc, user eve)"};
  failed.ran = milliseconds(1500);
  failed.wait = milliseconds(5000);
  failed.stopped = milliseconds(250);
  failed.again = milliseconds(5500);
  failed.steps_lost = 20;
  report.earlier = {failed};
  report.spent[static_cast<std::size_t>(Spent::back_off)] = milliseconds(5000);
  const json seen = json::parse(summary_json(SummaryInput{nullptr, report, "", {}}));
  EXPECT_EQ(seen.at("attempt"), 1);
  EXPECT_EQ(seen.at("earlier"), json::array({{{"attempt", 0},
                                              {"cause", "port-taken"},
                                              {"exit_code", 1},
                                              {"origin", "rank"},
                                              {"first", 0},
                                              {"ran_s", 1.5},
                                              {"unnoticed_s", nullptr},
                                              {"stopped_s", 0.25},
                                              {"again_s", 5.5},
                                              {"steps_lost", 20},
                                              {"wait_s", 5.0},
                                              {"checkpoint", nullptr},
                                              {"port", 20001},
                                              {"port_holder", "pid 7 (nc, user eve)"},
                                              {"lost_nodes", json::array()}}}));
  EXPECT_EQ(seen.at("ledger").size(), kSpentWords.size());
  EXPECT_EQ(seen.at("ledger").at("back_off_s"), 5.0);
  EXPECT_EQ(seen.at("port"), nullptr);
}

TEST(SummaryJson, SaysWhenALostNodeWasHeardLast) {
  RunReport report;
  report.outcome.cause = Cause::node_lost;
  report.outcome.lost_nodes = {{NodeId(0), "gone", WallTime(std::chrono::seconds(1'800'000'000))},
                               {NodeId(1), "refused"}};
  SummaryInput input{nullptr, report, "", {}};
  input.node_names = {{NodeId(0), "gpu1"}, {NodeId(1), "gpu2"}};
  const json seen = json::parse(summary_json(input));
  EXPECT_EQ(seen.at("lost_nodes"),
            json::array(
                {{{"node", "gpu1"}, {"what", "gone"}, {"heard_at", "2027-01-15T08:00:00.000000Z"}},
                 {{"node", "gpu2"}, {"what", "refused"}, {"heard_at", nullptr}}}));
}

TEST(SummaryJson, NeedsNoPlan) {
  RunReport report;
  report.outcome.cause = Cause::plan;
  report.outcome.exit_code = 65;
  report.outcome.detail = "no\nplan";
  const json seen = json::parse(summary_json(SummaryInput{nullptr, report, "", {}}));
  EXPECT_EQ(seen.at("origin"), "dlaunch");
  EXPECT_EQ(seen.at("run"), nullptr);
  EXPECT_EQ(seen.at("detail"), "no\nplan");
  EXPECT_EQ(seen.at("ranks"), json::array());
  EXPECT_EQ(seen.at("first"), nullptr);
}

TEST(SummaryJson, SaysWhyARankCouldNotStart) {
  RunReport report;
  report.outcome.cause = Cause::cannot_execute;
  report.outcome.lost_nodes = {{NodeId(7), "gone"}};  // without a plan
  report.outcome.signal = SIGTERM;
  RankEnd end;
  end.how = How::cannot_start;
  end.start_failure = StartFailure{StartFailure::Step::workdir, ENOENT, "/data", ""};
  report.ranks = {end};
  const json seen = json::parse(summary_json(SummaryInput{nullptr, report, "", {}}));
  EXPECT_EQ(seen["ranks"][0]["error"],
            "cannot enter the workdir \"/data\": No such file or directory");
  EXPECT_EQ(seen["ranks"][0]["exit_code"], nullptr);
  EXPECT_EQ(seen.at("lost_node"), nullptr);
  EXPECT_EQ(seen.at("signal"), "SIGTERM");
}

}  // namespace
}  // namespace dlaunch
