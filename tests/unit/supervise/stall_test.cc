#include "supervise/stall.h"

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using namespace std::chrono_literals;
using Step = StallWatch::Step;
using State = StallWatch::State;

/// A job of two ranks on each of two nodes, whose agents send a pulse a second.
class Job {
 public:
  explicit Job(StallLimits limits = {60s, std::nullopt}, std::uint32_t ranks = 4)
      : watch_(limits), interval_(limits.interval), seen_(ranks), printed_(ranks), beaten_(ranks) {
    begin();
  }

  void begin() {
    std::vector<NodeId> nodes;
    for (std::uint32_t rank = 0; rank < seen_.size(); ++rank) nodes.push_back(node_of(rank));
    watch_.begin(nodes, now_);
    for (std::uint32_t rank = 0; rank < seen_.size(); ++rank) {
      seen_[rank] = RankPulse{};
      seen_[rank].rank = Rank(rank);
      printed_[rank] = beaten_[rank] = now_;
      watch_.started(Rank(rank), now_);
    }
  }
  void print(std::uint32_t rank) {
    seen_[rank].output += 10;
    printed_[rank] = now_;
  }
  /// Prints the value of the metric.
  void step(std::uint32_t rank, const std::string& value) {
    print(rank);
    seen_[rank].metrics = {{0, "7"}, {1, value}};
  }
  void beat(std::uint32_t rank) {
    ++seen_[rank].heartbeats;
    beaten_[rank] = now_;
  }
  void end(std::uint32_t rank) { watch_.ended(Rank(rank), now_); }
  void be_silent(std::uint32_t node) { silent_ = node; }
  void answer_again() { silent_ = 99; }

  /// Time passes; what came up, each with its time: "look 61".
  std::string pass(MonotonicTime time) {
    std::string said;
    for (const MonotonicTime until = now_ + time; now_ < until;) {
      now_ += interval_;
      for (std::uint32_t node = 0; node < 2; ++node) {
        if (node != silent_) watch_.pulse(NodeId(node), pulse_of(node), now_);
      }
      const Step step = watch_.check(now_);
      if (step == Step::none) continue;
      said += (said.empty() ? "" : ", ") + word(step) + ' ' +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now_).count());
      if (step == Step::look && answers_) (void)watch_.looked(is_hang_, now_);
    }
    return said;
  }
  /// The same, and all ranks print every `every` until then.
  std::string train(MonotonicTime time, MonotonicTime every) {
    std::string said;
    for (const MonotonicTime until = now_ + time; now_ < until;) {
      for (std::uint32_t rank = 0; rank < seen_.size(); ++rank) print(rank);
      const std::string more = pass(every);
      if (!more.empty()) said += (said.empty() ? "" : ", ") + more;
    }
    return said;
  }
  /// The launcher does not run; the ranks do.
  void sleep(MonotonicTime time) { now_ += time; }

  static NodeId node_of(std::uint32_t rank) { return NodeId(rank / 2); }
  static std::string word(Step step) {
    switch (step) {
      case Step::none:
        return "none";
      case Step::look:
        return "look";
      case Step::resumed:
        return "resumed";
      case Step::give_up:
        return "give up";
    }
    return "";
  }

  StallWatch watch_;
  bool is_hang_ = false;
  bool answers_ = true;
  MonotonicTime now_{0};

 private:
  std::vector<RankPulse> pulse_of(std::uint32_t node) {
    std::vector<RankPulse> pulse;
    for (std::uint32_t rank = 0; rank < seen_.size(); ++rank) {
      if (node_of(rank) != NodeId(node)) continue;
      RankPulse one = seen_[rank];
      const auto since = [this](MonotonicTime then) {
        return static_cast<std::uint32_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(now_ - then).count());
      };
      one.quiet_ms = since(printed_[rank]);
      one.heartbeat_ms = since(beaten_[rank]);
      pulse.push_back(one);
    }
    return pulse;
  }

  MonotonicTime interval_;
  std::uint32_t silent_ = 99;
  std::vector<RankPulse> seen_;
  std::vector<MonotonicTime> printed_;
  std::vector<MonotonicTime> beaten_;
};

TEST(Stall, RanksThatPrintAreNeverSuspected) {
  Job job;
  EXPECT_EQ(job.train(3600s, 5s), "");
  EXPECT_EQ(job.watch_.state(), State::moving);
}

TEST(Stall, TheSilenceOfAllIsLookedInto) {
  Job job;
  EXPECT_EQ(job.train(100s, 5s), "");
  EXPECT_EQ(job.pass(60s), "look 155");  // the last line came at 95
  EXPECT_EQ(job.watch_.state(), State::told);
}

