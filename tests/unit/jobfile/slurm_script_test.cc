// Options as in sbatch(1) of Slurm 22.05.
#include "jobfile/slurm_script.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/host_name.h"

#include "jobfile/slurm_fit.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kCommand = {"/opt/dlaunch", "run", "job.yaml"};

std::string script_of(const JobSpec& job, const SlurmRequest& request = {},
                      const std::vector<std::string>& command = kCommand,
                      const std::string& folder = "/home/me/cifar") {
  const auto script = slurm_script(job, request, command, folder);
  return script ? *script : script.error().message;
}

TEST(SlurmScript, OfAJobWithEverything) {
  JobSpec job;
  job.name = "cifar-ddp";
  job.nodes = {2, 2};
  job.processes_per_node = {ProcessesPerNode::Kind::count, 4};
  SlurmRequest request;
  request.partition = "gpu";
  request.time = "2h";
  request.account = "lab7";
  request.gpus_per_node = 4;
  request.cpus_per_task = 6;
  request.options = {"--constraint=a100&nvlink", "--exclusive"};
  EXPECT_EQ(script_of(job, request), R"(#!/bin/sh
#SBATCH --job-name=cifar-ddp
#SBATCH --comment=dlaunch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=6
#SBATCH --gpus-per-node=4
#SBATCH --partition=gpu
#SBATCH --account=lab7
#SBATCH --time=2:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --open-mode=append
#SBATCH --constraint=a100&nvlink
#SBATCH --exclusive

# exec turns the script into dlaunch, which then receives the script's signals: the SIGTERM
# of --signal comes early enough for timeouts.stop to pass before the time limit.
cd /home/me/cifar || exit 1
exec /opt/dlaunch run job.yaml
)");
}

TEST(SlurmScript, OfTheSmallestJob) {
  EXPECT_EQ(script_of(JobSpec()), R"(#!/bin/sh
#SBATCH --job-name=dlaunch
#SBATCH --comment=dlaunch
#SBATCH --nodes=1
#SBATCH --signal=B:TERM@60
#SBATCH --open-mode=append

# exec turns the script into dlaunch, which then receives the script's signals: the SIGTERM
# of --signal comes early enough for timeouts.stop to pass before the time limit.
cd /home/me/cifar || exit 1
exec /opt/dlaunch run job.yaml
)");
}

TEST(SlurmScript, QuotesWhatTheShellReads) {
  const std::string script = script_of(JobSpec(), {},
                                       {"/opt/d l/dlaunch", "run", "--", "python", "a b.py",
                                        "$(touch /tmp/x)", "it's", "", "new\nline", "`id`", "\\"},
                                       "/home/o'neil/a $b");
  EXPECT_THAT(script, HasSubstr("cd '/home/o'\\''neil/a $b' || exit 1\n"));
  EXPECT_THAT(script, HasSubstr("exec '/opt/d l/dlaunch' run -- python 'a b.py' '$(touch /tmp/x)' "
                                "'it'\\''s' '' 'new\nline' '`id`' '\\'\n"));
}

TEST(SlurmScript, RefusesWhatSbatchWouldReadOtherwise) {
  for (const char* word : {"a b", "a\nexec rm", "a\"b", "a'b", "a#b", "a\\b", "\t", "\x7f"}) {
    SlurmRequest partition;
    partition.partition = word;
    EXPECT_THAT(script_of(JobSpec(), partition), HasSubstr("cannot be written into a script"))
        << word;
    SlurmRequest option;
    option.options = {std::string("--comment=") + word};
    EXPECT_THAT(script_of(JobSpec(), option), HasSubstr("cannot be written into a script")) << word;
  }
  SlurmRequest no_option;
  no_option.options = {"other.sh"};
  EXPECT_THAT(script_of(JobSpec(), no_option), HasSubstr("an option of sbatch is expected"));
}

TEST(SlurmScript, ANameIsMadeOneThatSlurmTakes) {
  JobSpec job;
  job.name = "my job #1\n\xc3\xa9";
  EXPECT_THAT(script_of(job), HasSubstr("--job-name=my-job--1---\n"));
}

TEST(JobName, AsAWordHoldsNothingThatAShellOrAPathWouldRead) {
  const std::pair<std::string, std::string> cases[] = {
      {"resnet-50_v1.5", "resnet-50_v1.5"},
      {"x\ntouch owned", "x-touch-owned"},
      {"$(touch owned)", "touch-owned-"},
      {"`id`; rm -rf ~ #", "id---rm--rf----"},
      {"it's \"quoted\"", "it-s--quoted-"},
      {"../../etc/passwd", "etc-passwd"},
      {"..", "dlaunch"},
      {"-rf", "rf"},
      {".ssh", "ssh"},
      {"a/b\\c", "a-b-c"},
      {"\xff\xfe \x1b[2J", "2J"},
      {"caf\xc3\xa9", "caf--"},
      {std::string("a\0b", 3), "a-b"},
      {"", "dlaunch"},
      {std::string(5000, 'n'), std::string(64, 'n')},
  };
  for (const auto& [name, word] : cases) EXPECT_EQ(jobfile::name_as_word(name), word) << name;
}

