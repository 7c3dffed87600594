// The command lines of runtimes: golden, each word as in the document named by its source
// (src/plan/container_runtimes.cc).
#include "plan/container.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/session/start_message.h"
#include "model/mount.h"

namespace dlaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Runtime = Container::Runtime;

JobSpec job(Runtime runtime = Runtime::automatic) {
  JobSpec spec;
  spec.name = "train";
  spec.command.argv = {"python", "train.py"};
  spec.container = Container{"registry.example.com/train:1", runtime, {}, 0, {}};
  return spec;
}

Cluster nodes(std::size_t count, const std::vector<std::string>& programs) {
  Cluster cluster;
  for (std::size_t i = 0; i < count; ++i) {
    Node node;
    node.name = "node" + std::to_string(i + 1);
    node.address = "10.0.0." + std::to_string(i + 1);
    node.is_launcher = i == 0;
    for (int cpu = 0; cpu < 4; ++cpu) node.facts.cores.push_back({0, {cpu}, false});
    node.facts.reserved_ports = {20001};
    node.facts.interfaces = {
        {"eth0", NetworkInterface::Kind::physical, true, 1000, 1500, "", {{node.address, 24}}}};
    ContainerFacts& facts = node.facts.containers;
    for (const std::string& program : programs)
      facts.programs.push_back({program, "/usr/bin/" + program});
    facts.base = "/tmp";
    facts.session_folder = "/tmp/dlaunch-1000";
    facts.user = 1000;
    facts.group = 100;
    facts.open_files = 20000;
    facts.processes = 1000;
    facts.shm_bytes = std::uint64_t{8} << 30;
    if (i > 0) node.facts.output_folder = "/var/tmp/dlaunch-1000/run";
    cluster.nodes.push_back(std::move(node));
  }
  if (count > 1) cluster.meeting = Meeting{"10.0.0.1", "tried", {}};
  return cluster;
}

void add_gpus(Cluster& cluster) {
  for (Node& node : cluster.nodes) {
    node.facts.gpus = {{0, "GPU-a", "0000:3b:00.0", "H200", 0, ""},
                       {1, "GPU-b", "0000:5e:00.0", "H200", 0, ""}};
    node.facts.containers.nvidia_cdi = true;
    node.facts.containers.nvidia_toolkit = true;
    node.facts.containers.infiniband = true;
  }
}

PlanContext context() {
  PlanContext context;
  context.run_id = "20261122-080000-abc";
  context.attempt = Attempt(1);
  context.current_folder = "/home/me/job";
  context.run_folder = "/home/me/runs/20261122-080000-abc";
  return context;
}

std::string line(const Result<LaunchPlan>& plan, std::size_t node = 0, std::size_t container = 0) {
  if (!plan) return plan.error().message;
  std::string line;
  for (const std::string& word : plan->nodes[node].containers.at(container).argv)
    line += (line.empty() ? "" : " ") + word;
  return line;
}

TEST(Container, PodmanWithoutRoot) {
  JobSpec spec = job(Runtime::podman);
  spec.container->mounts = {"/data:/data:ro", "cache:/root/.cache"};
  spec.container->options = {"--cap-add=SYS_PTRACE"};
  const auto plan = make_plan(spec, nodes(1, {"podman"}), context());
  EXPECT_EQ(
      line(plan),
      "/usr/bin/podman run --rm --name=dlaunch-20261122-080000-abc-1-r --network=host --pid=host "
      "--uts=host --ipc=host --log-driver=none --security-opt=label=disable --user=1000:100 "
      "--userns=keep-id --ulimit=nofile=20000:20000 --ulimit=nproc=1000:1000 "
      "--mount=type=bind,source=/data,target=/data,readonly "
      "--mount=type=bind,source=/home/me/job/cache,target=/root/.cache "
      "--mount=type=bind,source=/home/me/job,target=/home/me/job "
      "--mount=type=bind,source=/tmp/dlaunch-enter-20261122-080000-abc-1-0,"
      "target=/tmp/dlaunch-enter-20261122-080000-abc-1-0,readonly "
      "--mount=type=bind,source=/home/me/runs/20261122-080000-abc/attempt-1,"
      "target=/home/me/runs/20261122-080000-abc/attempt-1 --cap-add=SYS_PTRACE "
      "--entrypoint=/tmp/dlaunch-enter-20261122-080000-abc-1-0/dlaunch "
      "registry.example.com/train:1 agent --enter /tmp/dlaunch-enter-20261122-080000-abc-1-0");
  ASSERT_TRUE(plan);
  const ContainerPlan& container = plan->nodes[0].containers[0];
  EXPECT_EQ(container.argv[container.named], "--name=dlaunch-20261122-080000-abc-1-r");
  EXPECT_THAT(container.cleanup,
              ElementsAre("/usr/bin/podman", "rm", "--force", "--volumes", "--ignore", "--time=0"));
  EXPECT_EQ(plan->ranks[0].container, 0U);
}

