// The first job file of a folder.
#include "jobfile/launch_lines/job_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/job_reader.h"

namespace dlaunch::jobfile {
namespace {

using testing::HasSubstr;
using testing::Not;

DraftInput folder(std::vector<FoundFile> files) {
  return {std::move(files), {}, "sample", "job.yaml", ""};
}

std::string text_of(const DraftInput& input) {
  const auto draft = draft_job(input);
  return draft ? draft->text : "error: " + draft.error().message;
}

/// The draft must be a job file.
JobSpec job_of(const DraftInput& input) {
  const std::string text = text_of(input);
  const auto job = read_job({text, "job.yaml", {}, {}});
  EXPECT_TRUE(job) << job.error().message << '\n' << text;
  return job.value_or(JobSpec{});
}

const std::string& command_of(const JobSpec& job) {
  return job.command.line;
}

TEST(JobDraft, OfATorchrunLine) {
  const DraftInput input = folder({{"train.sh",
                                    "export NCCL_DEBUG=INFO\ntorchrun --standalone "
                                    "--nproc_per_node 4 --max_restarts 2 train.py \"$@\"\n"},
                                   {"train.py", "import torch\n"}});
  const JobSpec job = job_of(input);
  EXPECT_EQ(command_of(job), "python3 train.py");
  EXPECT_EQ(job.processes_per_node.count, 4U);
  EXPECT_EQ(job.restart.max, 2U);
  EXPECT_EQ(job.name, "sample");
  EXPECT_THAT(text_of(input), HasSubstr("from train.sh:2 (torchrun)"));
  EXPECT_THAT(text_of(input), HasSubstr("NCCL_DEBUG: INFO"));
}

TEST(JobDraft, OfAnSbatchScript) {
  const DraftInput input =
      folder({{"b.sh", "torchrun x.py\n"},
              {"a.sbatch",
               "#!/bin/bash\n#SBATCH -J bert\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n"
               "#SBATCH -t 2:00:00\n#SBATCH -p gpu\nmodule load cuda\nsrun python train.py\n"}});
  const JobSpec job = job_of(input);
  EXPECT_EQ(job.name, "bert");
  EXPECT_EQ(job.processes_per_node.count, 4U);
  EXPECT_EQ(job.setup, "module load cuda");
  const std::string text = text_of(input);
  EXPECT_THAT(text, HasSubstr("run: 2h"));
  EXPECT_THAT(text, HasSubstr("# nodes: 2\n")) << "the machines are not known";
  EXPECT_THAT(text, HasSubstr("dlaunch submit --nnodes 2 --partition gpu"));
  EXPECT_THAT(text, HasSubstr("Also found: b.sh:1"));
}

TEST(JobDraft, OfMpirunWithHosts) {
  const DraftInput input =
      folder({{"run.sh", "mpirun -np 4 -H a:2,b:2 -x PATH --bind-to core ./solver\n"}});
  const JobSpec job = job_of(input);
  EXPECT_EQ(command_of(job), "./solver");
  EXPECT_EQ(job.framework, Framework::mpi);
  EXPECT_EQ(job.processes, 4U);
  EXPECT_THAT(text_of(input), HasSubstr("hosts: \"a:2,b:2\"\n"));
}

TEST(JobDraft, SaysWhatItLeavesOut) {
  const std::string text =
      text_of(folder({{"run.sh",
                       "export RANK=0 WANDB_API_KEY=secret-value\n"
                       "torchrun --nproc_per_node $N --rdzv_endpoint $H:1 "
                       "--master_port 1 train.py --data $DATA --out $(date +%F)/x\n"}}));
  EXPECT_THAT(text, HasSubstr("# Left out:\n"));
  EXPECT_THAT(text, HasSubstr("--rdzv_endpoint $H:1: not needed: dlaunch finds"));
  EXPECT_THAT(text, HasSubstr("rendezvous.port 1: not needed"));
  EXPECT_THAT(text, HasSubstr("RANK: dlaunch sets these"));
  EXPECT_THAT(text, HasSubstr("in env: $(date +%F)/x, $DATA"));
  EXPECT_THAT(text, HasSubstr("python3 train.py --data $DATA --out $(date +%F)/x\"\n"));
  EXPECT_THAT(text, HasSubstr("WANDB_API_KEY"));
  EXPECT_THAT(text, Not(HasSubstr("secret-value")));
  EXPECT_THAT(text, HasSubstr("processes_per_node: auto"));
}

TEST(JobDraft, KeepsWhatOnlyTheShellExpands) {
  const DraftInput input =
      folder({{"run.sh", "torchrun t.py --n=${N%.*} ${R:+--resume \"$R\"} '$5'\n"}});
  EXPECT_EQ(command_of(job_of(input)), "python3 t.py --n=${N%.*} ${R:+--resume \"$R\"} '$5'");
}

TEST(JobDraft, OfATrainingScript) {
  const DraftInput input = folder({{"model.py", "import jax\n"},
                                   {"test_train.py", "if __name__ == '__main__': x()\n"},
                                   {"train.py", "import os\nimport jax.numpy as jnp\n"},
                                   {"requirements.txt", "jax\n"},
                                   {"Dockerfile", "FROM python:3.12\n"}});
  const JobSpec job = job_of(input);
  EXPECT_EQ(command_of(job), "python3 train.py");
  EXPECT_EQ(job.framework, Framework::jax);
  const std::string text = text_of(input);
  EXPECT_THAT(text, HasSubstr("# Guessed from the script's name"));
  EXPECT_THAT(text, HasSubstr("requirements.txt"));
  EXPECT_THAT(text, HasSubstr("# container:\n#   image: sample\n"));
  EXPECT_THAT(text, Not(HasSubstr("test_train")));
}

TEST(JobDraft, OfADockerfile) {
  const JobSpec job = job_of(folder(
      {{"Dockerfile", "FROM x\nCMD [\"torchrun\", \"--nproc_per_node=2\", \"main.py\"]\n"}}));
  EXPECT_EQ(command_of(job), "python3 main.py");
  EXPECT_EQ(job.processes_per_node.count, 2U);
  EXPECT_EQ(job_of(folder({{"Dockerfile", "CMD python app.py --x 'a b'\n"}})).command.line,
            "python app.py --x 'a b'");
  const JobSpec both = job_of(folder({{"Dockerfile",
                                       "CMD old\nENTRYPOINT [\"torchrun\", \\\n  "
                                       "\"--nproc_per_node=2\"]\nCMD [\"main.py\", \"a b\"]\n"}}));
  EXPECT_EQ(command_of(both), "python3 main.py 'a b'");
  EXPECT_EQ(both.processes_per_node.count, 2U);
}

TEST(JobDraft, UsesTheVirtualEnvironmentOfTheFolder) {
  const JobSpec job = job_of(folder({{".venv/bin/activate", ""}, {"main.py", ""}}));
  EXPECT_EQ(job.setup, ". .venv/bin/activate");
}

TEST(JobDraft, OfTheCommandLine) {
  DraftInput input = folder({{"other.sh", "torchrun x.py\n"}});
  input.command = {"deepspeed", "--num_gpus", "2", "train.py"};
  const JobSpec job = job_of(input);
  EXPECT_EQ(command_of(job), "python3 train.py");
  EXPECT_EQ(job.framework, Framework::deepspeed);
  EXPECT_EQ(job.processes_per_node.count, 2U);
  EXPECT_EQ(job_of({{}, {"./a", "b c"}, "x", "job.yaml", ""}).command.line, "./a 'b c'");
}

TEST(JobDraft, OfOneFile) {
  DraftInput input = folder({{"train.sh", "torchrun a.py\n"}, {"eval.sh", "torchrun b.py\n"}});
  EXPECT_EQ(job_of(input).command.line, "python3 a.py");
  input.only = "eval.sh";
  EXPECT_EQ(job_of(input).command.line, "python3 b.py");
}

TEST(JobDraft, LeavesOutWhatNoJobFileCanHave) {
  for (const char* script :
       {"#SBATCH -t UNLIMITED\nsrun -n 2 ./a", "#SBATCH --time=0\nsrun -n 2 ./a",
        "mpirun --timeout 2h ./a", "mpirun --timeout soon ./a", "mpirun -n 0 ./a",
        "mpirun -x 'A B' ./a", "mpirun -x 'A B=1' ./a", "mpirun -H 'a b c:' ./a", "srun -N x ./a",
        "torchrun --nnodes '1:x\n  y' a.py", "srun -J 'a/../b' -N 0 ./a",
        "torchrun --max_restarts many --nproc_per_node x a.py"}) {
    const DraftInput input = folder({{"run.sbatch", script}});
    const JobSpec job = job_of(input);
    EXPECT_FALSE(command_of(job).empty()) << script;
  }
  EXPECT_THAT(text_of(folder({{"a.sh", "mpirun -n 0 -x 'A B' ./a"}})),
              testing::AllOf(HasSubstr("# Left out:\n#   processes: 0: "),
                             HasSubstr("processes_per_node: auto")));
}

TEST(JobDraft, NothingLeavesAComment) {
  DraftInput input = folder({{"a\nsetup: touch P.sh", "torchrun --role 'x\nsetup: touch P' t.py"}});
  input.file = "b\nsetup: touch P.yaml";
  input.name = "c\nsetup: touch P";
  input.files.push_back({"Dockerfile", "FROM x\n"});
  const JobSpec job = job_of(input);
  EXPECT_EQ(job.setup, "");
  EXPECT_EQ(command_of(job), "python3 t.py");
}

TEST(JobDraft, HasNoSecrets) {
  const std::string text =
      text_of(folder({{"a.sh", "export HF_TOKEN=hf_1\ntorchrun t.py --k $HF_TOKEN\n"}}));
  EXPECT_THAT(text, Not(HasSubstr("hf_1")));
  EXPECT_THAT(text, HasSubstr("env_secret: [HF_TOKEN]"));
  EXPECT_THAT(text, HasSubstr("command: python3 t.py --k $HF_TOKEN\n"));
}

TEST(JobDraft, TheCommandLineIsLiteral) {
  DraftInput input = folder({});
  input.command = {"torchrun", "t.py", "$HOME", "a b", "*", "$(x)", "${A:-b}"};
  EXPECT_EQ(command_of(job_of(input)), "python3 t.py '$HOME' 'a b' '*' '$(x)' '${A:-b}'");
  input.command = {"torchrun", "--help"};
  EXPECT_THAT(text_of(input), HasSubstr("error: the command starts no program"));
}

TEST(JobDraft, NamesALaterLine) {
  EXPECT_THAT(text_of(folder({{"a.sh", "torchrun a.py\nmpirun ./b\n"}})),
              HasSubstr("Also found, below that line: mpirun."));
}

TEST(JobDraft, OfNothingIsAnError) {
  EXPECT_THAT(text_of(folder({})), HasSubstr("error: found nothing that starts a job"));
  EXPECT_THAT(text_of(folder({{"a.sh", "make\n"}, {"lib.py", ""}})), HasSubstr("error: "));
}

}  // namespace
}  // namespace dlaunch::jobfile