TEST(Stall, OneRankThatPrintsIsEnough) {
  Job job;
  for (int i = 0; i < 100; ++i) {
    job.print(2);
    EXPECT_EQ(job.pass(10s), "");
  }
}

TEST(Stall, AJobThatHasPrintedNothingIsSilentFromItsStart) {
  Job job;
  EXPECT_EQ(job.pass(100s), "look 60");
}

TEST(Stall, WhatWasLookedIntoIsLookedAtAgainWhenTheSilenceHasDoubled) {
  Job job;
  EXPECT_EQ(job.pass(1000s), "look 60, look 120, look 240, look 480, look 960");
}

TEST(Stall, AHangIsSaidOnce) {
  Job job;
  job.is_hang_ = true;
  EXPECT_EQ(job.pass(1000s), "look 60");
  job.print(0);
  EXPECT_EQ(job.pass(30s), "resumed 1001");
}

TEST(Stall, NothingIsSaidOfAJobThatMovesWhileItIsLookedInto) {
  Job job;
  job.answers_ = false;
  EXPECT_EQ(job.pass(61s), "look 60");
  job.print(0);
  EXPECT_EQ(job.pass(3s), "");
  EXPECT_FALSE(job.watch_.looked(true, job.now_));
  EXPECT_EQ(job.watch_.state(), State::moving);
  EXPECT_EQ(job.pass(56s), "");
  EXPECT_EQ(job.pass(10s), "look 121");
}

TEST(Stall, APauseIsSuspectedOnce) {
  Job job;
  EXPECT_EQ(job.train(300s, 5s), "");
  EXPECT_EQ(job.pass(95s), "look 355");
  EXPECT_EQ(job.train(300s, 5s), "resumed 396");
  EXPECT_EQ(job.pass(95s), "");
  EXPECT_EQ(job.watch_.suspicious_after(), MonotonicTime(200s));
  EXPECT_EQ(job.train(300s, 5s), "");
  EXPECT_EQ(job.pass(300s), "look 1285");  // silent since 1085
}

TEST(Stall, APauseIsForgottenAfter150TimesItsLength) {
  Job job;
  EXPECT_EQ(job.train(100s, 5s), "");
  EXPECT_EQ(job.pass(95s), "look 155");
  (void)job.train(149 * 100s, 5s);
  EXPECT_EQ(job.watch_.suspicious_after(), MonotonicTime(200s));
  (void)job.train(105s, 5s);
  EXPECT_EQ(job.watch_.suspicious_after(), MonotonicTime(60s));
}

TEST(Stall, AHangThatEndedIsNoPauseThatMayComeAgain) {
  Job job;
  EXPECT_EQ(job.train(100s, 5s), "");
  job.is_hang_ = true;
  EXPECT_EQ(job.pass(500s), "look 155");
  EXPECT_EQ(job.train(100s, 5s), "resumed 601");
  EXPECT_EQ(job.watch_.suspicious_after(), MonotonicTime(60s));
}

TEST(Stall, TheFirstStepIsNoRhythm) {
  Job job;
  EXPECT_EQ(job.pass(120s), "look 60, look 120");
  EXPECT_EQ(job.train(100s, 1s), "resumed 121");
  EXPECT_EQ(job.watch_.suspicious_after(), MonotonicTime(60s));
}

TEST(Stall, FromTheFirstHeartbeatOnOnlyHeartbeatsCount) {
  Job job;
  job.beat(0);
  EXPECT_EQ(job.pass(50s), "");
  for (int i = 0; i < 5; ++i) {
    job.print(0);
    (void)job.pass(1s);
  }
  EXPECT_EQ(job.pass(10s), "look 60");
  job.print(1);  // has no such file
  EXPECT_EQ(job.pass(2s), "resumed 66");
}

TEST(Stall, OfARankWithStepsOnlyThoseCount) {
  StallLimits limits{60s, std::nullopt};
  limits.step_metric = 1;
  Job job(limits);
  job.step(0, "1");
  EXPECT_EQ(job.pass(50s), "");
  for (int i = 0; i < 5; ++i) {
    job.print(0);  // the same step
    (void)job.pass(1s);
  }
  EXPECT_EQ(job.pass(10s), "look 60");
  job.step(0, "2");
  EXPECT_EQ(job.pass(2s), "resumed 66");
}

TEST(Stall, RanksThatHaveEndedAreNotWaitedFor) {
  Job job;
  EXPECT_EQ(job.train(100s, 5s), "");
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.end(rank);
  EXPECT_EQ(job.pass(1000s), "");
  EXPECT_EQ(job.watch_.state(), State::idle);
}