TEST(Container, TheEntryIsToldWhereProgramsStart) {
  for (const std::string workdir : {"image", "/app"}) {
    JobSpec spec = job(Runtime::podman);
    spec.container->workdir = workdir;
    const auto plan = make_plan(spec, nodes(1, {"podman"}), context());
    EXPECT_THAT(line(plan), EndsWith("/tmp/dlaunch-enter-20261122-080000-abc-1-0 --at " + workdir));
  }
}

TEST(Container, WhereARuntimeDoesNotTellTheImagesFolderTheJobsIsTaken) {
  JobSpec spec = job(Runtime::charliecloud);
  spec.container->workdir = "image";
  const auto plan = make_plan(spec, nodes(2, {"ch-run"}), context());
  EXPECT_THAT(line(plan), Not(HasSubstr("--at")));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->notes,
              Contains(HasSubstr("charliecloud does not report an image's working directory")));
  spec.container->workdir = "/app";
  EXPECT_THAT(line(make_plan(spec, nodes(2, {"ch-run"}), context())), EndsWith(" --at /app"));
}

TEST(Container, PodmanAsRootWithGpusAndInfiniBand) {
  Cluster cluster = nodes(1, {"podman"});
  add_gpus(cluster);
  cluster.nodes[0].facts.containers.user = 0;
  cluster.nodes[0].facts.containers.group = 0;
  cluster.nodes[0].facts.containers.may_raise_limits = true;
  const std::string words = line(make_plan(job(Runtime::podman), cluster, context()));
  EXPECT_THAT(words, HasSubstr(" --user=0:0 --ulimit=memlock=-1:-1 "
                               "--ulimit=stack=67108864:67108864 --device=nvidia.com/gpu=all "
                               "--device=/dev/infiniband --mount="));
  EXPECT_THAT(words, Not(HasSubstr("keep-id")));
}

TEST(Container, Docker) {
  Cluster cluster = nodes(1, {"docker"});
  add_gpus(cluster);
  const auto plan = make_plan(job(Runtime::docker), cluster, context());
  EXPECT_THAT(line(plan),
              HasSubstr("/usr/bin/docker run --rm --name=dlaunch-20261122-080000-abc-1-r "
                        "--network=host --pid=host --uts=host --ipc=host --log-driver=none "
                        "--security-opt=label=disable --user=1000:100 --ulimit=memlock=-1:-1 "
                        "--ulimit=stack=67108864:67108864 --gpus=all --device=/dev/infiniband "
                        "--mount=type=bind,"));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->nodes[0].containers[0].cleanup,
              ElementsAre("/usr/bin/docker", "rm", "--force", "--volumes"));
  // docker-run(1): without the toolkit, by the Container Device Interface.
  cluster.nodes[0].facts.containers.nvidia_toolkit = false;
  EXPECT_THAT(line(make_plan(job(Runtime::docker), cluster, context())),
              HasSubstr(" --device=nvidia.com/gpu=all "));
}

TEST(Container, Apptainer) {
  Cluster cluster = nodes(1, {"singularity"});
  add_gpus(cluster);
  JobSpec spec = job(Runtime::apptainer);
  spec.container->image = "train.sif";
  spec.container->mounts = {"/data:ro"};
  EXPECT_EQ(line(make_plan(spec, cluster, context())),
            "/usr/bin/singularity exec --cleanenv --nv --bind=/data:/data:ro "
            "--bind=/home/me/job:/home/me/job "
            "--bind=/tmp/dlaunch-enter-20261122-080000-abc-1-0:"
            "/tmp/dlaunch-enter-20261122-080000-abc-1-0:ro "
            "--bind=/home/me/runs/20261122-080000-abc/attempt-1:"
            "/home/me/runs/20261122-080000-abc/attempt-1 train.sif "
            "/tmp/dlaunch-enter-20261122-080000-abc-1-0/dlaunch agent --enter "
            "/tmp/dlaunch-enter-20261122-080000-abc-1-0");
}

