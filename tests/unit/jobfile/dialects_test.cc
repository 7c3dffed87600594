// Parts that the dialects share; what whole files become is in tests/unit/jobs.
#include <iterator>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/dialects/azure_v2.h"
#include "jobfile/dialects/foreign_keys.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/dialects/shell_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/job_reader.h"
#include "jobfile/job_rules.h"
#include "jobfile/diagnostics.h"
#include "jobfile/yaml_reader.h"
#include "jobfile/yaml_writer.h"
#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Paths, BeginInTheFolderAndAreNormal) {
  EXPECT_EQ(path_below("/jobs", "./data/"), "/jobs/data");
  EXPECT_EQ(path_below("/jobs", "../x"), "/x");
  EXPECT_EQ(path_below("/jobs", "/data"), "/data");
  EXPECT_EQ(path_below("/jobs", "."), "/jobs");
  EXPECT_EQ(path_below("/", ""), "/");
}

TEST(Paths, AreRemoteByTheirScheme) {
  EXPECT_TRUE(is_remote("azureml:data:1"));
  EXPECT_TRUE(is_remote("gs://bucket/x"));
  EXPECT_FALSE(is_remote("file:./x"));
  EXPECT_FALSE(is_remote("./a:b"));
  EXPECT_FALSE(is_remote("C:/x"));
  EXPECT_EQ(without_file_scheme("file:///a"), "/a");
  EXPECT_EQ(without_file_scheme("file:./a"), "./a");
}

TEST(Paths, OfWindowsAreNone) {
  for (const char* text : {"C:\\data", "d:/data", ".\\data", "..\\data", "\\\\server\\share",
                           "file:///C:/data", "file:C:\\data"})
    EXPECT_THAT(problem_of_path(text), HasSubstr("a Windows path")) << text;
  for (const char* text : {"./data", "/data", "data", "a\\b", "c:data", "file:./data", "", "x:"})
    EXPECT_EQ(problem_of_path(text), "") << text;
}

TEST(KeyNames, OfTheFirstThatFits) {
  constexpr KeyName kNames[] = {
      {"env", "variables"}, {"roles.*.env", "spec.env"}, {"container.mounts", "docker_args"}};
  EXPECT_EQ(foreign_key(kNames, "env"), "variables");
  EXPECT_EQ(foreign_key(kNames, "env.A B"), "variables.A B");
  EXPECT_EQ(foreign_key(kNames, "env_pass"), "env_pass") << "another key";
  EXPECT_EQ(foreign_key(kNames, "roles.worker.env.A"), "spec.env.A");
  EXPECT_EQ(foreign_key(kNames, "roles.worker.count"), "roles.worker.count");
  EXPECT_EQ(foreign_key(kNames, "container.mounts[3]"), "docker_args");
  EXPECT_EQ(foreign_key({}, "container.mounts[3]"), "container.mounts[3]");
}

TEST(ShellWords, AreQuotedButForVariables) {
  EXPECT_EQ(quote_but_variables("--lr"), "--lr");
  EXPECT_EQ(quote_but_variables("a b"), "'a b'");
  EXPECT_EQ(quote_but_variables("$RANK"), "\"$RANK\"");
  EXPECT_EQ(quote_but_variables("${RANK}/x y"), "\"${RANK}/x y\"");
  EXPECT_EQ(quote_but_variables("$RANK \"`ls`\\ $5 $(x)"),
            "\"$RANK \\\"\\`ls\\`\\\\ \\$5 \\$(x)\"");
  EXPECT_EQ(quote_but_variables("costs $5"), "'costs $5'");
  EXPECT_EQ(quote_but_variables(""), "''");
}

TEST(ShellWords, OfASimpleCommand) {
  EXPECT_THAT(*simple_words("mpirun -n 2  python 'a b' \"c \\\"d\" e\\ f --x=1"),
              ElementsAre("mpirun", "-n", "2", "python", "a b", "c \"d", "e f", "--x=1"));
  EXPECT_THAT(*simple_words("a \"\\d \\$ \\\\ \\\"b\\\nc\""), ElementsAre("a", "\\d $ \\ \"bc"))
      << "XCU 2.2.3: in double quotes a backslash stays but before $ ` \" \\ and a line feed";
  EXPECT_THAT(*simple_words("mpirun \\\n  -n 2"), ElementsAre("mpirun", "-n", "2"));
  for (const char* line : {"cd x && mpirun a", "A=1 mpirun a", "mpirun $X", "mpirun a > b",
                           "mpirun 'a", "mpirun \"$X\"", "a; b", "a | b", "mpirun `x`", "a\nb"})
    EXPECT_FALSE(simple_words(line)) << line;
}