TEST(Stall, RanksThatStayBehindAreSuspectedAfterTheEndOfTheLastOneThatPrinted) {
  Job job;
  for (int i = 0; i < 200; ++i) {
    job.print(0);  // the only one that prints
    EXPECT_EQ(job.pass(5s), "");
  }
  job.end(0);
  EXPECT_EQ(job.pass(61s), "look 1060");
}

TEST(Stall, ALonelySlowPrinterIsKnownToBeOne) {
  Job job;
  std::string said;
  for (int i = 0; i < 40; ++i) {  // each every 200 s, one after the other
    job.print(static_cast<std::uint32_t>(i % 4));
    said += job.pass(50s);
  }
  EXPECT_EQ(said, "");
  for (std::uint32_t rank = 1; rank < 4; ++rank) job.end(rank);
  EXPECT_EQ(job.pass(190s), "");
}

TEST(Stall, OfANodeThatDoesNotAnswerNothingIsAssumed) {
  Job job;
  EXPECT_EQ(job.train(100s, 5s), "");
  job.be_silent(1);
  EXPECT_EQ(job.train(300s, 5s), "") << "the other node prints";
  EXPECT_EQ(job.pass(5s), "");
  job.watch_.unheard(NodeId(1), 3s, job.now_);
  EXPECT_EQ(job.pass(200s), "") << "its ranks may have printed";
  job.answer_again();
  EXPECT_EQ(job.pass(1s), "look 606");
}

TEST(Stall, ANodeWithoutNewsIsSilent) {
  Job job;
  EXPECT_EQ(job.train(100s, 5s), "");
  job.be_silent(1);
  EXPECT_EQ(job.pass(100s), "look 157") << "the report of a change takes a moment";
}