TEST(Container, CharliecloudFindsWhatIsInTmp) {
  JobSpec spec = job(Runtime::charliecloud);
  spec.container->image = "/images/train";
  spec.container->options = {"--write"};
  const auto plan = make_plan(spec, nodes(1, {"ch-run"}), context());
  EXPECT_EQ(
      line(plan),
      "/usr/bin/ch-run --unset-env=* --bind=/home/me/job:/home/me/job --write /images/train -- "
      "/tmp/dlaunch-enter-20261122-080000-abc-1-0/dlaunch agent --enter "
      "/tmp/dlaunch-enter-20261122-080000-abc-1-0");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->nodes[0].containers[0].environment, (Environment{{"TMPDIR", "/tmp"}}));
  EXPECT_TRUE(plan->nodes[0].containers[0].cleanup.empty());
  spec.container->mounts = {"/data:/data:ro"};
  EXPECT_THAT(line(make_plan(spec, nodes(1, {"ch-run"}), context())), HasSubstr("leave out :ro"));
}

TEST(Container, Enroot) {
  Cluster cluster = nodes(1, {"enroot"});
  add_gpus(cluster);
  JobSpec spec = job(Runtime::enroot);
  spec.container->image = "train.sqsh";
  EXPECT_EQ(line(make_plan(spec, cluster, context())),
            "/usr/bin/enroot start --rc /tmp/dlaunch-enter-20261122-080000-abc-1-0/rc "
            "--env=NVIDIA_VISIBLE_DEVICES=all --env=NVIDIA_DRIVER_CAPABILITIES=compute,utility "
            "--env=MELLANOX_VISIBLE_DEVICES=all "
            "--mount=/home/me/job:/home/me/job:none:x-create=auto,rbind "
            "--mount=/tmp/dlaunch-enter-20261122-080000-abc-1-0:"
            "/tmp/dlaunch-enter-20261122-080000-abc-1-0:none:x-create=auto,rbind,ro "
            "--mount=/home/me/runs/20261122-080000-abc/attempt-1:"
            "/home/me/runs/20261122-080000-abc/attempt-1:none:x-create=auto,rbind train.sqsh "
            "/tmp/dlaunch-enter-20261122-080000-abc-1-0/dlaunch agent --enter "
            "/tmp/dlaunch-enter-20261122-080000-abc-1-0");
}

TEST(Container, AutoTakesTheFirstThatAllNodesHave) {
  Cluster cluster = nodes(2, {"docker", "ch-run"});
  cluster.nodes[0].facts.containers.programs.push_back({"podman", "/usr/bin/podman"});
  auto plan = make_plan(job(), cluster, context());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->nodes[0].containers[0].runtime, "docker");
  EXPECT_EQ(plan->nodes[1].containers[0].runtime, "docker");
  cluster.nodes[1].facts.containers.programs.clear();
  plan = make_plan(job(), cluster, context());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code, exit_code::kPreflight);
  EXPECT_THAT(plan.error().message,
              HasSubstr("no container runtime that all nodes have: node1 has podman, docker, "
                        "charliecloud; node2 has none"));
  plan = make_plan(job(Runtime::podman), cluster, context());
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message,
              HasSubstr("there is no podman in PATH on node2 (container.runtime: podman)"));
}

TEST(Container, ARoleHasItsOwn) {
  JobSpec spec = job(Runtime::podman);
  spec.framework = Framework::tensorflow;
  spec.roles.resize(2);
  spec.roles[0].name = "worker";
  spec.roles[0].count = 2;
  spec.roles[1].name = "ps";
  spec.roles[1].count = 1;
  spec.roles[1].container = Container{"ps:2", Runtime::docker, {}, 0, {}};
  Cluster cluster = nodes(1, {"podman", "docker"});
  cluster.nodes[0].facts.reserved_ports = {20001, 20002, 20003};
  const auto plan = make_plan(spec, cluster, context());
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->nodes[0].containers.size(), 2U);
  EXPECT_EQ(plan->ranks[0].container, 0U);
  EXPECT_EQ(plan->ranks[1].container, 0U);
  EXPECT_EQ(plan->ranks[2].container, 1U);
  EXPECT_EQ(plan->nodes[0].containers[1].image, "ps:2");
  EXPECT_EQ(plan->nodes[0].containers[1].runtime, "docker");
}

TEST(Container, SharedMemoryIsThatOfTheNodeWhereItHoldsEnough) {
  JobSpec spec = job(Runtime::podman);
  spec.container->shm_bytes = std::uint64_t{8} << 30;
  EXPECT_THAT(line(make_plan(spec, nodes(1, {"podman"}), context())), HasSubstr(" --ipc=host "));
  spec.container->shm_bytes = std::uint64_t{16} << 30;
  EXPECT_THAT(line(make_plan(spec, nodes(1, {"podman"}), context())),
              HasSubstr(" --ipc=private --shm-size=17179869184b "));
  spec.processes = 2;  // NCCL and MPI meet there
  EXPECT_THAT(line(make_plan(spec, nodes(1, {"podman"}), context())),
              HasSubstr("/dev/shm of node1 holds 8.6 GB, less than container.shm_size: 17 GB"));
}