TEST(OwnWorkers, AreToldByTheCommand) {
  for (const char* command :
       {"torchrun train.py", "python -m torch.distributed.launch x.py", "accelerate launch x.py",
        "cd src && /usr/bin/torchrun x.py", "python x.py --node_rank ${NODE_RANK}",
        "deepspeed train.py", "pip list; torchrun x.py", "pip list\ntorchrun x.py\n",
        "A=1 B= torchrun x.py", "pip list && A=1 accelerate \\\n  launch x.py",
        "if true; then torchrun x.py; fi", "bash -c 'torchrun x.py'", "(sudo torchrun x.py)",
        "accelerate-launch x.py", "nohup python -m torch.distributed.run x.py &"})
    EXPECT_TRUE(starts_own_workers(command)) << command;
  for (const char* command :
       {"python train.py", "python train.py --deepspeed ds.json", "python x.py --launcher torchrun",
        "torchrun --node_rank $RANK x.py", "python x.py --rank $LOCAL_RANK --node $NODE_RANK",
        "echo $NODE_RANKS", "python x.py \\\n  torchrun", "echo A=1 torchrun"})
    EXPECT_FALSE(starts_own_workers(command)) << command;
}

std::string_view found_launcher(const char* command) {
  return started_program(command, {"mpirun", "deepspeed"});
}

/// "yes", "no", or the message about several launchers.
std::string per_node(const std::string& count, const std::string& command) {
  const auto job = read_any_job(JobInput{.text = "type: command\ndistribution: {type: pytorch" +
                                                 count + "}\ncommand: " + command});
  if (!job) return "error";
  const std::string notes = job->notes.empty() ? "" : " with a note";
  return (job->spec.launch == Launch::per_node ? "yes" : "no") + notes;
}

// job-specs 1.7: process_count_per_instance counts if given; else $NODE_RANK decides.
TEST(OwnWorkers, AndTheNumberOfProcesses) {
  const std::string one = ", process_count_per_instance: 1";
  const std::string four = ", process_count_per_instance: 4";
  EXPECT_EQ(per_node("", "torchrun a.py"), "yes");
  EXPECT_EQ(per_node(one, "torchrun a.py"), "yes");
  EXPECT_EQ(per_node("", "python a.py $NODE_RANK"), "yes with a note");
  EXPECT_EQ(per_node(one, "python a.py $NODE_RANK"), "no");
  EXPECT_EQ(per_node(", process_count: 1", "python a.py $NODE_RANK"), "no with a note");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node 8 a.py"), "error");
  EXPECT_EQ(per_node(four, "cd x && torchrun --nproc-per-node=8 a.py"), "error");
  EXPECT_EQ(per_node(four, "accelerate launch --num_processes 2 a.py"), "error");
  EXPECT_EQ(per_node(four, "deepspeed --num_gpus 2 a.py"), "error");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node 1 a.py"), "no with a note");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node $N a.py"), "no with a note");
  EXPECT_EQ(per_node(four, "deepspeed a.py --num_gpus 2"), "no with a note") << "the script's own";
  EXPECT_EQ(per_node(four, "torchrun a.py && b --nproc_per_node 2"), "no with a note");
  EXPECT_EQ(per_node(four, "torchrun --nproc_per_node 8 --node_rank $RANK a.py"), "no")
      << "on purpose";
}

TEST(StartedProgram, BeginsASimpleCommand) {
  const auto found = found_launcher;
  EXPECT_EQ(found("/opt/bin/mpirun -n 2 a"), "mpirun");
  EXPECT_EQ(found("cd x && A=1 deepspeed a.py"), "deepspeed");
  EXPECT_EQ(found("a\nmpirun b"), "mpirun");
  EXPECT_EQ(found("which mpirun"), "");
  EXPECT_EQ(found("python a.py --deepspeed ds.json"), "");
}

