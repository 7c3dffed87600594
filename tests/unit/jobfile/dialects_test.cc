// Parts that the dialects share; what whole files become is in tests/unit/jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/diagnostics.h"
#include "jobfile/dialects/azure_v2.h"
#include "jobfile/dialects/foreign_keys.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/job_reader.h"
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
              HasSubstr("error: the value is \"C:\\data\", a Windows path"));
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
  EXPECT_EQ(job->spec.container->image, "x/y:1");
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
  EXPECT_THAT(text.error().message, HasSubstr("is not UTF-8, so a job file cannot hold it"));
}

TEST(ForeignJob, APipelineNamesStepsThatAreNot) {
  JobInput input = foreign("type: pipeline\njobs:\n  a: {command: x}\n  b: {type: sweep}\n");
  input.foreign.step = "c";
  EXPECT_THAT(read_any_job(input).error().message, HasSubstr("no step \"c\"; its steps are a, b"));
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
