// With a script in place of scontrol, which prints the output of Slurm 22.05.8.
#include "launch/slurm/slurm_inquiry.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using About = SlurmInquiry::About;

class SlurmInquiryTest : public testing::Test {
 protected:
  SlurmInquiryTest() {
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    const std::string path = std::string(folder_) + "/scontrol";
    std::ofstream(path) << "#!/bin/sh\n"
                           "if [ \"$2\" = config ]; then echo 'KillWait = 30 sec'; exit; fi\n"
                           "echo \"JobId=$3 JobName=x\"\n"
                           "echo '   JobState=COMPLETING Reason=TimeLimit'\n"
                           "echo '   StartTime=1794999988 EndTime=1795000600'\n";
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
  }
  ~SlurmInquiryTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Environment environment() const {
    return {{"PATH", std::string(folder_) + ":/usr/bin:/bin"}, {"SLURM_JOB_ID", "17"}};
  }
  /// Adds what is known to `answers`, with this name in front.
  SlurmInquiry::Answer tell(const std::string& name) {
    return [this, name](const SlurmNotice& notice) { answers_.push_back(name + notice.text); };
  }
  void wait_for_answer(const SlurmInquiry& inquiry) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(30);
    while (inquiry.is_asking() && monotonic_now() < end) loop_.run_one(end);
  }

  char folder_[32] = "/tmp/dlaunch-inquiry-XXXXXX";
  EventLoop loop_;
  std::vector<std::string> answers_;
};

TEST_F(SlurmInquiryTest, AnswersTheFirstOfTwoQuestions) {
  SlurmInquiry inquiry(loop_, environment());
  inquiry.ask(About::ending, tell("first: "));
  inquiry.ask(About::ending, tell("second: "));
  inquiry.ask(About::warning, tell("third: "));
  wait_for_answer(inquiry);
  EXPECT_THAT(answers_, ElementsAre("first: Slurm job 17 has reached its time limit"));
}

TEST_F(SlurmInquiryTest, AnEndingTakesThePlaceOfAWarning) {
  SlurmInquiry inquiry(loop_, environment());
  inquiry.ask(About::warning, tell("warning: "));
  inquiry.ask(About::ending, tell("ending: "));
  wait_for_answer(inquiry);
  EXPECT_THAT(answers_, ElementsAre("ending: Slurm job 17 has reached its time limit"));
}

TEST_F(SlurmInquiryTest, OneQuestionMayFollowAnother) {
  SlurmInquiry inquiry(loop_, environment());
  inquiry.ask(About::ending, tell("1: "));
  wait_for_answer(inquiry);
  inquiry.ask(About::warning, tell("2: "));
  wait_for_answer(inquiry);
  EXPECT_THAT(answers_, ElementsAre("1: Slurm job 17 has reached its time limit",
                                    "2: Slurm job 17 has reached its time limit"));
}

TEST_F(SlurmInquiryTest, AsksNothingOutsideOfAnAllocation) {
  SlurmInquiry inquiry(loop_, {{"PATH", folder_}});
  inquiry.ask(About::ending, tell("never: "));
  EXPECT_FALSE(inquiry.is_asking());
}

TEST_F(SlurmInquiryTest, TheEndOfTheTimeIsAskedAtTheStart) {
  EXPECT_EQ(ask_slurm_end(environment()), SlurmTime(1'795'000'600));
  EXPECT_EQ(ask_slurm_end({{"PATH", folder_}}), std::nullopt);
}

}  // namespace
}  // namespace dlaunch