TEST(StartedProgram, IsSeenBehindWhatOnlyLeadsToIt) {
  for (const char* command : {"sudo mpirun a",
                              "sudo -u me -E A=1 mpirun a",
                              "env -i A=1 mpirun a",
                              "time -p mpirun a",
                              "nohup mpirun a &",
                              "exec -a x mpirun a",
                              "nice -n 5 mpirun a",
                              "timeout -k 5 1h mpirun a",
                              "stdbuf -oL mpirun a",
                              "taskset -c 0-3 mpirun a",
                              "command mpirun a",
                              "(mpirun a)",
                              "(cd x; mpirun a)",
                              "{ mpirun a; }",
                              "if true; then mpirun a; fi",
                              "if mpirun a\nthen :\nfi",
                              "if x; then :; else mpirun a; fi",
                              "for i in 1 2; do mpirun a; done",
                              "while ! mpirun a; do :; done",
                              "x&&mpirun a",
                              "x|mpirun a",
                              "x& mpirun a",
                              "a=$(mpirun b)",
                              "a=`mpirun b`",
                              "echo $(date) && mpirun a",
                              "sh -c 'mpirun a'",
                              "bash -lc \"exec mpirun a\"",
                              "bash -o pipefail -c 'x; mpirun a'",
                              "eval mpirun a",
                              "'mpirun' a",
                              "x 2>&1 >log; mpirun a",
                              ">log mpirun a",
                              "x <<END\ny\nEND\nmpirun a",
                              "case $1 in a) mpirun b;; esac",
                              "mpi\\\nrun a",
                              "! mpirun a",
                              "sudo env nohup mpirun a"})
    EXPECT_EQ(found_launcher(command), "mpirun") << command;
  for (const char* command : {"command -v mpirun",
                              "echo 'x; mpirun a'",
                              "echo \"$(mpirun) \"",
                              "echo a > mpirun",
                              "# mpirun a",
                              "x # ; mpirun a",
                              "cat <<END\nmpirun a\nEND",
                              "cat <<-'END'\n\tmpirun a\n\tEND\n",
                              "for mpirun in a; do :; done",
                              "x 2>&1 mpirun",
                              "sudo",
                              "timeout 5",
                              "env A=1",
                              "",
                              "echo ${a:-mpirun}",
                              "python mpirun",
                              "sh mpirun",
                              "'",
                              "\\",
                              "$(",
                              "${",
                              "<<",
                              "`",
                              "echo $(date) mpirun"})
    EXPECT_EQ(found_launcher(command), "") << command;
}

TEST(StartedLauncher, HasANameAndArguments) {
  const auto launcher =
      started_launcher("cd x && python -u -m torch.distributed.run --nnodes 2 a.py");
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->name, "torch.distributed.run");
  EXPECT_THAT(launcher->arguments, ElementsAre("--nnodes", "2", "a.py"));
  EXPECT_EQ(started_launcher("accelerate launch a.py")->name, "accelerate launch");
  EXPECT_FALSE(started_launcher("accelerate config"));
}

TEST(SimpleCommands, AreWordsWithoutQuotesAndRedirections) {
  EXPECT_THAT(simple_commands("A=1 b 'c d'\"e $f\" 2>&1 >g h; i $(j k) l|m"),
              ElementsAre(ElementsAre("A=1", "b", "c de $f", "h"), ElementsAre("j", "k"),
                          ElementsAre("i", "$", "l"), ElementsAre("m")));
}

TEST(SimpleCommands, AreFoundInAnyText) {
  constexpr std::string_view kPieces[] = {"a", " ", "\n", "'", "\"",    "\\",     "$",   "(",
                                          ")", "{", "}",  "`", "<",     ">",      "&",   "|",
                                          ";", "#", "-",  "=", "sudo ", "sh -c ", "<<E", "eval "};
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto left = random() % 24; left > 0; --left)
      text += kPieces[random() % std::size(kPieces)];
    for (const auto& words : started_commands(text)) EXPECT_FALSE(words.empty()) << text;
  }
}

