#include "jobfile/validate.h"
#include "model/rank_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

struct Case {
  const char* text;
  const char* error;
};

class Contradiction : public testing::TestWithParam<Case> {};

TEST_P(Contradiction, NamesBothPlaces) {
  EXPECT_THAT(errors_of(read_text(GetParam().text)),
              ElementsAre("job.yaml:" + std::string(GetParam().error)));
}

const Case kCases[] = {
    {"command: x\nprocesses: 4\nprocesses_per_node: 2\n",
     "3:1: error: processes is the total, processes_per_node the number on each node; give only "
     "one of them "
     "(processes, line 2)"},
    {"command: x\nprocesses_per_node: gpu\nprocesses: 4\n",
     "3:1: error: processes is the total, processes_per_node the number on each node; give only "
     "one of them "
     "(processes_per_node, line 2)"},
    {"command: x\nframework: tensorflow\nprocesses: 4\nroles: {worker: 4}\n",
     "4:1: error: roles determine the number of processes; give either roles or processes "
     "(processes, line 3)"},
    {"command: x\nroles: {worker: 1}\n",
     "2:1: error: roles work only with framework: tensorflow or gcp (the default framework is "
     "pytorch)"},
    {"command: x\nroles: {worker: 1}\nframework: none\n",
     "3:1: error: roles work only with framework: tensorflow or gcp (roles, line 2)"},
    {"command: x\nframework: tensorflow\nlaunch: per-node\nroles: {worker: 1}\n",
     "4:1: error: roles give numbers of processes, but launch: per-node starts one per node "
     "(launch, line 3)"},
    {"command: x\nframework: tensorflow\nlaunch: once\n",
     "3:1: error: launch: once starts a single process, which cannot form a cluster; use "
     "framework: none (framework, line 2)"},
    {"command: x\nlaunch: once\nroles: {worker: 1}\nframework: tensorflow\n",
     "3:1: error: roles give numbers of processes, but launch: once starts a single one "
     "(launch, line 2)"},
    {"command: x\nmetrics: {loss: '(1)', prometheus: out.txt}\n",
     "2:24: error: metrics.prometheus must be a file whose name ends in .prom, which "
     "node_exporter requires, not \"out.txt\""},
    {"command: x\ncollect_limit: 1g\n",
     "2:1: error: collect_limit has no effect: nothing is collected"},
    {"command: x\ncollect: [{from: /a/out}, {from: /b/out/}]\n",
     "2:34: error: collect[1] has the same `to` as collect[0]"},
    {"command: x\ncollect: [{from: /a, to: r/}, {from: /b, to: r/x}]\n",
     "2:46: error: collect[1] and collect[0] have nested targets"},
    {"command: x\nstage: [{from: a.tar, to: /a}, {from: b.tar, unpack: true}]\n",
     "2:46: error: unpack needs `to`, the folder for the archive's content"},
    {"command: x\nstage: [{from: a.tar, to: /a, unpack: true, exclude: [b]}]\n",
     "2:45: error: exclude is for folders, not for archives (stage[0].unpack, line 2)"},
    {"command: x\nsync: {paths: [{from: a, to: /a}]}\nstage: [{from: b, to: //a/}]\n",
     "3:23: error: stage[0].to must differ from that of sync.paths[0], but is \"//a/\""},
    {"command: x\nsync: {paths: [{from: a, to: b}]}\n",
     "2:30: error: sync.paths[0].to must be an absolute path, the same on all nodes, but is \"b\""},
    {"command: x\nlaunch: once\nbinding: {gpus: one-per-process}\n",
     "3:11: error: the single process of launch: once starts its own workers, which need all GPUs "
     "(launch, line 2)"},
    {"command: x\nlaunch: once\nframework: none\nmpi: {launcher: mpirun}\n",
     "4:7: error: mpirun starts every rank, so mpi.launcher: mpirun needs launch: per-process "
     "(launch, line 2)"},
    {"command: x\nmpi: {launcher: mpirun, pmi: pmix}\n",
     "2:25: error: mpirun chooses how ranks meet; leave out mpi.pmi, or mpi.launcher "
     "(mpi.launcher, "
     "line 2)"},
    {"command: x\nmpi: {program: mpiexec}\n",
     "2:7: error: mpi.program names the program of mpi.launcher: mpirun; give both"},
    {"command: x\nmpi: {launcher: mpirun, program: ./bin/mpirun}\n",
     "2:25: error: mpirun is looked for on the first node: give a name that is in PATH there, or "
     "an "
     "absolute path"},
    {"command: x\nhosts: [a]\nhostfile: h\n",
     "3:1: error: hosts and hostfile both select the nodes; give only one of them (hosts, "
     "line 2)"},
    {"command: x\nhosts: []\n", "2:1: error: hosts names no host; for this machine leave it out"},
    {"command: x\nhosts: [a, 'b,a']\n",
     "2:12: error: hosts[1]: \"a\" is named twice; to run several ranks on it, give it slots "
     "(hosts[0], "
     "line 2)"},
    {"command: x\nhosts: ['n[1-2,2]']\n",
     "2:9: error: hosts[0]: \"n2\" is named twice; to run several ranks on it, give it slots"},
    {"command: x\nhosts: [auto, b]\n", "2:9: error: hosts: auto must not be in a list"},
    {"command: x\nhosts: [{name: 'a:2', slots: 4}]\n",
     "2:16: error: hosts[0]: the slots are given twice: in the name and by slots"},
    {"command: x\nhosts: [{name: 'me@a', user: you}]\n",
     "2:16: error: hosts[0]: the user is given twice: in the name and by user"},
    {"command: x\nhosts: [{name: 'n[1-2]', address: 10.0.0.1}]\n",
     "2:16: error: hosts[0]: one address cannot belong to 2 hosts"},
    {"command: x\nhosts: ['n[0-65535]', m]\n", "2:23: error: hosts: more than 65536 hosts"},
    {"command: x\nnodes: 4\nhosts: ['n[1-2]']\n",
     "3:1: error: \"nodes: 4\" but only 2 hosts are given; name 4 with --hosts, or run on "
     "2 with --nnodes 2 (nodes, line 2)"},
    {"command: x\nprocesses: 5\nhosts: ['n[1-2]:2']\n",
     "2:12: error: 5 processes, but the hosts have only 4 slots (hosts, line 3)"},
    {"command: x\nframework: tensorflow\nroles: {worker: 1, evaluator: {count: 2}}\n",
     "3:32: error: a job has at most one evaluator, not 2"},
    {"command: x\nframework: tensorflow\nroles: {chief: {count: 3}}\n",
     "3:17: error: a job has at most one chief, not 3"},
    {"command: x\nhosts: a\nnodes: 2\n",
     "3:1: error: \"nodes: 2\" but only 1 host is given; name 2 with --hosts, or run on "
     "1 with --nnodes 1 (hosts, line 2)"},
    {"command: x\nconnect: {via: local, user: me}\n",
     "2:23: error: connect.user has no effect with via: local (connect.via, line 2)"},
    {"command: x\nconnect: {via: ssh, command: [a, '{host}']}\n",
     "2:21: error: connect.command has no effect with via: ssh (connect.via, line 2)"},
    {"command: x\nconnect: {namespace: team}\n",
     "2:11: error: connect.namespace needs connect.via: kubectl"},
    {"command: x\nconnect: {via: ssh, namespace: team}\n",
     "2:21: error: connect.namespace has no effect with via: ssh (connect.via, line 2)"},
    {"command: x\nconnect: {via: command}\n",
     "2:16: error: via: command needs connect.command, such as [ssh, \"{host}\"]"},
    {"command: x\nconnect: {command: [a]}\n",
     "2:11: error: connect.command needs {host}, or it would reach the same node each time"},
    {"command: x\nconnect: {command: []}\n",
     "2:11: error: connect.command must begin with the program to run"},
    {"command: x\nconnect: {command: [a, '{host}', '{hots}']}\n",
     "2:11: error: connect.command[2]: unknown placeholder \"{hots}\"; the placeholders are "
     "{host}, "
     "{user}, {port} and {command}"},
    {"command: x\nconnect: {ssh: a, command: [a, '{host}']}\n",
     "2:19: error: connect.ssh has no effect with connect.command (connect.ssh, line 2)"},
    {"command: x\nframework: gcp\nprocesses_per_node: 4\n",
     "3:1: error: framework: gcp starts one process for each machine of the service; use processes "
     "or roles for several on a node (framework, line 2)"},
    {"command: x\nframework: gcp\nroles: {worker: 2}\n",
     "3:1: error: framework: gcp needs a chief, which has rank 0 (framework, line 2)"},
    {"command: x\nframework: tensorflow\nroles: {ps: 2, evaluator: 1}\n",
     "3:1: error: roles has neither a chief nor a worker; give at least one of them"},
    {"framework: tensorflow\nroles: {worker: {count: 1, command: x}, ps: 1}\n",
     " error: no command for the role ps; add \"command: python train.py\", or write it after --"},
    {"command: x\nsetup: y\nframework: tensorflow\nroles: {worker: {count: 1, command: [x]}}\n",
     "4:28: error: setup needs a shell, but a command that is a list is executed without one; make "
     "the command a string (setup, line 2)"},
    {"command: x\nframework: tensorflow\nroles: {worker: 0}\n",
     "3:1: error: roles has no process; give at least one worker or a chief"},
    {"command: x\nframework: tensorflow\nroles: {}\n",
     "3:1: error: roles has no process; give at least one worker or a chief"},
    {"command: x\nnodes: 4\nprocesses: 2\n",
     "3:1: error: 2 processes cannot fill 4 nodes (nodes, line 2)"},
    {"command: x\nnodes: {min: 3, max: 4}\nprocesses: 2\n",
     "3:1: error: 2 processes cannot fill 3 nodes (nodes, line 2)"},
    {"command: x\nnodes: 3\nframework: tensorflow\nroles: {worker: 2}\n",
     "4:1: error: the 2 processes of the roles cannot fill 3 nodes (nodes, line 2)"},
    {"command: x\nnodes: 50000\nprocesses_per_node: 3\n",
     "3:1: error: nodes and processes_per_node make 150000 ranks; dlaunch starts at most 100000 "
     "(nodes, line 2)"},
    {"command: [x]\nsetup: a\n",
     "2:1: error: setup needs a shell, but a command that is a list is executed without one; make "
     "the command a "
     "string (command, line 1)"},
    {"command: x\nenv: {A: 1, TOK: 2}\nenv_secret: [TOK]\n",
     "3:14: error: TOK is in env, whose values are shown, and in env_secret; remove it from one of "
     "them (env.TOK, "
     "line 2)"},
    {"command: x\nenv: {MASTER_ADDR: a}\n",
     "2:7: error: MASTER_ADDR is reserved for dlaunch; remove it from env"},
    {"command: x\nenv_pass: [A, LOCAL_RANK]\n",
     "2:15: error: LOCAL_RANK is reserved for dlaunch; remove it from env_pass"},
    {"command: x\nenv_secret: [TF_CONFIG]\n",
     "2:14: error: TF_CONFIG is reserved for dlaunch; remove it from env_secret"},
    {"command: x\ntimeouts: {fence_after: 20s}\n",
     "2:12: error: timeouts.lost_after must be more than 23s (fence_after + 3s), or ranks of a "
     "node that was given up "
     "may still run (lost_after is 15s by default)"},
    {"command: x\ntimeouts: {lost_after: 13s}\n",
     "2:12: error: timeouts.lost_after must be more than 13s (fence_after + 3s), or ranks of a "
     "node that was given up "
     "may still run (fence_after is 10s by default)"},
    {"command: x\ntimeouts: {lost_after: 1m, fence_after: 1m}\n",
     "2:28: error: timeouts.lost_after must be more than 1m3s (fence_after + 3s), or ranks of a "
     "node that was given up "
     "may still run (timeouts.lost_after, line 2)"},
};

