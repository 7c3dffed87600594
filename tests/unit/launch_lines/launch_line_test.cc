// Launch lines of other launchers, and the scripts that hold them.
#include "jobfile/launch_lines/launch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/launch_lines/launch_script.h"
#include "text/strings.h"

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// "--nproc-per-node 2 -- python3 train.py": the line in dlaunch's words.
std::string own(std::string_view line) {
  const LaunchScript script = read_launch_script(line);
  if (!script.line) return "none";
  std::string text = joined(script.line->options.words(), " ");
  for (const LeftOut& one : script.line->options.left_out)
    text += (text.empty() ? "[" : " [") + one.typed + ']';
  return text + (text.empty() ? "-- " : " -- ") + joined(program_words(*script.line), " ");
}

/// The program as a shell reads it.
std::string spelled(std::string_view text) {
  const LaunchScript script = read_launch_script(text);
  if (!script.line) return "none";
  return with_substitutions(joined(script.line->program, " ", &ExpandedWord::spelled),
                            script.substitutions);
}

TEST(LaunchLine, OfTorchrun) {
  EXPECT_EQ(own("torchrun --standalone --nproc_per_node=8 train.py --lr 1"),
            "--nnodes 1 --nproc-per-node 8 -- python3 train.py --lr 1");
  EXPECT_EQ(own("python -m torch.distributed.run --nnodes 1:4 --max_restarts 3 -m pkg.train"),
            "--nnodes 1:4 --restarts 3 -- python3 -m pkg.train");
  EXPECT_EQ(own("python3 -m torch.distributed.launch --use_env --nproc_per_node 2 --master_port 1 "
                "train.py"),
            "--nproc-per-node 2 --set rendezvous.port=1 -- python3 train.py");
  EXPECT_EQ(own("torchrun --nproc_per_node 2 --no_python ./train --x"),
            "--nproc-per-node 2 -- ./train --x");
  EXPECT_EQ(
      own("torchrun --nnodes 2 --node_rank 0 --rdzv_endpoint h:1 --new-option 5 train.py"),
      "--nnodes 2 [--node_rank 0] [--rdzv_endpoint h:1] [--new-option 5] -- python3 train.py");
}

TEST(LaunchLine, OfMpi) {
  EXPECT_EQ(own("mpirun -np 16 -npernode 8 -H a:8,b:8 -x A=1 -mca btl tcp ./solver in.dat"),
            "--nnodes 2 --nproc-per-node 8 --hosts a:8,b:8 --env A=1 --env OMPI_MCA_btl=tcp -- "
            "./solver in.dat");
  EXPECT_EQ(own("mpiexec.hydra -n 4 -ppn 2 -genv I_MPI_DEBUG 5 ./a"),
            "--nnodes 2 --nproc-per-node 2 --env I_MPI_DEBUG=5 -- ./a");
  EXPECT_EQ(own("horovodrun -np 4 -H a:2,b:2 -p 2222 python train.py"),
            "-n 4 --hosts a:2,b:2 --set connect.port=2222 -- python train.py");
  EXPECT_EQ(own("mpirun -n 2 ./a : -n 1 ./b"), "-n 2 [:] -- ./a");
}

TEST(LaunchLine, OfSrunDeepspeedAndAccelerate) {
  EXPECT_EQ(own("srun -N2 --ntasks-per-node=4 --cpus-per-task=8 --label python train.py"),
            "--nnodes 2 --nproc-per-node 4 [--cpus-per-task=8] -- python train.py");
  EXPECT_EQ(own("deepspeed --num_gpus 4 --hostfile hosts train.py --deepspeed ds.json"),
            "--gpus 4 --hostfile hosts -- python3 train.py --deepspeed ds.json");
  EXPECT_EQ(own("accelerate launch --num_processes 8 --num_machines 2 --mixed_precision bf16 t.py"),
            "-n 8 --nnodes 2 --env ACCELERATE_MIXED_PRECISION=bf16 -- python3 t.py");
}

