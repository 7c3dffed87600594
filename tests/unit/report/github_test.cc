// Workflow commands as the runner of GitHub Actions reads them: in data '%', CR and LF are escaped,
// in properties ':' and ',' too (actions/toolkit, packages/core, command.ts).
#include "report/github.h"

#include <gmock/gmock.h>

#include "summary_fixture.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class GitHub : public testing_support::SummaryText {
 protected:
  [[nodiscard]] SummaryInput input() const {
    return SummaryInput{&plan_, report_, testing_support::kSummaryRun, evidence_};
  }
};

TEST_F(GitHub, TheCauseAtItsLine) {
  evidence_.exception = "ValueError: 50% of a,b";
  evidence_.source = SourceLine{"/home/runner/work/a/a/src/x,1:2.py", "118"};
  EXPECT_EQ(github_annotation(input(), "/home/runner/work/a/a", "/"),
            "::error file=src/x%2C1%3A2.py,line=118,title=dlaunch%3A the run failed::ValueError: "
            "50%25 of a,b%0AFAILED after 12.4 s: rank 5 on node1 exited with code 1, first of 8\n");
}

TEST_F(GitHub, AFileIsNamedAsTheRanksHadIt) {
  evidence_.source = SourceLine{"train.py", "3"};
  EXPECT_THAT(github_annotation(input(), "/w/", "/w/examples"),
              StartsWith("::error file=examples/train.py,line=3,"));
  EXPECT_THAT(github_annotation(input(), "/w", "/elsewhere"),
              StartsWith("::error title=dlaunch%3A the run failed::FAILED after 12.4 s"));
  EXPECT_THAT(github_annotation(input(), "", "/w"), StartsWith("::error title="));
  evidence_.source = SourceLine{"<string>", "1"};
  EXPECT_THAT(github_annotation(input(), "/w", "/w"), StartsWith("::error title="));
}

TEST_F(GitHub, ARunThatEndedWellHasNoAnnotation) {
  all_ended_well();
  EXPECT_EQ(github_annotation(input(), "/w", "/w"), "");
  EXPECT_EQ(github_step_summary(input()),
            "### dlaunch `cifar-ddp`: done\n\n"
            "    dlaunch: done in 3 min 12 s, 8 ranks ok, logs in runs/20261120-210142-k3f\n\n");
}

TEST_F(GitHub, TheStepSummaryIsWhatTheConsoleSays) {
  plan_.name = "a`b";
  evidence_.last_lines = {"# no heading", "~~~", "<b>"};
  EXPECT_THAT(github_step_summary(input()),
              StartsWith("### dlaunch: failed\n\n    dlaunch: FAILED"));
  EXPECT_THAT(github_step_summary(input()), HasSubstr("\n        | # no heading\n"));
}

TEST(GitHubJobFile, EachErrorHasItsLine) {
  const std::string errors =
      "bad.yaml:1:1: error: unknown key \"nam\": 50%\n    1 | nam: x\n      | ^~~\n\n"
      "/w/a,b.yaml:12:5: error: nodes: error: no\n   12 | x\n      |     ^\n\n"
      "--set nodes=x: error: expected a whole number\n\n3 more errors";
  EXPECT_EQ(github_job_file_annotations(errors, "/w", "/w/jobs"),
            "::error file=jobs/bad.yaml,line=1,col=1::unknown key \"nam\": 50%25\n"
            "::error file=a%2Cb.yaml,line=12,col=5::nodes: error: no\n"
            "::error::--set nodes=x: error: expected a whole number\n"
            "::error::3 more errors\n");
  EXPECT_EQ(github_job_file_annotations("bad.yaml:1:2: error: x\n", "", "/w"),
            "::error file=bad.yaml,line=1,col=2::x\n");
}

}  // namespace
}  // namespace dlaunch