TEST(Container, GpusThatCannotBeHadAreAnError) {
  Cluster cluster = nodes(1, {"podman"});
  add_gpus(cluster);
  cluster.nodes[0].facts.containers.nvidia_cdi = false;
  const auto plan = make_plan(job(Runtime::podman), cluster, context());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code, exit_code::kPreflight);
  EXPECT_THAT(plan.error().message, HasSubstr("nvidia-ctk cdi generate"));
  JobSpec spec = job(Runtime::podman);
  spec.binding.gpus = Binding::Gpus::none;
  EXPECT_THAT(line(make_plan(spec, cluster, context())), Not(HasSubstr("nvidia")));
}

// Variables inherited on the node are not inherited in the container, except the GPU restriction.
TEST(Container, VariablesOfTheNodeStayOutside) {
  JobSpec spec = job(Runtime::podman);
  spec.env = {{"MINE", "1"}};
  PlanContext with = context();
  with.launcher_env = {{"PYTHONUNBUFFERED", "0"}, {"OMP_NUM_THREADS", "77"}, {"PATH", "/x"}};
  Cluster cluster = nodes(1, {"podman"});
  add_gpus(cluster);
  cluster.nodes[0].facts.cuda_visible_devices = "1";
  const auto plan = make_plan(spec, cluster, with);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto messages = start_messages(*plan, NodeRank(0), {});
  const wire::StartRanks& start = messages.front();
  EXPECT_EQ(start.env.at("MINE"), "1");
  EXPECT_FALSE(start.env.contains("PATH"));
  EXPECT_EQ(start.defaults.at("PYTHONUNBUFFERED"), "1") << "the image may know better";
  EXPECT_NE(start.defaults.at("OMP_NUM_THREADS"), "77");
  EXPECT_EQ(start.env.at("CUDA_VISIBLE_DEVICES"), "1") << "whatever the image sets";
  ASSERT_EQ(start.containers.size(), 1U);
  EXPECT_EQ(start.ranks.front().container, 1U);
  EXPECT_EQ(start.entry_folder, "/tmp/dlaunch-enter-20261122-080000-abc-1-0");
}

TEST(Container, VariablesOfTheNodeGiveWayToThoseOfTheJob) {
  Cluster cluster = nodes(1, {"ch-run"});
  add_gpus(cluster);
  cluster.nodes[0].facts.cuda_visible_devices = "1";
  JobSpec spec = job(Runtime::charliecloud);
  spec.framework = Framework::mpi;
  spec.processes = 2;
  const auto names = [&](const PlanContext& with) {
    const auto plan = make_plan(spec, cluster, with);
    std::vector<std::string> found;
    if (!plan) return std::vector<std::string>{plan.error().message};
    for (const Variable& one : plan->nodes[0].variables) found.push_back(one.name);
    return found;
  };
  const auto mine = [](const char* name) { return testing::Contains(std::string(name)); };
  EXPECT_THAT(names(context()), testing::AllOf(mine("CUDA_VISIBLE_DEVICES"), mine("UCX_TLS"),
                                               mine("UCX_POSIX_USE_PROC_LINK")));
  spec.env = {{"CUDA_VISIBLE_DEVICES", "0"}};
  spec.env_pass = {"UCX_POSIX_USE_PROC_LINK"};
  spec.env_secret = {"UCX_TLS"};
  PlanContext with = context();
  with.launcher_env = {{"UCX_POSIX_USE_PROC_LINK", "y"}, {"UCX_TLS", "all"}};
  EXPECT_THAT(names(with), Not(testing::AnyOf(mine("CUDA_VISIBLE_DEVICES"), mine("UCX_TLS"),
                                              mine("UCX_POSIX_USE_PROC_LINK"))));
  spec.env.clear();
  spec.binding.gpus = Binding::Gpus::none;
  cluster.nodes[0].facts.containers.nvidia_cdi = true;
  const auto none = make_plan(spec, cluster, with);
  ASSERT_TRUE(none);
  for (const Variable& one : none->nodes[0].variables)
    EXPECT_NE(one.source, VariableSource::carried) << one.name;
}