TEST(LaunchLine, OfTorchx) {
  EXPECT_EQ(own("torchx run -s local_cwd dist.ddp -j 2x8 --script train.py -- --lr 1"),
            "--nnodes 2 --nproc-per-node 8 -- python3 train.py --lr 1");
  EXPECT_EQ(own("torchx run --scheduler slurm dist.ddp -j 1:4x8 --script main.py"),
            "--nnodes 1:4 --nproc-per-node 8 -- python3 main.py");
  EXPECT_EQ(own("torchx run dist.ddp -m pkg.train --env A=1,B=2 --max_retries 3 --gpu 8 -- --x"),
            "--nproc-per-node 2 --env A=1 --env B=2 --restarts 3 [--gpu 8] -- python3 -m pkg.train "
            "--x");
  EXPECT_EQ(own("torchx run utils.echo --msg hi"), "none");
}

TEST(LaunchLine, InsideAnotherOne) {
  EXPECT_EQ(own("srun --nodes 2 torchrun --nproc_per_node 8 train.py"),
            "--nnodes 2 --nproc-per-node 8 -- python3 train.py");
  EXPECT_EQ(own("srun -N 2 -n 2 bash -c \"torchrun --nproc_per_node 8 \\\n  train.py\""),
            "--nnodes 2 --nproc-per-node 8 -- python3 train.py");
  EXPECT_EQ(read_launch_script("srun torchrun t.py").line->launcher, "srun, torchrun");
}

TEST(LaunchLine, OnlyWhereRanksAreStarted) {
  for (const char* line : {"python -m pip install x", "echo torchrun", "# torchrun train.py", "",
                           "command -v mpirun", "pip install torchrun"})
    EXPECT_EQ(own(line), "none") << line;
}

TEST(LaunchLine, ReadsTheVariablesOfItsScript) {
  EXPECT_EQ(own("GPUS=4\nN=${N:-2}\ntorchrun --nproc_per_node=$GPUS --nnodes=${N} train.py"),
            "--nnodes 2 --nproc-per-node 4 -- python3 train.py");
  EXPECT_EQ(own("torchrun --nproc_per_node=$GPUS train.py --data $DATA"),
            "--nproc-per-node gpu [--nproc_per_node=$GPUS] -- python3 train.py --data $DATA");
  EXPECT_EQ(own("torchrun --nnodes=$(wc -l < hosts) --nproc_per_node 2 train.py"),
            "--nproc-per-node 2 [--nnodes=$(wc -l < hosts)] -- python3 train.py");
  EXPECT_EQ(own("N=`nproc`\ntorchrun --nnodes=$N train.py"), "[--nnodes=$N] -- python3 train.py");
}

TEST(LaunchScript, OfSlurm) {
  const LaunchScript script = read_launch_script(
      "#!/bin/bash\n#SBATCH --job-name=bert\n#SBATCH -N 2   # two\n#SBATCH --ntasks-per-node 8\n"
      "#SBATCH --gres=gpu:8\n#SBATCH --time=1:00:00\n#SBATCH --partition=gpu\n"
      "#SBATCH --output=%j.out\n#SBATCH --mail-user=me\n\nmodule load cuda\nsource "
      "venv/bin/activate\n"
      "export NCCL_DEBUG=INFO\nexport MASTER_ADDR=$(hostname)\ncd /data\n"
      "srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE train.py\n");
  EXPECT_TRUE(script.is_batch);
  EXPECT_EQ(script.batch.nodes, "2");
  EXPECT_EQ(script.batch.per_node, "8");
  EXPECT_THAT(script.batch.settings,
              ElementsAre(OwnSetting{"name", "bert"}, OwnSetting{"timeouts.run", "1h"}));
  EXPECT_THAT(script.batch.submit, ElementsAre("--partition", "gpu"));
  ASSERT_EQ(script.batch.left_out.size(), 1U);
  EXPECT_EQ(script.batch.left_out.front().typed, "--mail-user=me");
  EXPECT_THAT(script.setup, ElementsAre("module load cuda", "source venv/bin/activate"));
  EXPECT_THAT(script.env, ElementsAre(OwnSetting{"NCCL_DEBUG", "INFO"}));
  EXPECT_THAT(script.env_unknown, ElementsAre("MASTER_ADDR"));
  EXPECT_EQ(script.workdir, "/data");
  EXPECT_EQ(script.line_number, 16U);
  ASSERT_TRUE(script.line);
  EXPECT_EQ(script.line->options.nodes, "2");
  EXPECT_EQ(script.line->options.per_node, "8");
}