TEST(ParentReference, IsOneExpression) {
  EXPECT_EQ(azure::parent_reference(" ${{ parent.inputs.a }} ")->name, "a");
  EXPECT_TRUE(azure::parent_reference("${{parent.inputs.a}}")->names_parent);
  EXPECT_FALSE(azure::parent_reference("${{inputs.a}}")->names_parent);
  EXPECT_EQ(azure::parent_reference("${{jobs.s.outputs.y}}")->kind, "jobs");
  for (const char* text :
       {"${{parent.inputs.a}}/b", "${{inputs.a}}${{inputs.b}}", "a", "${{}}", ""})
    EXPECT_FALSE(azure::parent_reference(text)) << text;
}

std::string written(const std::string& yaml) {
  const Sources sources{{"x.yaml", yaml, false}};
  Diagnostics diagnostics(sources);
  Document document;
  const auto root = read_yaml(sources, 0, document, diagnostics);
  EXPECT_TRUE(root && diagnostics.empty()) << diagnostics.to_error().message;
  return root ? write_yaml(document, *root) : "";
}

TEST(YamlWriter, WritesWhatItReads) {
  const char* const same[] = {"a: b\n",
                              "command: python train.py --lr 1e-3 -- $RANK\n",
                              "command: |\n  if true; then\n    echo \"x\"\n\n  fi\n",
                              "command: |-\n  a\n  b\n",
                              "a: 3\nt: \"3\"\nb: true\nx: \"true\"\nc: \"no\"\nz: 1.10\n",
                              "list: [a, -m, --b=c, \"d e, f\", \"\"]\n",
                              "roles:\n  worker:\n    count: 2\n    env:\n      A: \"x: y\"\n",
                              "empty: {}\nnone: []\nnull_: null\n",
                              "s: \"line\\n  \\ttab \\u0001 \\\"q\\\" \\\\\"\n",
                              "hosts:\n  -\n    name: a\n    slots: 2\n",
                              ("u: \"gr\xc3\xbc\xc3\x9f"
                               "e\"\n")};
  for (const char* yaml : same) {
    EXPECT_EQ(written(yaml), yaml);
    EXPECT_EQ(written(written(yaml)), written(yaml));
  }
}

JobInput foreign(const std::string& text) {
  JobInput input;
  input.text = text;
  input.file = "jobs/job.yml";
  input.foreign.folder = "/work/jobs";
  input.foreign.current_folder = "/work";
  return input;
}

TEST(ForeignJob, TakesSettingsOfTheCommandLine) {
  JobInput input = foreign(
      "type: command\ncommand: python a.py\ndistribution: {type: pytorch}\n"
      "resources: {instance_count: 4}\n");
  input.overrides = {{"nodes", "2", "--nnodes 2"}, set("restart.max", "3")};
  input.arguments = {"--lr", "0.1 2"};
  const auto job = read_any_job(input);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->spec.nodes, (NodeRange{2, 2}));
  EXPECT_EQ(job->spec.restart.max, 3);
  EXPECT_EQ(job->spec.command.line, "python a.py --lr '0.1 2'");
  EXPECT_EQ(job->spec.env.at("AZUREML_NODE_COUNT"), "2") << "computed from what counts";
  EXPECT_EQ(as_typed(job->spec, "nodes", "2"), "--nnodes 2");
}

TEST(ForeignJob, TellsTheSizeOfItsMachines) {
  const std::string job = "type: command\ncommand: python a.py\nresources: {instance_count: 1";
  const auto sized = read_any_job(foreign(job + ", instance_type: Standard_NC24rs_v3}\n"));
  ASSERT_TRUE(sized) << sized.error().message;
  EXPECT_EQ(sized->azure_size, "Standard_NC24rs_v3");
  const auto other = read_any_job(foreign(job + "}\n"));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->azure_size, "");
}

