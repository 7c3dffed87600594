#include "runs/run_index.h"
#include "runs/run_view.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

RunWitness live_here() {
  RunWitness witness;
  witness.record = RunRecord{};
  witness.record->host = witness.host = "gpu01";
  witness.record->boot_id = witness.boot_id = "boot-1";
  witness.record->locked = true;
  witness.alive_lock = LockSeen::held;
  witness.stopping_lock = LockSeen::free;
  witness.engine_exists = true;
  return witness;
}

RunEnding ended_with(int code, const char* cause) {
  RunEnding ending;
  ending.exit_code = code;
  ending.cause = cause;
  return ending;
}

TEST(RunState, ASummaryIsTheLastWord) {
  RunWitness witness = live_here();  // its engine is still cleaning up
  witness.ending = ended_with(0, "success");
  EXPECT_EQ(state_of_run(witness), RunState::done);
  witness.ending = ended_with(7, "exit-code");
  EXPECT_EQ(state_of_run(witness), RunState::failed);
  witness.ending = ended_with(143, "cancelled");
  EXPECT_EQ(state_of_run(witness), RunState::stopped);
  witness.record.reset();  // of a version that wrote no run.json
  EXPECT_EQ(state_of_run(witness), RunState::stopped);
}

TEST(RunState, ALockThatIsHeldProvesLifeWhereverItIs) {
  RunWitness witness = live_here();
  EXPECT_EQ(state_of_run(witness), RunState::running);
  witness.engine_exists = false;  // in another PID namespace
  EXPECT_EQ(state_of_run(witness), RunState::running);
  witness.host = "gpu02";
  witness.boot_id = "boot-2";
  EXPECT_EQ(state_of_run(witness), RunState::running);
  witness.stopping_lock = LockSeen::held;
  EXPECT_EQ(state_of_run(witness), RunState::stopping);
}

TEST(RunState, ARebootIsNoKilledLauncher) {
  RunView view;
  view.witness = live_here();
  EXPECT_EQ(state_text(view), "lost: its launcher was killed");
  view.witness.boot_id = "boot-2";
  EXPECT_EQ(state_text(view), "lost: its machine was rebooted");
  view.witness.boot_id = "";  // unknown
  EXPECT_EQ(state_text(view), "lost: its launcher was killed");
}

TEST(RunState, WithoutLocksTheProcessIsTheWitness) {
  for (const LockSeen lock : {LockSeen::unknown, LockSeen::free}) {
    RunWitness witness = live_here();
    witness.alive_lock = lock;
    EXPECT_EQ(state_of_run(witness), RunState::running);
    witness.engine_exists = false;
    EXPECT_EQ(state_of_run(witness), RunState::lost);
  }
}

TEST(RunState, AnotherBootOfThisMachineHasLostIt) {
  RunWitness witness = live_here();
  witness.alive_lock = LockSeen::free;
  witness.boot_id = "boot-2";  // the pid may be another process's now
  EXPECT_EQ(state_of_run(witness), RunState::lost);
}

TEST(RunState, AFreeLockOnAnotherMachineProvesNothing) {
  RunWitness witness = live_here();
  witness.alive_lock = LockSeen::free;
  witness.host = "gpu02";
  witness.boot_id = "boot-2";
  EXPECT_EQ(state_of_run(witness), RunState::unknown);
}

TEST(RunState, AContainerOfTheSameMachineIsHere) {
  RunWitness witness = live_here();
  witness.alive_lock = LockSeen::free;
  witness.engine_exists = false;
  witness.host = "container-7";
  EXPECT_EQ(state_of_run(witness), RunState::lost);
}

TEST(WordForRun, IsTheIdOnlyWhereCommandsLook) {
  EXPECT_EQ(word_for_run("runs/20261121-151200-k3f"), "20261121-151200-k3f");
  EXPECT_EQ(word_for_run("lg 2/20261121-151200-k3f"), "'lg 2/20261121-151200-k3f'");
  EXPECT_EQ(word_for_run("/x/runs/20261121-151200-k3f"), "/x/runs/20261121-151200-k3f");
}

}  // namespace
}  // namespace dlaunch