struct Size {
  std::function<void(JobSpec&, SlurmRequest&)> change;
  const char* lines;
};

TEST(SlurmScript, AsksForWhatTheJobNeeds) {
  const Size cases[] = {
      {[](JobSpec& job, SlurmRequest&) { job.processes = 6; }, "dlaunch\n#SBATCH --ntasks=6\n"},
      {[](JobSpec& job, SlurmRequest&) {
         job.processes = 6;
         job.nodes = {3, 3};
       },
       "dlaunch\n#SBATCH --nodes=3\n#SBATCH --ntasks=6\n"},
      {[](JobSpec& job, SlurmRequest&) {
         job.nodes = {2, 4};
         job.spares = 1;
       },
       "dlaunch\n#SBATCH --nodes=3\n#SBATCH --signal"},
      {[](JobSpec& job, SlurmRequest&) { job.spares = 1; },
       "dlaunch\n#SBATCH --nodes=2\n#SBATCH --signal"},
      {[](JobSpec& job, SlurmRequest& request) {
         job.nodes = {2, 2};
         request.gpus_per_node = 8;
       },
       "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-node=8\n"},
      {[](JobSpec& job, SlurmRequest& request) {
         job.launch = Launch::per_node;
         request.gpus_per_node = 8;
       },
       "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n"},
      {[](JobSpec& job, SlurmRequest&) {
         job.roles.resize(2);
         job.roles[0].count = 1;
         job.roles[1].count = 3;
       },
       "dlaunch\n#SBATCH --ntasks=4\n"},
      // GPUs that the job itself requests.
      {[](JobSpec& job, SlurmRequest&) {
         job.nodes = {2, 2};
         job.processes_per_node = {ProcessesPerNode::Kind::count, 4};
         job.binding.gpus = Binding::Gpus::one_per_process;
       },
       "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n"},
      {[](JobSpec& job, SlurmRequest&) {
         job.processes = 6;
         job.binding.gpus = Binding::Gpus::one_per_process;
       },
       "dlaunch\n#SBATCH --ntasks=6\n#SBATCH --gpus-per-task=1\n"},
      {[](JobSpec& job, SlurmRequest&) {
         job.roles.resize(2);
         job.roles[0].name = "worker";
         job.roles[0].count = 3;
         job.roles[1].name = "ps";
         job.roles[1].count = 2;
         job.nodes = {2, 2};
         job.binding.gpus = Binding::Gpus::one_per_process;
       },
       "dlaunch\n#SBATCH --nodes=2\n#SBATCH --ntasks=5\n#SBATCH --gpus-per-node=2\n"},
      {[](JobSpec& job, SlurmRequest&) {
         job.nodes = {3, 3};
         job.processes = 10;
         job.binding.gpus = Binding::Gpus::one_per_process;
       },
       "dlaunch\n#SBATCH --nodes=3\n#SBATCH --ntasks=10\n#SBATCH --ntasks-per-node=4\n"
       "#SBATCH --gpus-per-node=4\n"},
      // No node gets more ranks than GPUs: Slurm fills the first one otherwise.
      {[](JobSpec& job, SlurmRequest& request) {
         job.processes = 6;
         request.gpus_per_node = 4;
       },
       "dlaunch\n#SBATCH --nodes=2\n#SBATCH --ntasks=6\n#SBATCH --ntasks-per-node=4\n"
       "#SBATCH --gpus-per-node=4\n"},
      {[](JobSpec& job, SlurmRequest& request) {
         job.processes = 6;
         job.binding.gpus = Binding::Gpus::none;
         request.gpus_per_node = 4;
       },
       "dlaunch\n#SBATCH --ntasks=6\n#SBATCH --gpus-per-node=4\n"},
      // GPUs by an option of sbatch.
      {[](JobSpec& job, SlurmRequest& request) {
         job.processes_per_node.kind = ProcessesPerNode::Kind::gpu;
         request.options = {"--gres=gpu:a100:4"};
       },
       "dlaunch\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=4\n#SBATCH --signal"},
      {[](JobSpec& job, SlurmRequest& request) {
         job.processes_per_node.kind = ProcessesPerNode::Kind::gpu;
         request.options = {"-G8"};
       },
       "dlaunch\n#SBATCH --nodes=1\n#SBATCH --signal"},
      {[](JobSpec& job, SlurmRequest& request) {
         job.processes = 2;
         job.binding.gpus = Binding::Gpus::one_per_process;
         request.options = {"--gpus=2"};
       },
       "dlaunch\n#SBATCH --ntasks=2\n#SBATCH --signal"},
      {[](JobSpec& job, SlurmRequest&) { job.timeouts.stop = std::chrono::minutes(5); },
       "#SBATCH --signal=B:TERM@330\n"},
      {[](JobSpec& job, SlurmRequest&) { job.timeouts.stop = std::chrono::hours(100); },
       "#SBATCH --signal=B:TERM@65535\n"},
  };
  for (const Size& one : cases) {
    JobSpec job;
    SlurmRequest request;
    one.change(job, request);
    EXPECT_THAT(script_of(job, request), HasSubstr(one.lines));
  }
}