INSTANTIATE_TEST_SUITE_P(All, Contradiction, testing::ValuesIn(kCases));

TEST(Validate, AKeyWithAnErrorOfItsOwnContradictsNothing) {
  EXPECT_THAT(errors_of(read_text("command: x\nframework: [jax]\nroles: {worker: 1}\n")),
              ElementsAre("job.yaml:2:1: error: framework must be one of pytorch, tensorflow, mpi, "
                          "horovod, deepspeed, jax, gcp, none, not a list"));
}

TEST(Validate, TheSmallestLegalLostAfterPasses) {
  EXPECT_TRUE(read_text("command: x\ntimeouts: {lost_after: 13001ms}\n"));
}

TEST(Validate, TheFileForPrometheusIsNoMetric) {
  const auto job = read_text("command: x\nmetrics: {loss: '(1)', prometheus: /run/out.prom}\n");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->prometheus, "/run/out.prom");
  EXPECT_THAT(job->metrics, ElementsAre(testing::Pair("loss", "(1)")));
}

TEST(Validate, SetupWithACommandOnTheCommandLine) {
  EXPECT_THAT(errors_of(read_text("setup: a\n", {}, {"x"})),
              ElementsAre("job.yaml:1:1: error: setup needs a shell, but a command that is a list "
                          "is executed without "
                          "one; make the command a string (the command after -- is a list)"));
}

