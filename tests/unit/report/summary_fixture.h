// The fixture of the summary's tests, for a run that has failed.
#pragma once

#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "report/summary.h"
#include "report_builder.h"

namespace dlaunch::testing_support {

constexpr const char* kSummaryRun = "runs/20261120-210142-k3f";

/// 8 ranks on 2 nodes: rank 5 failed after 12.4 s, the others were stopped.
class SummaryText : public testing::Test {
 protected:
  LaunchPlan plan_ = make_plan(2, 4);
  RunReport report_ = failed_run();
  Evidence evidence_;

  static RunReport failed_run() {
    RunReport report;
    report.outcome.exit_code = 1;
    report.outcome.from_rank = true;
    report.outcome.cause = Cause::exit_code;
    report.outcome.first = Rank(5);
    report.elapsed = std::chrono::milliseconds(12'700);
    report.ranks.assign(
        8, make_end(RankEnd::How::stopped, killed_by(SIGTERM), std::chrono::milliseconds(12'600)));
    report.ranks[5] = make_end(RankEnd::How::exited, code(1), std::chrono::milliseconds(12'400));
    return report;
  }
  void all_ended_well() {
    report_ = RunReport{};
    report_.elapsed = std::chrono::seconds(192);
    report_.ranks.assign(8, make_end(RankEnd::How::exited, code(0), std::chrono::seconds(192)));
  }
  [[nodiscard]] std::string text() const {
    return summary_text(SummaryInput{&plan_, report_, kSummaryRun, evidence_});
  }
};

}  // namespace dlaunch::testing_support
