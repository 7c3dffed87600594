#include "supervise/restart_policy.h"

#include <csignal>

#include <gtest/gtest.h>

#include "model/result.h"

namespace dlaunch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Kind = RestartDecision::Kind;

RestartPolicy policy(int max) {
  RestartPolicy p;
  p.max = max;
  return p;
}

FailedAttempt ended(Cause cause, int code, MonotonicTime ran = seconds(1)) {
  FailedAttempt attempt;
  attempt.outcome.cause = cause;
  attempt.outcome.exit_code = code;
  attempt.ran = ran;
  return attempt;
}

FailedAttempt failed(int code, MonotonicTime ran = seconds(1)) {
  return ended(Cause::exit_code, code, ran);
}

FailedAttempt port_taken() {
  return ended(Cause::port_taken, 1);
}

constexpr NodesLeft kLost{true, false};
constexpr NodesLeft kStuck{false, true};

TEST(RestartBudget, WithoutRestartMaxNothingIsRestartedAndNothingSaid) {
  RestartBudget budget(policy(0), 0);
  EXPECT_EQ(budget.after(failed(1)), RestartDecision{});
  EXPECT_FALSE(budget.may_restart());
}

TEST(RestartBudget, CountsUpToMax) {
  RestartBudget budget(policy(2), 0);
  EXPECT_TRUE(budget.may_restart());
  EXPECT_EQ(budget.after(failed(1)).number, 1u);
  EXPECT_EQ(budget.after(failed(1)).number, 2u);
  const RestartDecision last = budget.after(failed(1));
  EXPECT_EQ(last.kind, Kind::none);
  EXPECT_EQ(last.why_not, "restart.max of 2 is used up");
}

TEST(RestartBudget, WhatItWouldDecideCountsNothing) {
  RestartBudget budget(policy(1), 0);
  EXPECT_EQ(budget.at_best(seconds(1)).number, 1u);
  EXPECT_EQ(budget.at_best(seconds(1)), budget.after(failed(1)));
  EXPECT_EQ(budget.at_best(seconds(1)).why_not, "restart.max of 1 is used up");
  EXPECT_EQ(budget.at_best(policy(1).reset_after).number, 1u);
  EXPECT_EQ(budget.at_best(seconds(1)), budget.after(failed(1)));
}

// The defaults of the job file: 0s..5m.
TEST(RestartBudget, TheFirstRestartIsImmediateAndQuickRepetitionsWait) {
  RestartBudget budget(policy(20), 0);
  std::vector<Duration> waits;
  for (int i = 0; i < 5; ++i) waits.push_back(budget.after(failed(1)).wait);
  waits.push_back(budget.after(failed(1, minutes(1))).wait);
  waits.push_back(budget.after(failed(1)).wait);
  EXPECT_EQ(waits, (std::vector<Duration>{seconds(0), seconds(1), seconds(2), seconds(4),
                                          seconds(8), seconds(0), seconds(1)}));
}

TEST(RestartBudget, AHealthyAttemptCanBeShort) {
  RestartPolicy p = policy(9);
  p.reset_after = seconds(10);
  RestartBudget budget(p, 0);
  (void)budget.after(failed(1));
  EXPECT_EQ(budget.after(failed(1, seconds(9))).wait, seconds(1));
  EXPECT_EQ(budget.after(failed(1, seconds(10))).wait, seconds(0));
}

TEST(RestartBudget, AnAttemptThatOnlyHungWasNotHealthy) {
  RestartBudget budget(policy(2), 0);
  FailedAttempt hung = ended(Cause::hang, 124, minutes(20));
  hung.unnoticed = minutes(20);
  EXPECT_EQ(budget.after(hung).wait, seconds(0));
  EXPECT_EQ(budget.after(hung).wait, seconds(1));
  EXPECT_EQ(budget.after(hung).kind, Kind::none);
}

TEST(RestartBudget, TheWaitDoublesUpToItsMaximum) {
  RestartPolicy p = policy(20);
  p.backoff_min = seconds(5);
  RestartBudget budget(p, 0);
  std::vector<Duration> waits;
  for (int i = 0; i < 9; ++i) waits.push_back(budget.after(failed(1)).wait);
  EXPECT_EQ(waits,
            (std::vector<Duration>{seconds(5), seconds(10), seconds(20), seconds(40), seconds(80),
                                   seconds(160), seconds(300), seconds(300), seconds(300)}));
}