TEST(LaunchScript, SplitsVariablesIntoWords) {
  EXPECT_EQ(own("ARGS=\"--nproc_per_node 8 --master_port $PORT\"\ntorchrun $ARGS train.py $X"),
            "--nproc-per-node 8 [--master_port $PORT] -- python3 train.py $X");
  EXPECT_EQ(own("N=2\nARGS=(\n  --nproc_per_node 4   # each\n  --nnodes $N\n)\n"
                "torchrun ${ARGS[@]} train.py"),
            "--nnodes 2 --nproc-per-node 4 -- python3 train.py");
  EXPECT_EQ(own("ARGS=\"\n  --nproc_per_node 8 \\\n  --nnodes 1\n\"\ntorchrun $ARGS train.py"),
            "--nnodes 1 --nproc-per-node 8 -- python3 train.py");
  EXPECT_EQ(own("ARGS=\"never closed\ntorchrun train.py"), "none") << "a shell refuses it, too";
  EXPECT_EQ(own("cmd=\"accelerate launch --num_processes 2 \\\n train.py\"\neval $cmd"),
            "-n 2 -- python3 train.py");
}

TEST(LaunchScript, AMissingValueTakesNoOption) {
  EXPECT_EQ(own("torchrun --nproc_per_node -m train"), "[--nproc_per_node] -- python3 -m train");
  EXPECT_EQ(own("srun -K0 -n 2 ./a"), "-n 2 [-K0] -- ./a");
  EXPECT_EQ(own("torchrun --help"), "none") << "it starts no program";
  EXPECT_EQ(own("torchrun --rdzv_id -1 t.py"), "-- python3 t.py");
}

TEST(LaunchScript, KeepsQuotedVariablesWhole) {
  EXPECT_EQ(spelled("MSG=\"hello world\"\ntorchrun t.py --msg \"$MSG\" $MSG"),
            "python3 t.py --msg \"hello world\" hello world");
  EXPECT_EQ(spelled("A=(--msg \"a ) b\" 'c d' # )\n --x)\nA+=(--y)\ntorchrun t.py \"${A[@]}\""),
            "python3 t.py --msg \"a ) b\" 'c d' --x --y");
  EXPECT_EQ(spelled("P='$HOME'\nA='--q *.txt'\nA+=' --r'\ntorchrun t.py \"$P\" $P $A"),
            "python3 t.py \"\\$HOME\" '$HOME' --q *.txt --r");
}

TEST(LaunchScript, KeepsTheSpellingOfItsProgram) {
  for (const char* words :
       {"--p 'cost $HOME $(touch P1)'", "--title \"${NAME%.*} ; touch P3\"", "\\$HOME \"\\$X\"",
        "data/*.txt ~/x {a,b}", "\"$(dirname \"$0\")/x\" `date` 'it'\\''s `x`'", "$EXTRA \"\" ''",
        "${LR:-0.1} ${R:+--resume \"$R\"} $'a\\tb'"})
    EXPECT_EQ(spelled(std::string("torchrun t.py ") + words), std::string("python3 t.py ") + words);
}

TEST(LaunchScript, TakesOnlyWhatPreparesTheShell) {
  const LaunchScript script = read_launch_script(
      ". ./env.sh && ./x\nmodule purge; module load cuda\n"
      "source x || exit 1\nD=$(pwd)\nsource \"$D/x\"\nsource $HOME/z\nconda activate a && "
      "./prepare.sh\n"
      "eval \"$(conda shell.bash hook)\"\nif [ -f y ]; then\n  source y\nfi\n"
      "torchrun train.py\nsource late\n");
  EXPECT_THAT(script.setup, ElementsAre(". ./env.sh", "module purge", "module load cuda",
                                        "source x", "source $HOME/z", "conda activate a",
                                        "eval \"$(conda shell.bash hook)\""));
  std::vector<std::string> left_out;
  for (const LeftOut& one : script.left_out) left_out.push_back(one.typed);
  EXPECT_THAT(left_out, ElementsAre("./x", "./prepare.sh", "source y"));
}