TEST(Stall, TimeInWhichTheLauncherSleptDoesNotCount) {
  Job job({60s, 90s});
  EXPECT_EQ(job.train(100s, 5s), "");
  job.sleep(10'000s);
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.print(rank);
  EXPECT_EQ(job.pass(25s), "");
  EXPECT_EQ(job.train(100s, 5s), "");
  EXPECT_EQ(job.watch_.suspicious_after(), MonotonicTime(60s));
}

TEST(Stall, AnotherAttemptBeginsAnew) {
  Job job;
  EXPECT_EQ(job.train(100s, 5s), "");
  EXPECT_EQ(job.pass(40s), "");
  job.watch_.end();
  EXPECT_EQ(job.pass(100s), "");
  job.begin();
  EXPECT_EQ(job.pass(61s), "look 300");
}

TEST(Stall, AnAttemptThatIsBeingStoppedIsNotSuspected) {
  Job job({60s, 60s});
  EXPECT_EQ(job.pass(10s), "");
  job.watch_.end();
  EXPECT_EQ(job.pass(1000s), "");
}

TEST(Stall, AJobIsGivenUpAfterItsLimitAndNotWithoutALook) {
  Job job({60s, 30s});
  job.answers_ = false;
  EXPECT_EQ(job.pass(100s), "look 30");
  EXPECT_TRUE(job.watch_.looked(false, job.now_));
  EXPECT_EQ(job.pass(100s), "give up 101");
  EXPECT_EQ(job.watch_.state(), State::given_up);
}

TEST(Stall, AJobThatWasLookedIntoIsGivenUpAtItsLimit) {
  Job job({60s, 90s});
  job.is_hang_ = true;
  EXPECT_EQ(job.pass(1000s), "look 60, give up 90");
}

TEST(Stall, TheLimitHoldsForAJobThatIsNotWatchedOtherwise) {
  Job job({std::nullopt, 90s});
  EXPECT_EQ(job.pass(1000s), "look 90, give up 91");
  EXPECT_EQ(job.watch_.suspicious_after(), std::nullopt);
}

TEST(Stall, NothingIsWatchedIfNothingIsWanted) {
  Job job({std::nullopt, std::nullopt});
  EXPECT_EQ(job.pass(100'000s), "");
}

TEST(Stall, ARankThatAnotherNodeSpeaksForIsNotHeard) {
  Job job;
  RankPulse pulse;
  pulse.rank = Rank(0);
  pulse.output = 1'000'000;
  EXPECT_EQ(job.pass(59s), "");
  job.watch_.pulse(NodeId(1), std::vector{pulse}, job.now_);
  job.watch_.pulse(NodeId(7), std::vector{pulse}, job.now_);
  EXPECT_EQ(job.pass(1s), "look 60");
}

/// A training in simulated time: its steps, and pauses that come again.
struct Training {
  MonotonicTime step;
  double jitter = 0;        // of each step and pause
  std::uint32_t every = 0;  // steps between two evaluations
  MonotonicTime evaluation{0};
  std::uint32_t saves = 0;  // steps between two checkpoints
  MonotonicTime checkpoint{0};
  MonotonicTime first_step{0};
  std::uint32_t printers = 1;  // ranks that print; the others do not
};

class Rhythms {
 public:
  explicit Rhythms(std::uint64_t seed) : dice_(seed) {
    training_.step = between(100ms, 30s);
    training_.jitter = static_cast<double>(dice_() % 40) / 100;
    training_.every = 3 + static_cast<std::uint32_t>(dice_() % 12);
    training_.evaluation = between(1s, 300s);
    training_.saves = 4 + static_cast<std::uint32_t>(dice_() % 9);
    training_.checkpoint = between(1s, 120s);
    training_.first_step = dice_() % 3 == 0 ? MonotonicTime(120s) : MonotonicTime(0);
    training_.printers = 1 + static_cast<std::uint32_t>(dice_() % 4);
  }

  MonotonicTime between(MonotonicTime low, MonotonicTime high) {
    return low + MonotonicTime(static_cast<std::int64_t>(
                     dice_() % static_cast<std::uint64_t>((high - low).count())));
  }
  MonotonicTime shaken(MonotonicTime time) {
    const double by = static_cast<double>(dice_() % 2001) / 1000 - 1;  // -1 .. 1
    return MonotonicTime(
        static_cast<std::int64_t>(static_cast<double>(time.count()) * (1 + training_.jitter * by)));
  }
  MonotonicTime next(std::uint32_t number) {
    MonotonicTime time = shaken(training_.step);
    if (number == 1) time += training_.first_step;
    if (number % training_.every == 0) time += shaken(training_.evaluation);
    if (number % training_.saves == 0) time += shaken(training_.checkpoint);
    return time;
  }

  std::mt19937_64 dice_;
  Training training_;
};

/// After two evaluations and two checkpoints, nothing that is at most twice as long as what was
/// learned is suspected; a stop is found within the promised time. The last line says how many
/// pauses were longer than that, which none is in the first thousand rhythms, and how often dlaunch
/// looked while it learned. DLAUNCH_RHYTHMS=1000 runs a thousand of them (tests/run.sh --all): a
/// minute of one core.
TEST(Stall, InSimulatedRhythms) {
  const char* const wanted = std::getenv("DLAUNCH_RHYTHMS");
  const std::uint64_t last = wanted == nullptr ? 250 : std::strtoull(wanted, nullptr, 10);
  ASSERT_GT(last, 0U);
  std::uint64_t pauses = 0;
  std::uint64_t longer = 0;
  std::uint64_t first_pauses = 0;
  std::uint64_t first_looks = 0;
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    Rhythms rhythms(seed);
    const Training& training = rhythms.training_;
    Job job;
    const std::uint32_t cycle = std::max(training.every, training.saves);
    const std::uint32_t learned = 2 * cycle + 1;
    MonotonicTime longest{0};
    MonotonicTime due{0};
    for (std::uint32_t number = 1; number <= learned + 2 * cycle; ++number) {
      due += rhythms.next(number);
      // One pause alone was learned; both together may be longer than twice that.
      const bool is_new = number > learned && due - job.now_ > 2 * longest && due - job.now_ > 58s;
      if (number > 1) longest = std::max(longest, due - job.now_);
      const std::string said = job.pass(due - job.now_);
      for (std::uint32_t rank = 0; rank < training.printers; ++rank) job.print(rank);
      const bool is_suspected = said.find("look") != std::string::npos;
      if (number > learned && !is_new)
        ASSERT_FALSE(is_suspected) << "seed " << seed << ": " << said;
      ++(number <= learned ? first_pauses : is_new ? longer : pauses);
      first_looks += number <= learned && is_suspected ? 1 : 0;
    }
    (void)job.pass(1s);
    const auto promised = job.watch_.suspicious_after();
    ASSERT_TRUE(promised);
    ASSERT_LE(*promised, std::max<MonotonicTime>(60s, 2 * longest + 4s)) << "seed " << seed;
    const std::string said = job.pass(*promised + 2s);
    ASSERT_EQ(said.substr(0, 4), "look") << "seed " << seed;
  }
  std::cout << last << " rhythms: no look in " << pauses << " pauses, not counting " << longer
            << " longer than twice what was learned; " << first_looks << " looks in the "
            << first_pauses << " pauses from which dlaunch learned\n";
  if (last <= 1000) EXPECT_EQ(longer, 0U);
}

}  // namespace
}  // namespace dlaunch
