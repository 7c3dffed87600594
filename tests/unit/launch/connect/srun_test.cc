// The texts are those of Slurm 22.05.8, each produced with the fault in question.
#include "launch/connect/connectors/srun.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/connect/connector.h"
#include "launch/connect/node_targets.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using Kind = ConnectFailure::Kind;

const Connector& connector() {
  return *find_connector("slurm");
}

ConnectEnd ended(int code, const std::string& errors, const std::string& said = "") {
  return {code << 8, "srun", errors, said};
}

TEST(Srun, IsOneTaskThatSharesWhatTheJobHas) {
  HostSpec host;
  host.name = "gpu02";
  const auto argv = connector().argv({}, host, {"exec /bin/sh -c 'x'"});
  EXPECT_THAT(*argv,
              ElementsAre("srun", "--overlap", "--unbuffered", "--cpu-bind=none", "--mem=0",
                          "--mpi=none", "--export=ALL", "--chdir=/", "--job-name=dlaunch", "-N1",
                          "-n1", "-w", "gpu02", "--", "/bin/sh", "-c", "exec /bin/sh -c 'x'"));
  EXPECT_EQ(connector().program({}), "srun");
}

// With sbatch -N2 -n4 --gpus-per-task=1 of Slurm 22.05, a step otherwise has the GPU of one task.
TEST(Srun, AsksForTheGpusOfTheNode) {
  const std::map<std::string, int> gpus = step_gpus({{"SLURM_JOB_ID", "17"},
                                                     {"SLURM_JOB_NODELIST", "node[1-2]"},
                                                     {"SLURM_GPUS_PER_TASK", "1"},
                                                     {"SLURM_TASKS_PER_NODE", "3,1"}});
  EXPECT_EQ(gpus, (std::map<std::string, int>{{"node1", 3}}));
  EXPECT_EQ(step_gpus({}), (std::map<std::string, int>()));
  std::vector<std::string> environment = {"SLURM_JOB_ID=17", "SLURM_JOB_NODELIST=node[1-2]",
                                          "SLURM_GPUS_PER_TASK=1", "SLURM_TASKS_PER_NODE=3,1"};
  ConnectRequest request{"x"};
  request.host_option = connector().prepare(environment).at("node1");
  EXPECT_THAT(*connector().argv({}, HostSpec(), request), testing::Contains("--gres=gpu:3"));
}

TEST(Srun, TakesNoOptionsOfTheJobFromTheEnvironment) {
  std::vector<std::string> environment = {"SLURM_JOB_ID=17",     "SLURM_NTASKS=8",
                                          "SLURM_GPUS=8",        "SLURM_GPUS_PER_NODE=4",
                                          "SLURM_LABELIO=1",     "SLURM_GPUS_PER_TASK=1",
                                          "SLURM_STEP_ID=0",     "PATH=/bin",
                                          "SLURM_CONF=/x",       "SRUN_CPUS_PER_TASK=4",
                                          "SLURM_MEM_PER_CPU=2", "SLURM_JOB_NODELIST=a",
                                          "SLURM_CPU_BIND=map",  "SLURM_NTASKS_PER_NODE=4"};
  prepare_for_srun(environment);
  EXPECT_THAT(environment, ElementsAre("SLURM_JOB_ID=17", "SLURM_GPUS_PER_NODE=4", "PATH=/bin",
                                       "SLURM_CONF=/x", "SLURM_JOB_NODELIST=a"));
}

struct Case {
  int code;
  const char* errors;
  Kind kind;
  const char* text;
};

TEST(Srun, SaysOneLineThatNamesTheCause) {
  const Case cases[] = {
      {1,
       "srun: error: Unable to create step for job 1: Requested node configuration is not "
       "available\n",
       Kind::final,
       "srun: Unable to create step for job 1: Requested node configuration is not available (the "
       "host "
       "is not in this allocation, or part of it is in use)"},
      {1,
       "srun: error: Unable to create step for job 2: Invalid generic resource (gres) "
       "specification\n",
       Kind::final,
       "srun: Unable to create step for job 2: Invalid generic resource (gres) specification "
       "(Slurm "
       "does not give a single node its share of --gpus, nor of --gpus-per-task if the nodes have "
       "different numbers of tasks; request --gpus-per-node)"},
      {1,
       "srun: error: Unable to create step for job 1: Job/step already completing or completed\n",
       Kind::final,
       "srun: Unable to create step for job 1: Job/step already completing or "
       "completed"},
      {143,
       "srun: cluster configuration lacks support for cpu binding\n"
       "slurmstepd-node2: error: *** STEP 1.0 ON node2 CANCELLED AT 2026-11-22T04:48:43 DUE TO "
       "TIME LIMIT ***\n"
       "srun: Job step aborted: Waiting up to 5 seconds for job step to finish.\n"
       "srun: error: Timed out waiting for job step to complete\n",
       Kind::final, "Slurm ended the job: its time limit was reached (--time)"},
      {143, "slurmstepd: error: *** STEP 1.0 ON node2 CANCELLED AT 2026-11-22T04:48:43 ***\n",
       Kind::final, "Slurm cancelled the job, or the step that connects to the node (scancel)"},
      {1, "srun: error: Node failure on node2\nsrun: Job step aborted: Waiting up to 5 seconds\n",
       Kind::final, "srun: Node failure on node2"},
      {127,
       "/bin/sh: 1: exec: /bin/nosh: not found\nsrun: error: node2: task 0: Exited with exit code "
       "127\n",
       Kind::cannot_execute,
       "srun: its command ended with code 127: /bin/sh: 1: exec: /bin/nosh: not found"},
      {3, "srun: error: node2: task 0: Exited with exit code 3\n", Kind::final,
       "srun: its command ended with code 3"},
  };
  for (const Case& one : cases) {
    const ConnectFailure failure = connector().failure(ended(one.code, one.errors));
    EXPECT_EQ(failure.text, one.text);
    EXPECT_EQ(failure.kind, one.kind) << one.text;
  }
}

TEST(Srun, AnEndOfAnOpenConnection) {
  EXPECT_EQ(connector().end({SIGKILL, "srun", "", ""}).text,
            "its connection ended: srun: was killed by SIGKILL");
  const LastWords preempted = connector().end(
      ended(143, "slurmstepd: error: *** STEP 1.0 ON n CANCELLED AT x DUE TO PREEMPTION ***\n"));
  EXPECT_EQ(preempted.text, "Slurm ended the job: it was preempted");
  EXPECT_TRUE(preempted.agent_ended);
  EXPECT_EQ(
      connector().end(ended(73, "srun: error: node2: task 0: Exited with exit code 73\n")).text,
      "");
}

TEST(Srun, ReachesAllNodesOfAnAllocationButThisMachine) {
  JobSpec job;
  for (const char* name : {"gpu01", "gpu02"}) {
    job.hosts.hosts.emplace_back();
    job.hosts.hosts.back().name = name;
  }
  job.hosts.in_slurm = true;
  const auto targets = node_targets(job, {"gpu01", {}, "me"});
  ASSERT_TRUE(targets);
  EXPECT_TRUE((*targets)[0].is_local());
  EXPECT_EQ((*targets)[1].connector, &connector());
  job.connect.via = Connect::Via::ssh;
  EXPECT_EQ((*node_targets(job, {"gpu01", {}, "me"}))[1].connector, find_connector("ssh"));
}

}  // namespace
}  // namespace dlaunch