TEST(LaunchScript, SaysWhatOnlySomeCasesSet) {
  const LaunchScript script = read_launch_script(
      "ARGS=\"--a\"\nif [ -n \"$R\" ]; then\n  ARGS=\"$ARGS --resume\"\nfi\n[ -n x ] && B=2\n"
      "torchrun t.py $ARGS $B\nmpirun ./b\n");
  EXPECT_THAT(program_words(*script.line), ElementsAre("python3", "t.py", "--a", "2"));
  ASSERT_EQ(script.left_out.size(), 2U);
  EXPECT_EQ(script.left_out[0].typed, "ARGS=\"$ARGS --resume\"");
  EXPECT_THAT(script.others, ElementsAre("mpirun"));
}

TEST(LaunchScript, ReadsNoSecrets) {
  const LaunchScript script = read_launch_script(
      "export HF_TOKEN=hf_1\nGH_PAT=ghp_1\nARGS=\"--t $HF_TOKEN\"\n"
      "torchrun t.py --k $HF_TOKEN --g \"$GH_PAT\" $ARGS\n");
  EXPECT_THAT(program_words(*script.line), ElementsAre("python3", "t.py", "--k", "$HF_TOKEN", "--g",
                                                       "$GH_PAT", "--t", "$HF_TOKEN"));
  EXPECT_THAT(script.env, ElementsAre(OwnSetting{"HF_TOKEN", ""}, OwnSetting{"GH_PAT", ""}));
  for (const char* name : {"DB_PASS", "GH_PAT", "MYSQL_PWD", "GPG_PASSPHRASE", "BASIC_AUTH", "pat"})
    EXPECT_TRUE(is_secret(name)) << name;
  for (const char* name : {"PWD", "OLDPWD", "COMPAT", "BYPASS", "PATH"})
    EXPECT_FALSE(is_secret(name)) << name;
}

TEST(LaunchScript, ReadsLinesOfSbatchAsAShellDoes) {
  const LaunchScript script = read_launch_script(
      "#SBATCH -N1 -n4\n#SBATCH --job-name=\"my job\"\n#SBATCH -d afterok:1\n"
      "#SBATCH --partition=\"gpu a\" # x\n#SBATCH --comment=$(date)\n#SBATCH -t UNLIMITED\n"
      "srun ./a\n");
  EXPECT_EQ(script.batch.nodes, "1");
  EXPECT_EQ(script.batch.total, "4");
  EXPECT_THAT(script.batch.settings,
              ElementsAre(OwnSetting{"name", "my job"}, OwnSetting{"timeouts.run", "none"}));
  EXPECT_THAT(script.batch.submit, ElementsAre("--partition", "gpu a"));
  ASSERT_EQ(script.batch.left_out.size(), 2U);
  EXPECT_EQ(script.batch.left_out[0].why, "for sbatch: dlaunch submit --sbatch=-dafterok:1");
  EXPECT_EQ(script.batch.left_out[1].typed, "--comment=$(date)");
}

TEST(LaunchScript, PassesOverQuotesInComments) {
  EXPECT_EQ(spelled("# don't `use\nX=1 # it's\ntorchrun t.py `date` $X"), "python3 t.py `date` 1");
}

TEST(LaunchScript, OfAProgramWithoutALauncher) {
  EXPECT_EQ(own("python setup.py install\nLR=1\npython train.py --lr $LR"),
            "-- python train.py --lr 1");
  EXPECT_EQ(own("python prepare.py\ntorchrun train.py"), "-- python3 train.py");
  const LaunchScript script = read_launch_script("# python\npython -V\npython train.py\n");
  EXPECT_EQ(script.line_number, 3U);
}