TEST(SlurmScript, TimeLimits) {
  const std::pair<const char*, const char*> cases[] = {
      {"90", "90"},       {"2:00:00", "2:00:00"}, {"1-12", "1-12"},    {"90s", "0:01:30"},
      {"30m", "0:30:00"}, {"2h", "2:00:00"},      {"7d", "168:00:00"}, {"UNLIMITED", "UNLIMITED"}};
  for (const auto& [text, written] : cases) {
    SlurmRequest request;
    request.time = text;
    EXPECT_THAT(script_of(JobSpec(), request),
                HasSubstr(std::string("#SBATCH --time=") + written + '\n'));
  }
  for (const char* text : {"2x", "h", "0h", "-1h", "2h30", "99999999999h", "two"}) {
    SlurmRequest request;
    request.time = text;
    EXPECT_THAT(script_of(JobSpec(), request), HasSubstr("is not a time limit")) << text;
  }
}

TEST(SlurmScript, SlurmChoosesTheNodes) {
  JobSpec job;
  job.hosts.hosts.emplace_back();
  EXPECT_THAT(script_of(job), HasSubstr("the job names its hosts"));
  JobSpec with_file;
  with_file.hosts.hostfile = "x";
  EXPECT_THAT(script_of(with_file), HasSubstr("the job names its hosts"));
  JobSpec automatic;
  automatic.hosts.from_scheduler = true;
  EXPECT_THAT(script_of(automatic), Not(HasSubstr("names its hosts")));
}

TEST(SlurmScript, RanksOnGpusNeedGpus) {
  JobSpec job;
  job.processes_per_node.kind = ProcessesPerNode::Kind::gpu;
  EXPECT_THAT(script_of(job), HasSubstr("needs --gpus-per-node"));
  JobSpec roles;
  roles.roles.resize(1);
  roles.roles[0].name = "worker";
  roles.roles[0].count = 3;
  roles.binding.gpus = Binding::Gpus::one_per_process;
  EXPECT_THAT(script_of(roles), HasSubstr("with roles needs nodes, or --gpus-per-node N"));
}

TEST(SlurmScript, NoMoreRanksThanGpus) {
  SlurmRequest two;
  two.gpus_per_node = 2;
  JobSpec each;
  each.processes_per_node = {ProcessesPerNode::Kind::count, 4};
  EXPECT_EQ(script_of(each, two),
            "\"processes_per_node: 4\" but Slurm would be asked for 2 GPUs on each node\n"
            "         try: more GPUs, or processes_per_node: 2, or binding.gpus: none");
  JobSpec all;
  all.nodes = {2, 2};
  all.processes = 5;
  EXPECT_THAT(script_of(all, two),
              HasSubstr("\"processes: 5\" but Slurm would be asked for 4 GPUs on 2 nodes\n"));
  all.binding.gpus = Binding::Gpus::none;
  EXPECT_THAT(script_of(all, two), HasSubstr("#SBATCH --ntasks=5\n"));
}

// The job fits the allocation that the script requests, as Slurm then describes it.
TEST(SlurmScript, WhatIsAskedForIsEnough) {
  struct Shape {
    std::function<void(JobSpec&)> change;
    std::optional<std::uint32_t> gpus;
    Environment told;  // from a real Slurm 22.05 for these options
  };
  const Shape shapes[] = {
      {[](JobSpec& job) {
         job.processes = 4;
         job.binding.gpus = Binding::Gpus::one_per_process;
       },
       std::nullopt,
       {{"SLURM_TASKS_PER_NODE", "3,1"},
        {"SLURM_GPUS_PER_TASK", "1"},
        {"SLURM_GPUS_ON_NODE", "3"}}},
      {[](JobSpec& job) { job.processes = 4; },
       2,
       {{"SLURM_TASKS_PER_NODE", "2(x2)"}, {"SLURM_GPUS_PER_NODE", "2"}}},
  };
  for (const Shape& shape : shapes) {
    JobSpec job;
    shape.change(job);
    SlurmRequest request;
    request.gpus_per_node = shape.gpus;
    EXPECT_THAT(script_of(job, request), HasSubstr("#!/bin/sh\n"));
    Environment environment = shape.told;
    environment["SLURM_JOB_ID"] = "17";
    environment["SLURM_JOB_NODELIST"] = "node[1-2]";
    const Status fits = check_allocation(job, **read_slurm_allocation(environment));
    EXPECT_TRUE(fits) << fits.error().message;
  }
}

}  // namespace
}  // namespace dlaunch
