// Variables as sbatch(1) and srun(1) of Slurm 22.05 and 24.11 document them (OUTPUT ENVIRONMENT
// VARIABLES); the values were seen in real allocations of 22.05.8.
#include "jobfile/slurm_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/resolve_hosts.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

Environment two_nodes(const Environment& more = {}) {
  Environment environment = {{"SLURM_JOB_ID", "17"},
                             {"SLURM_JOB_NODELIST", "node[1-2]"},
                             {"SLURM_JOB_CPUS_PER_NODE", "6(x2)"},
                             {"SLURM_TASKS_PER_NODE", "3(x2)"}};
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

/// "node1 3/6/2, node2 3/6/2 gpus 4": tasks, CPUs and GPUs of each, GPUs of all; or the error.
std::string shown(const Environment& environment) {
  const auto read = read_slurm_allocation(environment);
  if (!read) return read.error().message;
  if (!*read) return "none";
  std::string text;
  for (const SlurmNode& node : (*read)->nodes) {
    text += (text.empty() ? "" : ", ") + node.name + ' ' + std::to_string(node.tasks) + '/' +
            std::to_string(node.cpus) + (node.gpus > 0 ? '/' + std::to_string(node.gpus) : "");
  }
  if ((*read)->gpus > 0) text += " gpus " + std::to_string((*read)->gpus);
  return text;
}

std::string counts(const std::string& text, std::size_t most = 8) {
  const auto read = jobfile::read_repeated_counts(text, most);
  if (!read) return "none";
  std::string out;
  for (const int n : *read) out += (out.empty() ? "" : " ") + std::to_string(n);
  return out;
}

TEST(RepeatedCounts, AsSlurmCompressesThem) {
  EXPECT_EQ(counts("2(x3),1"), "2 2 2 1");
  EXPECT_EQ(counts("1"), "1");
  EXPECT_EQ(counts("72(x2),36"), "72 72 36");
  EXPECT_EQ(counts("1,2,3"), "1 2 3");
  EXPECT_EQ(counts("0(x8)"), "0 0 0 0 0 0 0 0");
}

TEST(RepeatedCounts, NothingElse) {
  for (const char* text :
       {"", ",", "2(x3", "2(x0)", "2(x)", "(x3)", "2(3)", "x", "-1", "2(x-1)", "1,", "2(x3)1",
        "1(x9)", "1(x8),1", "1(x99999999999999999999)", "99999999999999", "1 ,2", "1;2"})
    EXPECT_EQ(counts(text), "none") << text;
}

TEST(SlurmAllocation, IsAJobWithNodes) {
  EXPECT_EQ(shown({}), "none");
  EXPECT_EQ(shown({{"SLURM_JOB_ID", "17"}}), "none");
  EXPECT_EQ(shown({{"SLURM_JOB_NODELIST", "node1"}}), "none");
  EXPECT_EQ(shown({{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", "node1"}}), "node1 0/0");
}

struct Case {
  Environment more;
  const char* result;
};

TEST(SlurmAllocation, TellsTasksAndCpus) {
  const Case cases[] = {
      {{}, "node1 3/6, node2 3/6"},
      {{{"SLURM_JOB_NODELIST", "a,b[07-08]"},
        {"SLURM_JOB_CPUS_PER_NODE", "72(x2),36"},
        {"SLURM_TASKS_PER_NODE", "2(x2),1"}},
       "a 2/72, b07 2/72, b08 1/36"},
      // Slurm sets one task on each node if no number of tasks was requested.
      {{{"SLURM_TASKS_PER_NODE", "1(x2)"}}, "node1 0/6, node2 0/6"},
      {{{"SLURM_TASKS_PER_NODE", "2,1"}}, "node1 2/6, node2 1/6"},
      // In the step of srun --pty: the step's numbers.
      {{{"SLURM_STEP_ID", "0"}, {"SLURM_TASKS_PER_NODE", "1"}}, "node1 0/6, node2 0/6"},
  };
  for (const Case& one : cases) EXPECT_EQ(shown(two_nodes(one.more)), one.result);
}

// Values of real allocations of two nodes with four GPUs each, for the option named.
TEST(SlurmAllocation, TellsGpus) {
  const Case cases[] = {
      // --gpus-per-node=2
      {{{"SLURM_GPUS_PER_NODE", "2"}, {"SLURM_GPUS_ON_NODE", "2"}}, "node1 3/6/2, node2 3/6/2"},
      {{{"SLURM_GPUS_PER_NODE", "a100:4"}}, "node1 3/6/4, node2 3/6/4"},
      {{{"SLURM_GPUS_PER_NODE", "volta:3,kepler:1"}}, "node1 3/6/4, node2 3/6/4"},
      {{{"SLURM_GPUS_PER_NODE", "gpu:a100:8(S:0-1)"}}, "node1 3/6/8, node2 3/6/8"},
      // --gres=gpu:2; salloc with it sets nothing
      {{{"SLURM_GPUS_ON_NODE", "2"}}, "node1 3/6/2, node2 3/6/2"},
      {{{"SLURM_JOB_GPUS", "0,1,3"}}, "node1 3/6/3, node2 3/6/3"},
      {{{"SLURM_JOB_GPUS", "0,4-6"}}, "node1 3/6/4, node2 3/6/4"},
      // -n4 --gpus-per-task=1
      {{{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_GPUS_ON_NODE", "3"}, {"SLURM_TASKS_PER_NODE", "3,1"}},
       "node1 3/6/3, node2 1/6/1"},
      {{{"SLURM_GPUS_PER_TASK", "a100:2"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}},
       "node1 0/6/2, node2 0/6/2"},
      // --gpus=3: two on the first node, which salloc does not report
      {{{"SLURM_GPUS", "3"}, {"SLURM_GPUS_ON_NODE", "2"}}, "node1 3/6/2, node2 3/6/1 gpus 3"},
      {{{"SLURM_GPUS", "3"}}, "node1 3/6, node2 3/6 gpus 3"},
      // nothing reports GPUs
      {{{"SLURM_GPUS_PER_NODE", "0"}}, "node1 3/6, node2 3/6"},
      {{{"SLURM_GPUS_PER_NODE", "many"}}, "node1 3/6, node2 3/6"},
      {{{"SLURM_GPUS_PER_NODE", "99999999999"}}, "node1 3/6, node2 3/6"},
      {{{"SLURM_GPUS_PER_TASK", "1000000"}}, "node1 3/6, node2 3/6"},
      {{{"SLURM_JOB_GPUS", "3-0"}}, "node1 3/6, node2 3/6"},
  };
  for (const Case& one : cases) EXPECT_EQ(shown(two_nodes(one.more)), one.result);
  EXPECT_EQ(shown({{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", "node1"}, {"SLURM_GPUS", "4"}}),
            "node1 0/0/4 gpus 4");
}

// What srun --gres=gpu:N must request on each node; 0: nothing.
TEST(SlurmAllocation, TellsWhatAStepMustAskFor) {
  const auto asked = [](const Environment& more) {
    const auto read = read_slurm_allocation(two_nodes(more));
    std::string text;
    for (const SlurmNode& node : (*read)->nodes) text += ' ' + std::to_string(node.step_gpus);
    return text;
  };
  EXPECT_EQ(asked({{"SLURM_GPUS_PER_NODE", "2"}}), " 0 0");
  EXPECT_EQ(asked({{"SLURM_GPUS_ON_NODE", "2"}}), " 0 0");
  EXPECT_EQ(asked({{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_TASKS_PER_NODE", "3,1"}}), " 3 0");
  EXPECT_EQ(asked({{"SLURM_GPUS_PER_TASK", "2"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}}), " 4 4");
  EXPECT_EQ(asked({{"SLURM_GPUS", "6"}, {"SLURM_GPUS_ON_NODE", "4"}}), " 4 2");
  EXPECT_EQ(asked({{"SLURM_GPUS", "6"}}), " 0 0");
}

TEST(SlurmAllocation, NamesTheVariableThatCannotBeRead) {
  const Case cases[] = {
      {{{"SLURM_TASKS_PER_NODE", "3"}},
       "SLURM_TASKS_PER_NODE should list 2 numbers in the form \"2(x3),1\", but is \"3\""},
      {{{"SLURM_JOB_CPUS_PER_NODE", "x"}},
       "SLURM_JOB_CPUS_PER_NODE should list 2 numbers in the form \"2(x3),1\", but is \"x\""},
      {{{"SLURM_JOB_NODELIST", "node[1-"}}, "SLURM_JOB_NODELIST, character 5: "},
  };
  for (const Case& one : cases) EXPECT_THAT(shown(two_nodes(one.more)), HasSubstr(one.result));
}

// sbatch(1): SLURM_MEM_PER_NODE is --mem, _CPU --mem-per-cpu, _GPU --mem-per-gpu, in MiB.
TEST(SlurmAllocation, TellsTheMemory) {
  const Case cases[] = {
      {{}, ""},
      {{{"SLURM_MEM_PER_NODE", "16384"}}, "16 GiB of memory each"},
      {{{"SLURM_MEM_PER_NODE", "0"}}, ""},
      {{{"SLURM_MEM_PER_CPU", "100"}}, "600 MiB of memory each"},
      {{{"SLURM_MEM_PER_CPU", "2048"}, {"SLURM_JOB_CPUS_PER_NODE", "8,5"}},
       "10 GiB to 16 GiB of memory each"},
      {{{"SLURM_MEM_PER_GPU", "1536"}, {"SLURM_GPUS_ON_NODE", "3"}}, "4.5 GiB of memory each"},
      {{{"SLURM_MEM_PER_CPU", "99999999999999999"}}, "6442450944 GiB of memory each"},
      {{{"SLURM_MEM_PER_NODE", "1024"},
        {"SLURM_JOB_NODELIST", "a"},
        {"SLURM_JOB_CPUS_PER_NODE", "6"},
        {"SLURM_TASKS_PER_NODE", "3"}},
       "1 GiB of memory"},
      {{{"SLURM_MEM_PER_NODE", "x"}}, ""},
  };
  for (const Case& one : cases)
    EXPECT_EQ(memory_text(**read_slurm_allocation(two_nodes(one.more))), one.result);
}

// https://slurm.schedmd.com/heterogeneous_jobs.html, "Environment Variables".
TEST(SlurmAllocation, AHeterogeneousJobIsRefused) {
  EXPECT_TRUE(check_one_component(two_nodes()));
  EXPECT_TRUE(check_one_component(two_nodes({{"SLURM_HET_SIZE", "1"}})));
  const Status refused =
      check_one_component(two_nodes({{"SLURM_HET_SIZE", "2"},
                                     {"SLURM_JOB_ID_HET_GROUP_0", "17"},
                                     {"SLURM_JOB_ID_HET_GROUP_1", "18"},
                                     {"SLURM_JOB_NODELIST_HET_GROUP_0", "node[1-2]"},
                                     {"SLURM_JOB_NODELIST_HET_GROUP_1", "node3"}}));
  EXPECT_THAT(refused.error().message,
              HasSubstr("Slurm job 17 is heterogeneous: 2 components (node[1-2]; node3)"));
  EXPECT_EQ(refused.error().exit_code, exit_code::kJobFile);
  EXPECT_THAT(check_one_component(two_nodes({{"SLURM_PACK_SIZE", "3"}})).error().message,
              HasSubstr("3 components, and"));
}

TEST(SlurmAllocation, TellsWhenItEnds) {
  EXPECT_EQ((*read_slurm_allocation(two_nodes()))->end, std::nullopt);
  const auto end = [](const char* number) {
    return (*read_slurm_allocation(two_nodes(
                {{"SLURM_JOB_START_TIME", "1795200000"}, {"SLURM_JOB_END_TIME", number}})))
        ->end;
  };
  EXPECT_EQ(end("1795300000"), std::chrono::seconds(1795300000));
  EXPECT_EQ(end("9000000001"), std::nullopt);
  EXPECT_EQ(end("9223372036854775807"), std::nullopt);
  EXPECT_EQ(end("0"), std::nullopt);
  // Left by a dlaunch in whose job sbatch was called.
  EXPECT_EQ((*read_slurm_allocation(two_nodes({{"SLURM_JOB_END_TIME", "1795300000"}})))->end,
            std::nullopt);
}

TEST(SlurmAllocation, OneDlaunchOnly) {
  EXPECT_TRUE(check_single_task({}));
  EXPECT_TRUE(check_single_task(
      {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}));
  const Status several = check_single_task(
      {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "3"}});
  ASSERT_FALSE(several);
  EXPECT_THAT(several.error().message,
              HasSubstr("srun started 8 copies of dlaunch (this is task 3"));
}

// ---- the result of resolve_hosts()

std::string resolved(const JobSpec& job, const Environment& environment) {
  HostInput input;
  input.environment = environment;
  const auto hosts = resolve_hosts(job, input);
  if (!hosts) return hosts.error().message;
  std::string text = hosts->in_slurm ? "srun:" : "other:";
  for (const HostSpec& host : hosts->hosts)
    text += ' ' + host.name + ':' + std::to_string(host.slots);
  return text;
}

TEST(SlurmHosts, AreTheDefaultInsideAnAllocation) {
  EXPECT_EQ(resolved(JobSpec(), two_nodes()), "srun: node1:3 node2:3");
  EXPECT_EQ(resolved(JobSpec(), {}), "other:");
}

TEST(SlurmHosts, ExplicitHostsWin) {
  JobSpec job;
  job.hosts.hosts.emplace_back();
  job.hosts.hosts.back().name = "x";
  EXPECT_EQ(resolved(job, two_nodes()), "other: x:0");
}

TEST(SlurmHosts, AsTheJobIsToBeConnected) {
  using Via = Connect::Via;
  const std::pair<std::string_view, const char*> cases[] = {{Via::slurm, "srun: node1:3 node2:3"},
                                               {Via::local, "other:"},
                                               {Via::ssh, "other:"},
                                               {Via::command, "other:"}};
  for (const auto& [via, result] : cases) {
    JobSpec job;
    job.connect.via = via;
    EXPECT_EQ(resolved(job, two_nodes()), result);
  }
  JobSpec over_ssh;
  over_ssh.connect.via = Via::ssh;
  over_ssh.hosts.from_scheduler = true;
  EXPECT_EQ(resolved(over_ssh, two_nodes()), "other: node1:3 node2:3");
}

TEST(SlurmHosts, SrunNeedsAnAllocation) {
  JobSpec job;
  job.connect.via = Connect::Via::slurm;
  EXPECT_THAT(resolved(job, {}), HasSubstr("SLURM_JOB_ID is not set"));
}

}  // namespace
}  // namespace dlaunch