TEST(LaunchScript, PassesOverLinesThatOnlyLook) {
  EXPECT_EQ(own("IP=$(srun -N 1 hostname)\nsrun -l hostname\nsrun nvidia-smi\nsrun -n 2 ./a"),
            "-n 2 -- ./a");
}

TEST(LaunchScript, ReadsSeveralOptionsInALineOfSbatch) {
  const LaunchScript script =
      read_launch_script("#SBATCH -N 2 --ntasks-per-node=4 -t 00-05:00:00 --exclusive\nsrun ./a\n");
  EXPECT_EQ(script.batch.nodes, "2");
  EXPECT_EQ(script.batch.per_node, "4");
  EXPECT_THAT(script.batch.settings, ElementsAre(OwnSetting{"timeouts.run", "5h"}));
  EXPECT_THAT(script.batch.submit, ElementsAre("--sbatch=--exclusive"));
}

TEST(LaunchScript, TakesVariablesBeforeTheLauncher) {
  const LaunchScript script = read_launch_script("X=1\nA=1 B='x y' torchrun train.py \"$@\"\n");
  EXPECT_THAT(script.env, ElementsAre(OwnSetting{"A", "1"}, OwnSetting{"B", "x y"}));
  EXPECT_THAT(program_words(*script.line), ElementsAre("python3", "train.py", "$@"));
}

TEST(LaunchScript, TakesVariablesOfItsOwnLineOnly) {
  EXPECT_THAT(
      read_launch_script("A=0 python p.py\nA=1 nohup torchrun a.py &\nA=2 torchrun b.py").env,
      ElementsAre(OwnSetting{"A", "1"}));
  EXPECT_THAT(read_launch_script("A=1 make\nB=$(x) C=3 python train.py --x").env,
              ElementsAre(OwnSetting{"C", "3"}));
}

/// What is wrong with the script.
std::string mistake(std::string_view text) {
  const LaunchScript script = read_launch_script(text);
  return script.mistakes.empty() ? "" : script.mistakes.front().text;
}

TEST(LaunchScript, TakesNoCommandsFromTexts) {
  for (const char* text :
       {"python3 -c '\nsource x\nexport A=1\ncd /x\n'\n", "echo \"a:\nsource x\n#\"\n",
        ": '\nsrun evil\nsource x\n'\n", "cat <<A <<B\na\nA\nsource x\nB\n",
        "cat <<-\"END OF\"\n\tit's\nEND\nsource x\n\tEND OF\n", "x=$(\nsource x\n)\n"}) {
    const LaunchScript script = read_launch_script(std::string(text) + "srun -n 2 ./a\n");
    EXPECT_THAT(script.setup, IsEmpty()) << text;
    EXPECT_THAT(script.env, IsEmpty()) << text;
    EXPECT_EQ(script.workdir, "") << text;
    ASSERT_TRUE(script.line) << text << mistake(text);
    EXPECT_THAT(program_words(*script.line), ElementsAre("./a")) << text;
  }
}

TEST(LaunchScript, TakesOnlyCommandsThatRun) {
  for (const char* text :
       {"f() {\n  source x\n  export A=1\n}\n", "function f {\n source x\n}\n",
        "( source x; export A=1; cd /x )\n", "false && source x\n",
        "[ -f y ] || source x\n", "[ -f y ] && { source x; cd /x; }\n",
        "while false; do source x; done\n", "case $1 in\n a|b) source x;;\n *) cd /x\nesac\n",
        "for ((i = 1; i < 3; i++)); do source x; done\n", "echo x | source x\n"}) {
    const LaunchScript script = read_launch_script(std::string(text) + "srun -n 2 ./a\n");
    EXPECT_THAT(script.setup, IsEmpty()) << text;
    EXPECT_EQ(script.workdir, "") << text;
    ASSERT_TRUE(script.line) << text << mistake(text);
    EXPECT_EQ(script.loop, "") << text;
  }
  const LaunchScript script = read_launch_script(
      "A=1\nsrun ./a $A # \\\nA=2\nexport B=2\ncd /x\nsource x\nexit\nsrun ./b\n");
  EXPECT_THAT(program_words(*script.line), ElementsAre("./a", "1"));
  EXPECT_THAT(script.env, IsEmpty());
  EXPECT_FALSE(read_launch_script("exit 0\nsrun ./a\n").line);
}