TEST(ForeignJob, ErrorsAboutNodesNameTheForeignLine) {
  const auto job =
      read_any_job(foreign("type: command\ncommand: python a.py\ndistribution: {type: pytorch}\n"
                           "resources: {instance_count: 4}\n"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(as_typed(job->spec, "nodes", "4"),
            "\"nodes: 4\" (resources.instance_count, jobs/job.yml:4:29)");
}

TEST(ForeignJob, ErrorsAboutProcessesNameTheForeignLine) {
  const std::string job =
      "apiVersion: kubeflow.org/v1\nkind: MPIJob\nspec:\n  slotsPerWorker: 4\n"
      "  mpiReplicaSpecs:\n    Launcher:\n"
      "      template: {spec: {containers: [{name: a, image: i, command: [mpirun, -n, COUNT, "
      "./a]}]}}\n"
      "    Worker: {replicas: 2, template: {spec: {containers: [{name: a, image: i}]}}}\n";
  const auto with_count = [&](const std::string& count) {
    return std::string(job).replace(job.find("COUNT"), 5, count);
  };
  const auto uneven = read_any_job(foreign(with_count("6")));
  ASSERT_TRUE(uneven) << uneven.error().message;
  EXPECT_EQ(as_typed(uneven->spec, "processes", "6"), "\"processes: 6\" (jobs/job.yml:7:80)");
  const auto full = read_any_job(foreign(with_count("8")));
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(as_typed(full->spec, "processes_per_node", "4"),
            "\"processes_per_node: 4\" (jobs/job.yml:4:19)");
  JobInput input = foreign(with_count("6"));
  input.overrides = {{"hosts", "\"a:2,b:2\"", "--hosts a:2,b:2"}};
  for (const auto& message :
       {message_of(read_job(input)), native_job_text(input, "x").error().message})
    EXPECT_THAT(message, testing::StartsWith(
                             "jobs/job.yml:7:80: error: 6 processes, but the hosts have only "
                             "4 slots (hosts, --hosts a:2,b:2)\n"));
}

TEST(ForeignJob, ErrorsOfTheNativeReaderAreAtTheForeignLine) {
  const auto job = read_any_job(
      foreign("type: command\ncommand: python a.py\nenvironment_variables:\n  A B: c\n"));
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().message, HasSubstr("jobs/job.yml:4:"));
}

TEST(ForeignJob, ErrorsNameKeysAsTheirSourceHasThem) {
  JobInput input = foreign("type: command\ncommand: a\ndistribution: {type: pytorch}\n");
  input.overrides = {set("env.RANK", "3")};
  const auto job = read_any_job(input);
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().message, HasSubstr("remove it from env")) << "native, on a command line";
  input.overrides.clear();
  input.text = *input.text + "environment_variables: {RANK: 3}\n";
  EXPECT_THAT(read_any_job(input).error().message,
              HasSubstr("remove it from environment_variables"));
}

TEST(ForeignJob, PathsOfTheCommandLineAreOfThisMachine) {
  JobInput input = foreign(
      "type: command\ncommand: a ${{inputs.d}}\n"
      "inputs: {d: {type: uri_folder, path: azureml:x:1}}\n");
  input.foreign.inputs = {{"d", "C:\\data", "--input d=C:\\data"}};
  EXPECT_THAT(read_any_job(input).error().message,
              HasSubstr("error: it is \"C:\\data\", a Windows path"));
}

TEST(ForeignJob, AnUnfinishedPlaceOfATemplateIsOneMistake) {
  for (const char* text :
       {"command: {{COMMAND}}\n", "type: command\ncommand: {{COMMAND}}\n",
        "command: a\nnodes: {{NODES}}\n", "command: a\nenv: {{ENV}}\n", "{{JOB}}\n",
        "command: a\nenv: {A: {{VALUE}}}\n", "type: pipeline\njobs: {{JOBS}}\n",
        "type: command\ncomponent: {{FILE}}\n",
        "type: command\ncommand: a ${{inputs.x}}\ninputs: {x: {{X}}}\n",
        "type: command\ncommand: a\noutputs: {{OUTPUTS}}\n"}) {
    const auto job = read_any_job(foreign(text));
    ASSERT_FALSE(job) << text;
    const std::string& message = job.error().message;
    EXPECT_EQ(message.find("error: "), message.rfind("error: ")) << message;
    EXPECT_THAT(message, HasSubstr("of a template that was not filled in?"));
  }
}

TEST(ForeignJob, OptionsForOthersAreRefusedByANativeFile) {
  JobInput input = foreign("command: echo\n");
  input.foreign.inputs = {{"a", "1", "--input a=1"}};
  input.foreign.step = "x";
  const auto job = read_any_job(input);
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().message,
              HasSubstr("--input a=1: error: a native job file has no inputs"));
  EXPECT_THAT(job.error().message, HasSubstr("--step x: error: a native job file has no steps"));
}

