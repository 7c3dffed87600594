// What scontrol and sacct of Slurm 22.05.8 print, seen with the event in question; times with
// SLURM_TIME_FORMAT=%s.
#include "jobfile/slurm_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

constexpr SlurmTime kNow{1'795'000'000};

std::string show_job(const std::string& state, const std::string& end, const std::string& preempt) {
  return "JobId=17 JobName=train\n"
         "   UserId=root(0) GroupId=root(0) MCS_label=N/A\n"
         "   Priority=4294901759 Nice=0 Account=(null) QOS=(null)\n"
         "   " +
         state +
         " Dependency=(null)\n"
         "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
         "   RunTime=00:00:12 TimeLimit=00:10:00 TimeMin=N/A\n"
         "   SubmitTime=1794999980 EligibleTime=1794999980\n"
         "   AccrueTime=1794999980\n"
         "   StartTime=1794999988 EndTime=" +
         end +
         " Deadline=N/A\n"
         "   PreemptEligibleTime=1794999988 PreemptTime=" +
         preempt +
         "\n"
         "   SuspendTime=None SecsPreSuspend=0 LastSchedEval=1794999988 Scheduler=Main\n"
         "   Command=/home/me/EndTime=7 JobState=PREEMPTED\n"
         "   WorkDir=/home/me\n";
}

SlurmState state(const std::string& words, const std::string& end = "1795000600",
                 const std::string& preempt = "None") {
  return read_slurm_state(show_job(words, end, preempt), "17");
}

TEST(SlurmState, IsReadFromTheLinesThatSlurmMakes) {
  const SlurmState running = state("JobState=RUNNING Reason=None");
  EXPECT_EQ(running, (SlurmState{"RUNNING", "None", SlurmTime(1'795'000'600), std::nullopt, 0}));
  const SlurmState preempted = state("JobState=RUNNING Reason=None", "1795000060", "1795000000");
  EXPECT_EQ(preempted.preempted, SlurmTime(1'795'000'000));
  EXPECT_EQ(state("JobState=RUNNING Reason=None", "Unknown").end, std::nullopt);
  EXPECT_EQ(state("JobState=RUNNING Reason=None", "2026-11-22T08:00:00").end, std::nullopt);
  EXPECT_EQ(state("JobState=RUNNING Reason=None", "9223372036854775807").end, std::nullopt);
  EXPECT_EQ(read_slurm_state("", "17"), SlurmState());
  EXPECT_EQ(read_slurm_state("slurm_load_jobs error: Invalid job id specified\n", "17"),
            SlurmState());
}

// `scontrol show job 40`, where 40 is also the number of the array (SLURM_ARRAY_JOB_ID): its last
// job has that number.
TEST(SlurmState, OfAJobArrayIsThatOfOneJob) {
  const std::string array =
      "JobId=40 ArrayJobId=40 ArrayTaskId=2 JobName=sweep\n"
      "   JobState=RUNNING Reason=None Dependency=(null)\n"
      "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
      "   StartTime=1794999988 EndTime=1795000600 Deadline=N/A\n"
      "   PreemptEligibleTime=1794999988 PreemptTime=None\n"
      "\n"
      "JobId=42 ArrayJobId=40 ArrayTaskId=1 JobName=sweep\n"
      "   JobState=COMPLETING Reason=TimeLimit Dependency=(null)\n"
      "   Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
      "   StartTime=1794999988 EndTime=1795000000 Deadline=N/A\n"
      "   PreemptEligibleTime=1794999988 PreemptTime=1795000000\n"
      "\n"
      "JobId=41 ArrayJobId=40 ArrayTaskId=0 JobName=sweep\n"
      "   JobState=CANCELLED Reason=None Dependency=(null)\n"
      "   Requeue=1 Restarts=3 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
      "   StartTime=1794999988 EndTime=1795000001 Deadline=N/A\n"
      "   PreemptEligibleTime=1794999988 PreemptTime=None\n"
      "\n";
  EXPECT_EQ(read_slurm_state(array, "40"),
            (SlurmState{"RUNNING", "None", SlurmTime(1'795'000'600), std::nullopt, 0}));
  EXPECT_EQ(read_slurm_state(array, "42"),
            (SlurmState{"COMPLETING", "TimeLimit", SlurmTime(1'795'000'000),
                        SlurmTime(1'795'000'000), 1}));
  EXPECT_EQ(read_slurm_state(array, "41"),
            (SlurmState{"CANCELLED", "None", SlurmTime(1'795'000'001), std::nullopt, 3}));
  EXPECT_EQ(read_slurm_state(array, "4"), SlurmState());
}

TEST(SlurmState, TellsWhyAJobEnds) {
  struct Case {
    const char* words;
    const char* end;
    const char* preempt;
    SlurmEnding ending;
  };
  const Case cases[] = {
      {"JobState=RUNNING Reason=None", "1795000060", "None", SlurmEnding::none},
      {"JobState=RUNNING Reason=None", "Unknown", "None", SlurmEnding::none},
      {"JobState=RUNNING Reason=None", "1795000060", "1795000000", SlurmEnding::preempted},
      {"JobState=RUNNING Reason=None", "1795000000", "None", SlurmEnding::time_limit},
      {"JobState=COMPLETING Reason=TimeLimit", "1795000000", "None", SlurmEnding::time_limit},
      {"JobState=TIMEOUT Reason=TimeLimit", "1795000000", "None", SlurmEnding::time_limit},
      {"JobState=COMPLETING Reason=None", "1795000000", "None", SlurmEnding::cancelled},
      {"JobState=CANCELLED Reason=None", "1795000000", "None", SlurmEnding::cancelled},
      {"JobState=COMPLETING Reason=None", "1795000000", "1795000000", SlurmEnding::preempted},
      {"JobState=PREEMPTED Reason=None", "1795000000", "None", SlurmEnding::preempted},
      {"JobState=COMPLETING Reason=BeginTime", "1795000000", "None", SlurmEnding::requeued},
      {"JobState=PENDING Reason=BeginTime", "Unknown", "None", SlurmEnding::requeued},
      {"JobState=COMPLETING Reason=NodeDown", "1795000000", "None", SlurmEnding::node_failed},
      {"JobState=NODE_FAIL Reason=NodeDown", "1795000000", "None", SlurmEnding::node_failed},
      {"JobState=SIGNALING Reason=None", "1795000060", "None", SlurmEnding::none},
      {"JobState=SIGNALING Reason=None", "1795000060", "1795000000", SlurmEnding::preempted},
      {"JobState=SIGNALING Reason=None", "1795000000", "None", SlurmEnding::time_limit},
      {"JobState=SIGNALING Reason=TimeLimit", "1795000060", "None", SlurmEnding::none},
      {"JobState=STOPPED Reason=None", "1795000060", "None", SlurmEnding::none},
      {"JobState=SUSPENDED Reason=None", "1795000060", "None", SlurmEnding::none},
      {"JobState=RESIZING Reason=None", "1795000060", "None", SlurmEnding::none},
      {"JobState=COMPLETING", "1795000000", "None", SlurmEnding::cancelled},
      {"JobState=COMPLETING Reason=BootFail", "1795000000", "None", SlurmEnding::other},
      {"JobState=CANCELLED Reason=OutOfMemory", "1795000000", "None", SlurmEnding::other},
      {"JobState=FAILED Reason=NonZeroExitCode", "1795000000", "None", SlurmEnding::other},
      {"JobState=COMPLETED Reason=None", "1795000000", "None", SlurmEnding::other},
      {"JobState=REQUEUE_HOLD Reason=None", "1795000000", "None", SlurmEnding::requeued},
      {"JobState=FUTURE_WORD Reason=None", "1795000000", "None", SlurmEnding::none},
      {"", "", "", SlurmEnding::none},
  };
  for (const Case& one : cases)
    EXPECT_EQ(ending_of(state(one.words, one.end, one.preempt), 0, kNow), one.ending) << one.words;
}

// Also after a preemption without GraceTime, which leaves no PreemptTime.
TEST(SlurmState, AJobThatIsRequeuedCountsItsNextStartAlready) {
  const SlurmState requeued = read_slurm_state(
      "JobId=1 JobName=batch.sh\n"
      "   JobState=COMPLETING Reason=None Dependency=(null)\n"
      "   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
      "   StartTime=1795334930 EndTime=Unknown Deadline=N/A\n",
      "1");
  EXPECT_EQ(requeued.restarts, 2);
  EXPECT_EQ(ending_of(requeued, 1, kNow), SlurmEnding::requeued);
  EXPECT_EQ(ending_of(requeued, 2, kNow), SlurmEnding::cancelled);
}

TEST(SlurmState, KillWaitIsReadFromTheConfiguration) {
  EXPECT_EQ(read_kill_wait("KeepAliveTime           = SYSTEM_DEFAULT\n"
                           "KillOnBadExit           = 0\n"
                           "KillWait                = 30 sec\n"
                           "LaunchParameters        = (null)\n"),
            seconds(30));
  EXPECT_EQ(read_kill_wait(""), std::nullopt);
  EXPECT_EQ(read_kill_wait("KillWait = soon\n"), std::nullopt);
}

TEST(SlurmNotice, SaysHowLongThereIs) {
  const auto notice = [](const SlurmState& job, std::optional<seconds> kill_wait) {
    return slurm_notice({"17", 0, kNow, kill_wait}, job);
  };
  // SIGKILL follows after KillWait.
  EXPECT_EQ(notice(state("JobState=COMPLETING Reason=TimeLimit", "1795000000"), seconds(30)),
            (SlurmNotice{"Slurm job 17 has reached its time limit", milliseconds(25'000)}));
  // If little time is left, a quarter is for the report.
  EXPECT_EQ(notice(state("JobState=COMPLETING Reason=None", "1795000000"), seconds(4)),
            (SlurmNotice{"Slurm job 17 was cancelled by scancel", milliseconds(3000)}));
  EXPECT_EQ(notice(state("JobState=COMPLETING Reason=None", "1795000000"), std::nullopt).left,
            std::nullopt);
  // GraceTime of the partition: the end of the job's time was moved.
  EXPECT_EQ(notice(state("JobState=RUNNING Reason=None", "1795000060", "1795000000"), seconds(30)),
            (SlurmNotice{"Slurm is preempting job 17 for another job; job 17 ends in 1 min 00 s",
                         milliseconds(55'000)}));
  // GraceTime of a job without time limit: the remaining time is unknown.
  EXPECT_EQ(notice(state("JobState=RUNNING Reason=None", "Unknown", "1795000000"), seconds(30)),
            (SlurmNotice{"Slurm is preempting job 17 for another job", std::nullopt}));
  // sbatch --signal=B:TERM@60
  EXPECT_EQ(notice(state("JobState=RUNNING Reason=None", "1795000058"), seconds(30)),
            (SlurmNotice{"Slurm job 17 reaches its time limit in 58.0 s", milliseconds(53'000)}));
  // The job's state is this from the SIGCONT before such a signal until all nodes have answered.
  EXPECT_EQ(notice(state("JobState=SIGNALING Reason=None", "1795000058"), seconds(30)),
            (SlurmNotice{"Slurm job 17 reaches its time limit in 58.0 s", milliseconds(53'000)}));
  EXPECT_EQ(
      notice(state("JobState=SIGNALING Reason=None", "1795000060", "1795000000"), seconds(30)).left,
      milliseconds(55'000));
  EXPECT_EQ(notice(state("JobState=COMPLETING Reason=BootFail", "1795000000"), seconds(30)),
            (SlurmNotice{"Slurm ends job 17 (BootFail)", milliseconds(25'000)}));
  EXPECT_EQ(notice(state("JobState=FAILED Reason=None", "1795000000"), seconds(30)).text,
            "Slurm ends job 17 (FAILED)");
  // scancel --signal=TERM, long before the end.
  EXPECT_EQ(notice(state("JobState=RUNNING Reason=None", "1795040000"), seconds(30)).text, "");
  EXPECT_EQ(notice(SlurmState(), std::nullopt), SlurmNotice());
}

// sacct --noheader --parsable2 --allocations --duplicates --format JobIDRaw,State
TEST(SlurmAccount, TellsTheLastStateOfEachJob) {
  EXPECT_THAT(read_slurm_account("17|TIMEOUT\n18|CANCELLED by 1000\n19|COMPLETED\n"),
              ElementsAre(Pair("17", "TIMEOUT"), Pair("18", "CANCELLED"), Pair("19", "COMPLETED")));
  EXPECT_THAT(read_slurm_account("17|PREEMPTED\n17|RUNNING\n"), ElementsAre(Pair("17", "RUNNING")));
  EXPECT_THAT(read_slurm_account(""), ElementsAre());
  EXPECT_THAT(read_slurm_account("Slurm accounting storage is disabled\n|\n|X\n17|\n"),
              ElementsAre());
}

}  // namespace
}  // namespace dlaunch
