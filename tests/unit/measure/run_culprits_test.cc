#include "measure/check/fabric_run.h"

#include <csignal>

#include <gtest/gtest.h>

#include "report/summary.h"
#include "unit/report/report_builder.h"

namespace dlaunch {
namespace {

using namespace testing_support;
using std::chrono::milliseconds;
using How = RankEnd::How;

/// The culprits of a run with two ranks on each of node0, node1, node2, read from its summary.json.
std::vector<RunCulprit> culprits(const RunReport& report, const std::vector<std::string>& names = {
                                                              "node0", "node1", "node2"}) {
  const LaunchPlan plan = make_plan(3, 2);
  const auto ending = parse_summary(summary_json(SummaryInput{&plan, report, "", {}}));
  EXPECT_TRUE(ending);
  return culprits_of(ending.value_or(RunEnding{}), names);
}

RunReport failed(Cause cause, int exit_code) {
  RunReport report;
  report.outcome.cause = cause;
  report.outcome.exit_code = exit_code;
  report.ranks.assign(6, make_end(How::stopped, ExitStatus{true, SIGTERM, false}, milliseconds(2)));
  return report;
}

TEST(RunCulprits, ALostNode) {
  RunReport report = failed(Cause::node_lost, exit_code::kNodeLost);
  report.outcome.lost_nodes = {{NodeId(1), "no sign of life for 15 s"}};
  EXPECT_EQ(culprits(report),
            (std::vector<RunCulprit>{
                {1, "it was lost while ranks measured on it: no sign of life for 15 s"}}));
}

TEST(RunCulprits, ANodeThatIsLostAfterRanksElsewhereHaveMissedIt) {
  RunReport report = failed(Cause::exit_code, 1);
  report.outcome.first = Rank(0);
  report.ranks[0] = make_end(How::exited, code(1), milliseconds(1));
  report.ranks[2] = report.ranks[3] = make_end(How::lost, {}, milliseconds(0));
  EXPECT_EQ(culprits(report),
            (std::vector<RunCulprit>{{1, "it was lost while ranks measured on it"}}));
}

TEST(RunCulprits, AllLostNodes) {
  RunReport report = failed(Cause::node_lost, exit_code::kNodeLost);
  report.outcome.lost_nodes = {{NodeId(0), "gone"}, {NodeId(2), "gone, too"}};
  EXPECT_EQ(culprits(report).size(), 2U);
}

TEST(RunCulprits, ARankThatWasKilled) {
  RunReport report = failed(Cause::signal, 137);
  report.outcome.first = Rank(5);
  report.ranks[5] = make_end(How::exited, ExitStatus{true, SIGKILL, false}, milliseconds(1));
  const auto found = culprits(report);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, 2U);
  EXPECT_NE(found[0].what.find("rank 5 on node2 was killed by SIGKILL"), std::string::npos);
}

TEST(RunCulprits, NoneIfAnotherRankMayBeTheCause) {
  RunReport report = failed(Cause::exit_code, 1);
  report.outcome.first = Rank(0);
  report.ranks[0] = make_end(How::exited, code(1), milliseconds(1));
  EXPECT_TRUE(culprits(report).empty());
  EXPECT_TRUE(culprits(failed(Cause::time_limit, exit_code::kTimeLimit)).empty());
}

TEST(RunCulprits, NoneWhoseNameOccursTwice) {
  RunReport report = failed(Cause::node_lost, exit_code::kNodeLost);
  report.outcome.lost_nodes = {{NodeId(1), "gone"}};
  EXPECT_TRUE(culprits(report, {"node0", "node1", "node1"}).empty());
}

}  // namespace
}  // namespace dlaunch
