#include "script.h"

namespace dlaunch {
namespace {

using How = RankEnd::How;

TEST(SupervisorCancel, CtrlCStopsAndSaysSo) {
  Script run(config(2), {0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_EQ(run.at(seconds(1)).cancel(SIGINT),
            "stop 0 with 15; stop 1 with 15; "
            "tell \"stopping 8 ranks (SIGTERM, up to 30 s); Ctrl-C again to kill at once\"");
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    (void)run.at(seconds(2)).exited(rank, signal(SIGTERM));
  }
  EXPECT_EQ(run.empty(0), "");
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish cancelled 130 \"\"");
  EXPECT_EQ(run.report().outcome.signal, SIGINT);
  EXPECT_FALSE(run.report().outcome.from_rank);
  EXPECT_EQ(run.report().outcome.first, std::nullopt);
  EXPECT_EQ(run.how(3), How::stopped);
}

TEST(SupervisorCancel, ExitCodeOfEachSignal) {
  for (const auto& [number, expected] :
       {std::pair{SIGHUP, "129"}, {SIGINT, "130"}, {SIGQUIT, "131"}, {SIGTERM, "143"}}) {
    Script run(config(1), {0});
    (void)run.cancel(number);
    (void)run.at(seconds(1)).exited(0, code(0));
    EXPECT_EQ(run.empty(0), std::string("release 0; finish cancelled ") + expected + " \"\"");
  }
}

TEST(SupervisorCancel, ASecondOneOfAnyKindKillsAtOnce) {
  Script run(config(2), {0, 1});
  (void)run.at(seconds(1)).cancel(SIGINT);
  (void)run.at(milliseconds(1100)).exited(0, signal(SIGTERM));
  EXPECT_EQ(run.at(milliseconds(1200)).cancel(SIGTERM),
            "kill 0; kill 1; tell \"killing 1 rank now\"");
  EXPECT_EQ(run.cancel(SIGINT), "");
  EXPECT_EQ(run.deadline(), milliseconds(11'100));  // node 0: its last rank's end
  (void)run.at(milliseconds(1300)).exited(1, signal(SIGKILL));
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish cancelled 130 \"\"");
  EXPECT_EQ(run.how(0), How::stopped);
  EXPECT_EQ(run.how(1), How::killed);
}

TEST(SupervisorCancel, ADeadlineOnlyShortensTheGraceTime) {
  for (const auto& [left, killed] :
       {std::pair{seconds(10), seconds(11)}, {seconds(90), seconds(31)}}) {
    Script run(config(1), {0, 0});
    (void)run.at(seconds(1)).cancel(SIGTERM);
    (void)run.at(milliseconds(1020)).end_in(left - milliseconds(20));
    EXPECT_EQ(run.deadline(), killed);
    EXPECT_EQ(run.at(killed).tick(), "kill 0");
  }
}

TEST(SupervisorCancel, ADeadlineThatHasPassedKillsAtOnce) {
  Script run(config(1), {0});
  (void)run.at(seconds(1)).cancel(SIGTERM);
  EXPECT_EQ(run.at(seconds(2)).end_in(-seconds(1)), "kill 0");
}

TEST(SupervisorCancel, ADeadlineAloneStopsNoRank) {
  Script run(config(1), {0});
  EXPECT_EQ(run.at(seconds(1)).end_in(seconds(1)), "");
  EXPECT_EQ(run.at(seconds(3)).tick(), "");
}

TEST(SupervisorCancel, WhileConnecting) {
  Script run(config(2));
  (void)run.start();
  (void)run.ready(1);
  EXPECT_EQ(run.cancel(SIGTERM), "release 0; release 1; finish cancelled 143 \"\"");
  EXPECT_TRUE(run.report().ranks.empty());
}

TEST(SupervisorCancel, WhilePlanning) {
  Script run(config(1));
  (void)run.start();
  (void)run.ready(0);
  EXPECT_EQ(run.cancel(SIGINT), "release 0; finish cancelled 130 \"\"");
}

TEST(SupervisorCancel, AfterAFailureItOnlyHurries) {
  Script run(config(2), {0, 1});
  (void)run.at(seconds(1)).exited(0, code(3));
  (void)run.empty(0);
  EXPECT_EQ(run.at(seconds(2)).cancel(SIGINT), "kill 1; tell \"killing 1 rank now\"");
  (void)run.exited(1, signal(SIGKILL));
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish exit-code 3 \"\"");
  EXPECT_EQ(run.report().outcome.signal, 0);
  EXPECT_EQ(run.how(1), How::killed);
}

TEST(SupervisorCancel, AFailureThatFollowsChangesNothing) {
  Script run(config(2), {0, 1});
  (void)run.at(seconds(1)).cancel(SIGINT);
  EXPECT_EQ(run.at(seconds(2)).exited(0, code(5)), "");
  // Even one from before the signal: the report is about what the user requested.
  EXPECT_EQ(run.exited(1, code(6), milliseconds(999)), "");
  (void)run.empty(0);
  EXPECT_EQ(run.empty(1), "release 0; release 1; finish cancelled 130 \"\"");
  EXPECT_EQ(run.how(1), How::exited);
}

TEST(SupervisorCancel, WhenAllRanksHaveEndedWellItOnlyHurries) {
  Script run(config(2), {0, 1});
  (void)run.exited(0, code(0));
  (void)run.empty(0);
  (void)run.exited(1, code(0));
  EXPECT_EQ(run.cancel(SIGINT), "kill 1");
  EXPECT_EQ(run.empty(1, 1), "release 0; release 1; finish success 0 \"\"");
}

TEST(SupervisorCancel, FrontGone) {
  Script run(config(1), {0});
  EXPECT_EQ(run.on(event::FrontGone{}),
            "stop 0 with 15; tell \"the dlaunch command is gone, stopping 1 rank (SIGTERM, up to "
            "30 s)\"");
  (void)run.at(seconds(1)).exited(0, signal(SIGTERM));
  EXPECT_EQ(run.empty(0), "release 0; finish cancelled 129 \"\"");
  EXPECT_EQ(run.report().outcome.signal, 0);
}

TEST(SupervisorCancel, FrontGoneAfterASignalHurries) {
  Script run(config(1), {0});
  (void)run.cancel(SIGINT);
  EXPECT_EQ(run.on(event::FrontGone{}), "kill 0; tell \"killing 1 rank now\"");
}

TEST(SupervisorCancel, FrontGoneWhileConnecting) {
  Script run(config(1));
  (void)run.start();
  EXPECT_EQ(run.on(event::FrontGone{}), "release 0; finish cancelled 129 \"\"");
}

TEST(SupervisorCancel, AnotherStopSignal) {
  SupervisorConfig c = config(1);
  c.stop_signal = SIGUSR1;
  c.stop_grace = milliseconds(90'000);
  Script run(c, {0});
  EXPECT_EQ(run.cancel(SIGHUP),
            "stop 0 with 10; tell \"the terminal was closed (SIGHUP), stopping 1 rank "
            "(SIGUSR1, up to 1 min 30 s)\"");
}

}  // namespace
}  // namespace dlaunch