TEST(RestartBudget, AWaitOfNothingStaysNothing) {
  RestartPolicy p = policy(1'000'000);
  p.backoff_max = Duration(0);
  RestartBudget budget(p, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(budget.after(failed(1)).wait, Duration(0));
}

TEST(RestartBudget, TheLongestWaitDoesNotOverflow) {
  RestartPolicy p = policy(100);
  p.backoff_min = Duration(1);
  p.backoff_max = Duration::max();
  RestartBudget budget(p, 0);
  Duration wait{0};
  for (int i = 0; i < 100; ++i) {
    const Duration next = budget.after(failed(1)).wait;
    EXPECT_GE(next, wait);
    wait = next;
  }
  EXPECT_EQ(wait, Duration::max());
}

TEST(RestartBudget, HealthyRunningGivesAllBackAndTheWaitBeginsAgain) {
  RestartPolicy p = policy(2);
  p.backoff_min = seconds(5);
  RestartBudget budget(p, 0);
  (void)budget.after(failed(1));
  (void)budget.after(failed(1, minutes(9)));
  EXPECT_EQ(budget.after(failed(1, minutes(9))).kind, Kind::none);
  const RestartDecision fresh = budget.after(failed(1, minutes(10)));
  EXPECT_EQ(fresh.kind, Kind::restart);
  EXPECT_EQ(fresh.number, 1u);
  EXPECT_EQ(fresh.wait, seconds(5));
}

// POSIX shell: 126 cannot be executed, 127 not found. They would recur.
TEST(RestartBudget, WhatCannotBeExecutedIsNotTriedAgain) {
  RestartBudget budget(policy(3), 0);
  for (const int code : {126, 127}) {
    const RestartDecision decision = budget.after(failed(code));
    EXPECT_EQ(decision.kind, Kind::none);
    EXPECT_NE(decision.why_not, "");
  }
  EXPECT_EQ(budget.after(ended(Cause::cannot_execute, 127, seconds(0))).kind, Kind::none);
  EXPECT_EQ(budget.after(failed(125)).number, 1u) << "refusals cost nothing";
}

TEST(RestartBudget, NotOnExit) {
  RestartPolicy p = policy(3);
  p.not_on_exit = {2, 137};
  RestartBudget budget(p, 0);
  EXPECT_EQ(budget.after(failed(2)).why_not, "exit code 2 is in restart.not_on_exit");
  EXPECT_EQ(budget.after(ended(Cause::signal, 128 + SIGKILL)).kind, Kind::none);
  EXPECT_EQ(budget.after(ended(Cause::signal, 128 + SIGSEGV)).kind, Kind::restart);
}

TEST(RestartBudget, OnlyCausesThatAreNamed) {
  RestartPolicy p = policy(3);
  p.on = {RestartCause::node_loss};
  RestartBudget budget(p, 0);
  EXPECT_EQ(budget.after(failed(1)).why_not, "restart.on does not include \"failure\"");
  EXPECT_EQ(budget.after(ended(Cause::node_lost, 69), kLost).kind, Kind::restart);
}

TEST(RestartBudget, WhatDlaunchEndsIsNeverRestarted) {
  RestartBudget budget(policy(3), 3);
  for (const Cause cause : {Cause::success, Cause::time_limit, Cause::cancelled, Cause::plan,
                            Cause::stragglers, Cause::internal}) {
    EXPECT_EQ(budget.after(ended(cause, 1)).kind, Kind::none) << name_of(cause);
  }
}

TEST(RestartBudget, AfterAFailureALostNodeIsWaitedForIfOnSaysSo) {
  RestartPolicy p = policy(3);
  RestartBudget waits(p, 0);
  EXPECT_TRUE(waits.waits_for_nodes());
  EXPECT_EQ(waits.after(failed(1), kLost).kind, Kind::restart);
  p.on = {RestartCause::failure};
  RestartBudget does_not(p, 0);
  EXPECT_FALSE(does_not.waits_for_nodes());
  EXPECT_EQ(does_not.after(failed(1), kLost).why_not,
            "a node was lost, and restart.on does not include \"node-loss\"");
  EXPECT_FALSE(RestartBudget(policy(0), 3).waits_for_nodes()) << "no restart, no wait";
}

TEST(RestartBudget, WithANodeThatStillRunsSomethingNothingIsRestarted) {
  RestartBudget budget(policy(3), 3);
  EXPECT_EQ(budget.after(failed(1), kStuck).why_not,
            "a node did not confirm that its processes are gone");
  EXPECT_EQ(budget.after(port_taken(), kStuck).kind, Kind::none);
}

TEST(RestartBudget, ATakenPortAndALostNodeAreTooMuch) {
  RestartBudget budget(policy(3), 3);
  EXPECT_EQ(budget.after(port_taken(), kLost).kind, Kind::none);
}

TEST(RestartBudget, ATakenPortCostsNothingThreeTimesInARow) {
  RestartBudget budget(policy(1), 3);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(budget.after(port_taken()), (RestartDecision{Kind::new_port, Duration(0), 0, ""}));
    }
    if (round == 0) {
      EXPECT_EQ(budget.after(failed(1)).number, 1u);
    }
  }
  EXPECT_EQ(budget.after(port_taken()).kind, Kind::none);
}

TEST(RestartBudget, ATakenPortIsRepeatedWithoutRestartMaxToo) {
  RestartBudget budget(policy(0), 3);
  EXPECT_TRUE(budget.may_restart());
  EXPECT_EQ(budget.after(port_taken()).kind, Kind::new_port);
  EXPECT_EQ(budget.after(failed(1)).kind, Kind::none);
}

TEST(RestartBudget, AChosenPortThatIsTakenEndsTheRun) {
  RestartBudget budget(policy(3), 0);
  EXPECT_EQ(budget.after(port_taken()).kind, Kind::none);
}

}  // namespace
}  // namespace dlaunch