TEST(ForeignJob, OptionsForWhatAFileHasNotAreRefused) {
  JobInput input = foreign("trainingInput: {pythonModule: a}\n");
  input.foreign.inputs = {{"a", "1", "--input a=1"}};
  input.foreign.outputs = {{"b", "c", "--output b=c"}};
  const std::string message = read_any_job(input).error().message;
  EXPECT_THAT(message, HasSubstr("--input a=1: error: a job file of AI Platform Training has no"));
  EXPECT_THAT(message, HasSubstr("--output b=c: error: a job file of AI Platform Training has no"));
  input = foreign("type: command\ncommand: a\n");
  input.foreign.step = "x";
  EXPECT_THAT(read_any_job(input).error().message, HasSubstr("without steps; leave out --step"));
}

TEST(ForeignJob, ANativeFileWithKeysOfOthersStaysNative) {
  for (const char* text :
       {"command: echo\ndistribution: pytorch\n", "command: echo\nreplicas: 2\n",
        "framework: pytorch\ncommand: echo\nresources: 3\n", "nodes: 2\ncomand: echo\n"}) {
    const auto job = read_any_job(foreign(text));
    ASSERT_FALSE(job);
    EXPECT_THAT(job.error().message, HasSubstr("unknown key")) << text;
  }
}

TEST(ForeignJob, ImagesAreLeftOutAndSaid) {
  const std::string text = "type: command\ncommand: a\nenvironment: {image: x/y:1}\n";
  const auto job = read_any_job(foreign(text));
  ASSERT_TRUE(job) << job.error().message;
  if (is_available("container.image")) {
    EXPECT_EQ(job->spec.container->image, "x/y:1");
  } else {
    EXPECT_THAT(job->notes, ElementsAre(HasSubstr("without its container (x/y:1)")));
  }
  JobInput knowing = foreign(text);
  knowing.foreign.no_container = true;
  EXPECT_THAT(read_any_job(knowing)->notes, IsEmpty());
  EXPECT_FALSE(read_any_job(knowing)->spec.container);
}

TEST(ForeignJob, ConvertsWithNotesAsComments) {
  const auto text = native_job_text(
      foreign("type: command\nname: fit\ncommand: |\n  a\n  b\ncompute: azureml:gpu\n"), "folder");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text,
            "# made by dlaunch convert from jobs/job.yml (Azure ML, CLI v2)\n"
            "# note: not used here: compute (line 6)\n"
            "name: fit\ncommand: |\n  a\n  b\nshell: bash\nframework: none\nnodes: 1\n"
            "processes_per_node: 1\nenv:\n  AZUREML_NODE_COUNT: \"1\"\n");
}

TEST(ForeignJob, ConvertsNoBytesThatAFileCannotHold) {
  JobInput input = foreign("type: command\nname: fit\ncommand: a\n");
  input.arguments = {"fine", "\xff\xfe"};
  ASSERT_TRUE(read_any_job(input));
  const auto text = native_job_text(input, "folder");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().exit_code, exit_code::kJobFile);
  EXPECT_THAT(text.error().message,
              HasSubstr("is not UTF-8, so a job file cannot hold it"));
}

TEST(ForeignJob, APipelineNamesStepsThatAreNot) {
  JobInput input = foreign("type: pipeline\njobs:\n  a: {command: x}\n  b: {type: sweep}\n");
  input.foreign.step = "c";
  EXPECT_THAT(read_any_job(input).error().message, HasSubstr("no step \"c\"; there are a, b"));
  input.foreign.step = "b";
  EXPECT_THAT(read_any_job(input).error().message, HasSubstr("of type \"sweep\""));
}

TEST(ForeignJob, AComponentThatCannotBeReadIsNamed) {
  JobInput input = foreign("type: command\ncomponent: ./c.yml\ninputs: {}\n");
  EXPECT_THAT(read_any_job(input).error().message, HasSubstr("cannot be read"));
  input.foreign.read_file = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "/work/jobs/c.yml");
    return std::string("type: command\ncommand: x ${{inputs.a}}\ninputs: {a: {type: [}}\n");
  };
  EXPECT_THAT(read_any_job(input).error().message, HasSubstr("/work/jobs/c.yml:3:"));
  input.text = "type: command\ncomponent: azureml:x:1\n";
  EXPECT_THAT(read_any_job(input).error().message, HasSubstr("which dlaunch cannot fetch"));
}

}  // namespace
}  // namespace dlaunch::jobfile