// Over several nodes TCP is needed.
TEST(Container, TcpIsLeftOutWhereSharedMemoryIsEnough) {
  JobSpec spec = job(Runtime::podman);
  spec.framework = Framework::mpi;
  spec.processes = 2;
  const auto leaves_out = [&](const Cluster& cluster) {
    const auto plan = make_plan(spec, cluster, context());
    EXPECT_TRUE(plan) << plan.error().message;
    const auto& all = plan->nodes[0].variables;
    return std::any_of(all.begin(), all.end(),
                       [](const Variable& one) { return one.name == "UCX_TLS"; });
  };
  EXPECT_TRUE(leaves_out(nodes(1, {"podman"})));
  spec.processes = 8;
  EXPECT_FALSE(leaves_out(nodes(2, {"podman"})));
}

TEST(Container, AutoPrefersTheOneThatBringsTheGpus) {
  Cluster cluster = nodes(1, {"podman", "apptainer"});
  add_gpus(cluster);
  EXPECT_THAT(line(make_plan(job(), cluster, context())), HasSubstr("/podman run"));
  cluster.nodes[0].facts.containers.nvidia_cdi = false;
  EXPECT_THAT(line(make_plan(job(), cluster, context())), HasSubstr("/apptainer exec"));
  JobSpec spec = job();
  spec.binding.gpus = Binding::Gpus::none;
  EXPECT_THAT(line(make_plan(spec, cluster, context())), HasSubstr("/podman run"));
  cluster.nodes[0].facts.containers.programs.pop_back();
  EXPECT_THAT(line(make_plan(job(), cluster, context())), HasSubstr("nvidia-ctk cdi generate"));
}

TEST(Container, NoVariableIsOnTheCommandLine) {
  JobSpec spec = job(Runtime::docker);
  spec.env = {{"MINE", "v4lue"}};
  spec.env_secret = {"TOKEN"};
  PlanContext with = context();
  with.launcher_env = {{"TOKEN", "s3cret"}};
  for (const Runtime runtime : {Runtime::podman, Runtime::docker, Runtime::apptainer,
                                Runtime::charliecloud, Runtime::enroot}) {
    spec.container->runtime = runtime;
    const auto plan =
        make_plan(spec, nodes(1, {"podman", "docker", "apptainer", "ch-run", "enroot"}), with);
    ASSERT_TRUE(plan) << plan.error().message;
    for (const char* word : {"v4lue", "s3cret", "TOKEN", "MINE", "train.py"})
      EXPECT_THAT(line(plan), Not(HasSubstr(word)));
  }
}

TEST(Container, OfflineItIsAGuessAndSaidToBeOne) {
  Cluster cluster = nodes(1, {});
  cluster.is_assumed = true;
  const auto plan = make_plan(job(), cluster, context());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(line(plan), HasSubstr("podman run "));
  EXPECT_THAT(plan->notes, testing::Contains(HasSubstr("offline: which container runtime")));
}

TEST(Container, ANodeWithoutAPlaceForProgramsIsNamed) {
  Cluster cluster = nodes(1, {"podman"});
  cluster.nodes[0].facts.containers.base.clear();
  EXPECT_THAT(line(make_plan(job(), cluster, context())), HasSubstr("no folder on node1"));
}

TEST(Mount, Forms) {
  EXPECT_EQ(mount_of("/a"), (Mount{"/a", "/a", false}));
  EXPECT_EQ(mount_of("/a/:ro"), (Mount{"/a", "/a", true}));
  EXPECT_EQ(mount_of("/a:/b/"), (Mount{"/a", "/b", false}));
  EXPECT_EQ(mount_of("a b:/b:rw"), (Mount{"a b", "/b", false}));
  EXPECT_EQ(mount_of("./a:/b:ro"), (Mount{"./a", "/b", true}));
  for (const char* good : {"/a", "/a:ro", "/a:/b", "a:/b:ro", "/a:/b:rw"})
    EXPECT_EQ(problem_of_mount(good), "") << good;
  EXPECT_EQ(problem_of_mount("a"),
            "\"a\" is not an absolute path, so give its path in the container: HOST:CONTAINER");
  EXPECT_EQ(problem_of_mount("/a:b"), "the path in the container must be absolute, not \"b\"");
  EXPECT_THAT(problem_of_mount("/a:/b:rx"), HasSubstr("\"rx\" is neither ro nor rw"));
  EXPECT_THAT(problem_of_mount("/a:/b:ro:z"), HasSubstr("3 colons"));
  EXPECT_THAT(problem_of_mount(":/b"), HasSubstr("before the first"));
  EXPECT_THAT(problem_of_mount("/a\n:/b"), HasSubstr("control characters"));
}

}  // namespace
}  // namespace dlaunch
