#include "supervise/ledger.h"

#include <numeric>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::seconds;

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() { ledger_.begin(seconds(0)); }

  /// An attempt whose ranks all run 1 s after `second`.
  void attempt(int second, Spent line = Spent::start) {
    ledger_.begin_attempt(line, seconds(second));
    ledger_.running(seconds(second + 1));
  }
  void step(std::uint64_t step, int second) { ledger_.progress(step, seconds(second)); }
  [[nodiscard]] seconds spent(Spent line) const {
    return std::chrono::duration_cast<seconds>(ledger_.spent()[static_cast<std::size_t>(line)]);
  }
  [[nodiscard]] seconds sum() const {
    const SpentTimes& all = ledger_.spent();
    return std::chrono::duration_cast<seconds>(
        std::accumulate(all.begin(), all.end(), MonotonicTime(0)));
  }

  Ledger ledger_;
};

TEST_F(LedgerTest, ARunWithoutTrouble) {
  ledger_.turn(Spent::prepare, seconds(2));
  attempt(5);
  ledger_.progress(std::nullopt, seconds(10));
  ledger_.progress(std::nullopt, seconds(50));
  ledger_.turn(Spent::stopping, seconds(100));
  ledger_.close(seconds(101));
  EXPECT_EQ(spent(Spent::connect), seconds(2));
  EXPECT_EQ(spent(Spent::prepare), seconds(3));
  EXPECT_EQ(spent(Spent::start), seconds(1));
  EXPECT_EQ(spent(Spent::first_output), seconds(4));
  EXPECT_EQ(spent(Spent::productive), seconds(90));
  EXPECT_EQ(spent(Spent::stopping), seconds(1));
  EXPECT_EQ(sum(), seconds(101));
}

TEST_F(LedgerTest, ARankMayPrintBeforeTheLastOneRuns) {
  ledger_.begin_attempt(Spent::start, seconds(1));
  ledger_.progress(std::nullopt, seconds(2));
  ledger_.running(seconds(3));
  ledger_.close(seconds(10));
  EXPECT_EQ(spent(Spent::start), seconds(2));
  EXPECT_EQ(spent(Spent::productive), seconds(7));
  EXPECT_EQ(spent(Spent::first_output), seconds(0));
}

TEST_F(LedgerTest, AStallBeganWithTheSilence) {
  attempt(0);
  step(1, 1);
  ledger_.stalled(seconds(20), seconds(60));
  ledger_.stalled(seconds(30), seconds(70));
  step(2, 75);
  ledger_.close(seconds(100));
  EXPECT_EQ(spent(Spent::productive), seconds(39 + 25));
  EXPECT_EQ(spent(Spent::stalled), seconds(35));
}

TEST_F(LedgerTest, AStallTakesNothingFromWhatWasBefore) {
  attempt(0);
  ledger_.stalled(seconds(50), seconds(10));
  ledger_.close(seconds(12));
  EXPECT_EQ(spent(Spent::start), seconds(1));
  EXPECT_EQ(spent(Spent::stalled), seconds(11));
}

TEST_F(LedgerTest, StepsThatAnEarlierAttemptHadReachedAreRecomputed) {
  attempt(0);
  step(0, 1);
  EXPECT_EQ(ledger_.steps_lost(), std::nullopt);
  step(100, 50);
  ledger_.turn(Spent::stopping, seconds(60));
  ledger_.turn(Spent::back_off, seconds(61));
  ledger_.turn(Spent::restarting, seconds(62));
  attempt(63, Spent::restarting);
  ledger_.progress(std::nullopt, seconds(65));  // "resumed from ckpt-80"
  step(81, 66);
  EXPECT_EQ(ledger_.steps_lost(), 20u);
  step(100, 75);
  ledger_.stalled(seconds(2), seconds(78));
  step(100, 79);
  step(101, 80);
  ledger_.close(seconds(90));
  EXPECT_EQ(spent(Spent::productive), seconds(59 + 10));
  EXPECT_EQ(spent(Spent::stopping), seconds(1));
  EXPECT_EQ(spent(Spent::back_off), seconds(1));
  EXPECT_EQ(spent(Spent::restarting), seconds(2));
  EXPECT_EQ(spent(Spent::first_output), seconds(1));
  EXPECT_EQ(spent(Spent::recomputed), seconds(12));
  EXPECT_EQ(spent(Spent::stalled), seconds(3));
  EXPECT_EQ(sum(), seconds(90));
}

TEST_F(LedgerTest, AnAttemptThatGoesOnRightAfterTheLastStepLosesNothing) {
  attempt(0);
  step(100, 50);
  attempt(60, Spent::restarting);
  step(101, 65);
  EXPECT_EQ(ledger_.steps_lost(), 0u);
  ledger_.close(seconds(70));
  EXPECT_EQ(spent(Spent::recomputed), seconds(0));
}

TEST_F(LedgerTest, ProgressWhileRanksAreStoppedMeansNothing) {
  attempt(0);
  ledger_.turn(Spent::stopping, seconds(10));
  step(7, 11);
  ledger_.stalled(seconds(1), seconds(12));
  ledger_.close(seconds(20));
  EXPECT_EQ(spent(Spent::stopping), seconds(10));
}

}  // namespace
}  // namespace dlaunch