TEST(LaunchScript, RefusesWhatItWouldMisread) {
  using testing::HasSubstr;
  EXPECT_THAT(mistake("srun ./a < in"), HasSubstr("standard input"));
  EXPECT_THAT(mistake("cat in | srun ./a"), HasSubstr("standard input"));
  EXPECT_THAT(mistake("srun ./a <<X\nx\nX\n"), HasSubstr("standard input"));
  EXPECT_EQ(mistake("srun ./a < /dev/null 2> x"), "");
  EXPECT_THAT(mistake("f() { srun ./a; }\nf"), HasSubstr("in a function"));
  EXPECT_THAT(mistake("srun ./a 'x\n"), HasSubstr("no end"));
  EXPECT_THAT(mistake("cat <<X\nsrun ./a\n"), HasSubstr("here-document"));
  EXPECT_THAT(mistake("srun ./a : ./b"), HasSubstr("several programs"));
  EXPECT_THAT(mistake("srun --multi-prog conf"), HasSubstr("several programs"));
  EXPECT_THAT(mistake("set -- --lr 1\nsrun ./a \"$@\""), HasSubstr("set --"));
  EXPECT_THAT(mistake("FOO=1 srun ./a $FOO"), HasSubstr("but uses its previous value"));
  EXPECT_THAT(mistake("srun ./a\r\n"), HasSubstr("dos2unix"));
  const LaunchScript script = read_launch_script("A=1\n  srun ./a 'x\n");
  EXPECT_EQ(script.mistakes.front().offset, 15U);
}

TEST(LaunchScript, ReadsWhatBashReads) {
  EXPECT_EQ(own("srun -n 2 env A=1 python3 a.py"), "-n 2 -- env A=1 python3 a.py");
  EXPECT_EQ(own("(( x = 1 << 3 ))\nlet \"y = 1 << 3\"\nsrun -n 2 ./a"), "-n 2 -- ./a");
  EXPECT_EQ(spelled("torchrun a.py $'it\\'s' ${A:-'}'}"), "python3 a.py $'it\\047s' ${A:-'}'}");
  EXPECT_EQ(spelled("A=(--x 'a b')\ntorchrun a.py ${A[@]} \"${A[@]}\""),
            "python3 a.py --x a b --x 'a b'");
  EXPECT_EQ(spelled("L=\"a.py\"\nC=\"--x 'y z'\"\ntorchrun --no_python bash -c \"$L $C \\$R\""),
            "bash -c 'a.py --x '\\''y z'\\'' $R'");
}

TEST(LaunchScript, IsReadInLinearTime) {
  std::string nested = "A=";
  for (int i = 0; i < 30000; ++i) nested += "$(";
  EXPECT_FALSE(read_launch_script(nested + "\nsrun ./a\n").line);
  std::string quotes = "A=";
  for (int i = 0; i < 30000; ++i) quotes += "\"${a-";
  EXPECT_FALSE(read_launch_script(quotes + "\nsrun ./a\n").line);
  std::string doubled = "A=aaaaaaaaaaaaaaaa\n";
  for (int i = 0; i < 60; ++i) doubled += "A=$A$A\n";
  EXPECT_TRUE(read_launch_script(doubled + "srun ./a $A\n").line);
}

TEST(LaunchScript, OfAnythingElseIsEmpty) {
  for (const char* text : {"", "\\", "'", "\"", "$(", "#SBATCH", "#SBATCH --", "export", "cd",
                           "A=", "torchrun", "torchrun --nproc_per_node", "srun srun srun srun"}) {
    const LaunchScript script = read_launch_script(text);
    if (script.line) {
      EXPECT_THAT(script.line->options.settings, IsEmpty()) << text;
    }
  }
}

}  // namespace
}  // namespace dlaunch::jobfile
