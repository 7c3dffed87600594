// Options of other launchers, typed to dlaunch.
#include "jobfile/launch_lines/typed_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/strings.h"

namespace dlaunch::jobfile {
namespace {

using Words = std::vector<std::string>;

std::string joined_words(const Words& words) {
  return joined(words, " ");
}

Words words_in(std::string_view line) {
  Words words;
  for (const std::string_view word : split_words(line)) words.emplace_back(word);
  return words;
}

/// As `dlaunch run`, with something after "--".
OwnCommand run_command() {
  const auto values = [](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_whole = name.size() < word.size();
    for (const char* own : {"-n", "--np", "--nproc-per-node", "--nproc_per_node", "--nnodes",
                            "--hosts", "--set", "--env", "--gpus", "--hostfile"})
      if (name == own) return is_whole ? 0 : 1;
    return name == "-q" || name == "-v" ? 0 : -1;
  };
  return {values, [](const std::string& word) { return word.ends_with(".yaml"); }, true, false};
}

TypedLine typed(std::string_view line, Launchers launchers = launcher::kAll) {
  return in_own_words(words_in(line), run_command(), launchers);
}

std::string own(std::string_view line) {
  const TypedLine read = typed(line);
  EXPECT_TRUE(read.left_out.empty())
      << line << ": " << read.left_out.front().typed << ": " << read.left_out.front().why;
  EXPECT_EQ(read.unclear, "") << line;
  return joined_words(read.words);
}

TEST(TypedLine, HasWhatDlaunchHasToo) {
  EXPECT_EQ(own("-np 4 -H a:2,b:2"), "-n 4 --hosts a:2,b:2");
  EXPECT_EQ(own("-n 3 --host a,a,b"), "-n 3 --hosts a:2,b:1");
  EXPECT_EQ(own("--host=a,b --np=2"), "-n 2 --hosts a,b");
  EXPECT_EQ(own("-H ./hosts.txt"), "--hostfile ./hosts.txt");
  EXPECT_EQ(own("--machinefile hosts -n 2"), "-n 2 --hostfile hosts");
  EXPECT_EQ(own("--standalone --nproc_per_node 2"), "--nnodes 1 --nproc-per-node 2");
  EXPECT_EQ(own("--nnodes 2 --rdzv_backend=c10d --rdzv_id job1"), "--nnodes 2");
  EXPECT_EQ(own("--master_addr 10.0.0.1 --master-port=29501"),
            "--set rendezvous.address=10.0.0.1 --set rendezvous.port=29501");
  EXPECT_EQ(own("--num_gpus 4 --num_nodes=2"), "--nnodes 2 --gpus 4");
  EXPECT_EQ(own("--nodes 1-4 --ntasks-per-node 8 --job-name bert"),
            "--nnodes 1:4 --nproc-per-node 8 --name bert");
  EXPECT_EQ(own("-w node[1-2] --time 1:30:00"), "--hosts node[1-2] --set timeouts.run=1h30m");
  EXPECT_EQ(own("--timeout 60 --allow-run-as-root --oversubscribe --tag-output -n 9"),
            "-n 9 --set timeouts.run=60s");
  EXPECT_EQ(own("--timeout 5m"), "--set timeouts.run=5m");
  EXPECT_EQ(own("-n 2 --bind-to none"), "-n 2 --set binding.cpus=none");
  EXPECT_EQ(own("--cpu_bind=no"), "--set binding.cpus=none");
  EXPECT_EQ(own("--num_processes 8 --num_machines 2 --mixed_precision bf16"),
            "-n 8 --nnodes 2 --env ACCELERATE_MIXED_PRECISION=bf16");
}

TEST(TypedLine, SetsTheEnvironment) {
  EXPECT_EQ(own("-x A=1 -x NCCL_DEBUG -x PATH"), "--env A=1 --set env_pass=[NCCL_DEBUG, PATH]");
  EXPECT_EQ(own("--genv A 1 --genv B=2"), "--env A=1 --env B=2");
  EXPECT_EQ(own("--genvlist A,B"), "--set env_pass=[A, B]");
  EXPECT_EQ(own("--mca btl_tcp_if_include eth0"), "--env OMPI_MCA_btl_tcp_if_include=eth0");
  EXPECT_EQ(own("--export=ALL,A=1"), "--env A=1");
  EXPECT_EQ(own("--gpu_ids 0,1"), "--env CUDA_VISIBLE_DEVICES=0,1");
  EXPECT_EQ(own("--gpu_ids all -n 2"), "-n 2");
}

TEST(TypedLine, CountsAgreeWithEachOther) {
  EXPECT_EQ(own("-np 8 --map-by ppr:4:node"), "--nnodes 2 --nproc-per-node 4");
  EXPECT_EQ(own("-n 8 --npernode 4"), "--nnodes 2 --nproc-per-node 4");
  EXPECT_EQ(own("--ntasks 8 --ntasks-per-node 4 -N 2"), "--nnodes 2 --nproc-per-node 4");
  EXPECT_EQ(own("--pernode"), "--nproc-per-node 1");
  for (const char* line : {"-np 7 -ppn 4", "--ntasks 8 --ntasks-per-node 4 --nodes 3",
                           "--standalone --nnodes 2", "--standalone --host a"})
    EXPECT_EQ(typed(line).left_out.size(), 1U) << line;
}

TEST(TypedLine, LeavesOutWhatHasNoMeaningHere) {
  for (const char* line :
       {"--bind-to core", "--map-by numa", "--node_rank 1", "--rdzv_endpoint host:29500",
        "--cpus-per-task 4", "--report-bindings", "--log-dir x", "--rank-by core",
        "--mca plm_rsh_agent ssh", "--launcher pdsh", "--gpus-per-node=4", "--partition gpu"}) {
    const TypedLine read = typed(std::string("-n 2 ") + line);
    ASSERT_EQ(read.left_out.size(), 1U) << line;
    EXPECT_EQ(read.left_out.front().typed, line);
    EXPECT_NE(read.left_out.front().why, "");
    EXPECT_THAT(read.words, testing::Contains("-n"));
  }
  OwnCommand submit = run_command();
  submit.is_submit = true;
  const TypedLine queued = in_own_words(words_in("--gres=gpu:2 -n 2"), submit);
  EXPECT_EQ(joined_words(queued.words), "--sbatch=--gres=gpu:2 -n 2");
  EXPECT_THAT(queued.left_out, testing::IsEmpty());
  EXPECT_EQ(typed("--gres=gpu:2").for_submit, 0U);
  EXPECT_EQ(typed("--mem 8G").for_submit, 1U);
  EXPECT_THAT(typed("-n 2 --mem=8G").words, testing::Contains("--sbatch=--mem=8G"));
}

TEST(TypedLine, AsksWhereAnOptionHasTwoMeanings) {
  const TypedLine read = typed("-n 4 -N 2");
  EXPECT_EQ(read.unclear, "-N");
  EXPECT_THAT(read.meanings, testing::UnorderedElementsAre(launcher::kOpenMpi, launcher::kSrun));
  EXPECT_EQ(joined_words(typed("-n 4 -N 2", launcher::kSrun).words), "-n 4 --nnodes 2");
  EXPECT_EQ(joined_words(typed("-n 4 -N 2", launcher::kOpenMpi).words),
            "--nnodes 2 --nproc-per-node 2");
  EXPECT_EQ(own("--ntasks-per-node=3 -N1"), "--nnodes 1 --nproc-per-node 3");
  EXPECT_EQ(own("-N 2 --ntasks-per-node 4"), "--nnodes 2 --nproc-per-node 4") << "srun's";
  EXPECT_EQ(own("--npernode 2 -x A"), "--nproc-per-node 2 --set env_pass=[A]") << "mpirun's";
  EXPECT_EQ(typed("-x node1").unclear, "-x") << "srun excludes it";
}

TEST(TypedLine, TakesNoOptionForAValue) {
  for (const char* line :
       {"--rdzv_id --dry-run -n 1", "--rdzv_backend --smoke -n 3", "--bind-to -n 2", "--bind-to",
        "-N", "-H", "-x -n 2", "-m", "--nproc_per_node -m train", "--mca btl -n 2",
        "--bind-to core -n --map-by slot"}) {
    const TypedLine read = typed(line);
    EXPECT_TRUE(read.without_value.starts_with('-')) << line;
    EXPECT_THAT(read.words, testing::IsEmpty()) << line;
  }
  EXPECT_EQ(typed("-n 2 --rdzv_id --dry-run").without_value, "--rdzv_id");
  EXPECT_EQ(own("--genv A -1 --rdzv-id -5"), "--env A=-1") << "negative numbers";
  EXPECT_EQ(own("-K"), "");
  EXPECT_EQ(own("-K1 -n 2"), "-n 2");
  EXPECT_EQ(typed("-K0 -n 2").left_out.front().typed, "-K0") << "dlaunch ends the job";
  EXPECT_EQ(typed("--mpi pmix -n 2").left_out.size(), 1U) << "srun's";
  EXPECT_EQ(own("-n2 --npernode 1"), "--nnodes 2 --nproc-per-node 1");
}

TEST(TypedLine, DlaunchsOwnOptionsTellNothingOfOthers) {
  EXPECT_EQ(own("--hosts a,b -n 2 -x NCCL_DEBUG=INFO"), "-n 2 --env NCCL_DEBUG=INFO --hosts a,b");
  EXPECT_EQ(own("--nproc_per_node 1 -x B=2"), "--nproc-per-node 1 --env B=2");
  EXPECT_EQ(own("--gpus all -x B=2"), "--env B=2 --gpus all");
  for (const char* line : {"--hosts localhost -N 2", "--env A=1 -N 2", "--hostfile hf -N 2",
                           "--gpus 1 -N 2", "-N 1 train.py --time 3", "--set a=--npernode -N 1"}) {
    const TypedLine read = typed(line);
    EXPECT_TRUE(read.unclear.starts_with('-')) << line;
    EXPECT_GE(read.meanings.size(), 2U) << line;
    for (const Launchers one : read.meanings) EXPECT_FALSE(typed(line, one).words.empty()) << line;
  }
  const TypedLine module = typed("-n 2 -m train");
  EXPECT_EQ(joined_words(module.program), "python3 -m train");
  EXPECT_EQ(typed("-m cyclic -n 2").left_out.size(), 1U) << "srun's";
}

TEST(TypedLine, HasTheImageInTheLine) {
  const TypedLine read = typed("--image x -n 2");
  EXPECT_EQ(joined_words(read.words), "-n 2 --set container.image=x");
  EXPECT_EQ(read.left_out.size(), 1U);
}

TEST(TypedLine, HasWhatTheAdviceSaysToWrite) {
  for (const auto& [line, words] :
       {std::pair{"-n 2 --log_dir out", "-n 2 --set logs.dir=out"},
        std::pair{"-n 2 --signal B:USR1@120",
                  "-n 2 --set stop_signal=USR1 --set timeouts.stop=120s"},
        std::pair{"-n 2 --signal=10", "-n 2 --set stop_signal=USR1 --set timeouts.stop=60s"},
        std::pair{"-n 2 --signal NONE@5", "-n 2"},
        std::pair{"-n 2 --config_file acc.yaml", "-n 2 acc.yaml"},
        std::pair{"-n 2 --container-mounts /a:/b,/c:/d",
                  "-n 2 --set container.mounts=[/a:/b,/c:/d]"},
        std::pair{"-n 2 --gpus-per-task 2", "-n 2"}}) {
    const TypedLine read = typed(line);
    EXPECT_EQ(joined_words(read.words), words);
    EXPECT_EQ(read.left_out.size(), 1U) << line;
  }
  EXPECT_EQ(joined_words(typed("-n 2 --job-dir=gs://b/out").arguments), "--job-dir gs://b/out");
  EXPECT_EQ(own("-n 2 --gpus-per-task=1"), "-n 2 --set binding.gpus=one-per-process");
}

TEST(TypedLine, PutsAModuleBehindTheDashes) {
  const TypedLine read = typed("--nproc-per-node 2 -m pkg.train --lr 1");
  EXPECT_EQ(joined_words(read.words), "--nproc-per-node 2");
  EXPECT_EQ(joined_words(read.program), "python3 -m pkg.train --lr 1");
  EXPECT_EQ(read.left_out.size(), 1U);
}

TEST(TypedLine, KeepsDlaunchsOwnWordsAndThoseOfTheProgram) {
  EXPECT_EQ(own("-q --set a=b job.yaml --bind-to none"),
            "--set binding.cpus=none -q --set a=b job.yaml");
  EXPECT_EQ(own("-x A=1 ./a --bind-to core"), "--env A=1");
  EXPECT_EQ(joined_words(typed("-x A=1 ./a --bind-to core").program), "./a --bind-to core");
  EXPECT_EQ(typed("job.yaml -x A").left_out.size(), 1U) << "it replaces the file's env_pass";
}

TEST(TypedLine, IsLookedIntoOnlyWhereAForeignOptionStands) {
  const OwnCommand run = run_command();
  EXPECT_FALSE(has_foreign_option(words_in("-n 2 --hosts a ./a --bind-to core"), run));
  EXPECT_FALSE(has_foreign_option(words_in("--bogus 1"), run));
  EXPECT_FALSE(has_foreign_option(words_in("--set --bind-to"), run)) << "a value";
  EXPECT_TRUE(has_foreign_option(words_in("job.yaml --bind-to core"), run));
}

}  // namespace
}  // namespace dlaunch::jobfile