// torchrun's set is the environment table of the torch.distributed.run documentation.
TEST(RankVariables, AreTheNamesThatDlaunchComputes) {
  for (const char* name : {"RANK",
                           "LOCAL_RANK",
                           "WORLD_SIZE",
                           "LOCAL_WORLD_SIZE",
                           "NODE_RANK",
                           "GROUP_RANK",
                           "GROUP_WORLD_SIZE",
                           "ROLE_RANK",
                           "ROLE_NAME",
                           "ROLE_WORLD_SIZE",
                           "MASTER_ADDR",
                           "MASTER_PORT",
                           "TF_CONFIG",
                           "TORCHELASTIC_RUN_ID",
                           "TORCHELASTIC_RESTART_COUNT",
                           "OMPI_COMM_WORLD_RANK",
                           "PMIX_RANK",
                           "PMI_SIZE",
                           "PMI_FD",
                           "MPI_LOCALRANKID",
                           "HOROVOD_RANK",
                           "DLAUNCH_HEARTBEAT_FILE"}) {
    EXPECT_TRUE(is_rank_variable(Framework::pytorch, name)) << name;
  }
  for (const char* name :
       {"OMP_NUM_THREADS", "PYTHONUNBUFFERED", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING", "HOROVOD_CYCLE_TIME", "rank", "RANKS", "PATH"}) {
    EXPECT_FALSE(is_rank_variable(Framework::pytorch, name)) << name;
  }
}

// dlaunch reserves names that other programs may use only where it sets them.
TEST(RankVariables, OfOneFrameworkAreTheUsersUnderOthers) {
  for (const char* name : {"AZ_BATCH_MASTER_NODE", "AZ_BATCH_HOST_LIST", "JSM_JSRUN_PORT",
                           "OMPI_UNIVERSE_SIZE", "AZ_BATCHAI_MPI_MASTER_NODE"}) {
    EXPECT_TRUE(is_rank_variable(Framework::mpi, name)) << name;
    EXPECT_TRUE(is_rank_variable(Framework::horovod, name)) << name;
    EXPECT_FALSE(is_rank_variable(Framework::pytorch, name)) << name;
  }
  for (const char* name : {"COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID",
                           "JAX_COORDINATOR_ADDRESS", "OMPI_MCA_orte_hnp_uri"}) {
    EXPECT_TRUE(is_rank_variable(Framework::jax, name)) << name;
    EXPECT_FALSE(is_rank_variable(Framework::pytorch, name)) << name;
  }
}

TEST(RankVariables, AreRefusedWhereverAJobCanNameThem) {
  EXPECT_THAT(
      errors_of(read_text("command: x\nframework: jax\nenv: {PROCESS_ID: 1}\n"
                          "env_pass: [COORDINATOR_ADDRESS]\nenv_secret: [NUM_PROCESSES]\n")),
      ElementsAre(StartsWith("job.yaml:3:7: error: PROCESS_ID is reserved for dlaunch"),
                  StartsWith("job.yaml:4:12: error: COORDINATOR_ADDRESS is reserved"),
                  StartsWith("job.yaml:5:14: error: NUM_PROCESSES is reserved for dlaunch")));
  EXPECT_THAT(errors_of(read_text("framework: tensorflow\nroles:\n"
                                  "  worker: {command: x, count: 1, env: {TF_CONFIG: a}}\n")),
              ElementsAre(StartsWith("job.yaml:3:40: error: TF_CONFIG is reserved for dlaunch")));
}

// With framework none dlaunch sets no frameworks' names, so a job may set its own.
TEST(RankVariables, OfFrameworksAreTheUsersWithoutOne) {
  EXPECT_FALSE(is_rank_variable(Framework::none, "MASTER_ADDR"));
  EXPECT_TRUE(is_rank_variable(Framework::none, "DLAUNCH_RANK"));
  EXPECT_TRUE(read_text("command: x\nframework: none\nenv: {MASTER_ADDR: a}\n"));
}

}  // namespace
}  // namespace dlaunch::jobfile
