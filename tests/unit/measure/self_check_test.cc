#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measure/info/self_check.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Nothing is missing; no GPU and no InfiniBand.
SelfCheckFacts complete_machine() {
  SelfCheckFacts facts;
  facts.machine.facts.kernel = "6.1.0";
  facts.machine.facts.containers.programs = {{"podman", "/usr/bin/podman"}};
  facts.machine.facts.limits.open_files = 65536;
  facts.machine.facts.fabric.no_gpus = "no NVIDIA GPU on the PCI bus, and no driver";
  facts.machine.facts.fabric.no_rdma = "no such device";
  facts.machine.condition.shm_bytes = std::uint64_t{1} << 30U;
  facts.has_pidfd = true;
  facts.ssh = "/usr/bin/ssh";
  facts.has_cgroup = true;
  facts.libraries = {{"mpi", true, "Open MPI v4.1.4"}, {"pmix", true, ""}};
  return facts;
}

const SelfCheckRow& row_of(const std::vector<SelfCheckRow>& rows, const std::string& name) {
  static const SelfCheckRow kNone;
  for (const SelfCheckRow& row : rows) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return kNone;
}

SelfCheckRow row_of(const SelfCheckFacts& facts, const std::string& name) {
  return row_of(self_check(facts), name);
}

using State = SelfCheckRow::State;

TEST(SelfCheck, NothingIsMissing) {
  const std::string text = self_check_text(self_check(complete_machine()));
  EXPECT_THAT(text, HasSubstr("ok       kernel      Linux 6.1.0\n"));
  EXPECT_THAT(text, HasSubstr("ok       mpi         Open MPI v4.1.4: "));
  EXPECT_THAT(text, HasSubstr("none     gpus        no NVIDIA GPU"));
  EXPECT_THAT(text, HasSubstr("\ndlaunch works here; nothing is missing\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nmissing")));
}

TEST(SelfCheck, EachMissingPartHasItsLineAndItsRemedy) {
  SelfCheckFacts facts = complete_machine();
  facts.ssh.clear();
  facts.no_py_spy = "this machine has no py-spy to send (pip install py-spy)";
  facts.has_cgroup = false;
  facts.no_pid_namespace = "unshare: Operation not permitted\nset sysctl x to 1";
  facts.machine.facts.containers.programs.clear();
  facts.machine.facts.limits.open_files = 256;
  facts.libraries = {{"mpi", false, "libmpi.so.40 is not on this node: install Open MPI"}};
  const auto rows = self_check(facts);
  for (const char* name :
       {"ssh", "py-spy", "cgroup", "namespaces", "containers", "open-files", "mpi"})
    EXPECT_EQ(row_of(rows, name).state, State::lacking) << name;
  EXPECT_THAT(row_of(rows, "ssh").remedy, HasSubstr("openssh-client"));
  EXPECT_THAT(row_of(rows, "py-spy").says, HasSubstr("pip install py-spy"));
  EXPECT_EQ(row_of(rows, "namespaces").remedy, "set sysctl x to 1");
  EXPECT_THAT(row_of(rows, "namespaces").says, HasSubstr("unshare: Operation not permitted"));
  EXPECT_THAT(row_of(rows, "open-files").says, HasSubstr("256 files"));
  EXPECT_THAT(self_check_text(rows),
              HasSubstr("\ndlaunch works here; missing for some jobs: ssh, py-spy, cgroup, "));
}

TEST(SelfCheck, WithoutPidfdDlaunchDoesNotWork) {
  SelfCheckFacts facts = complete_machine();
  facts.has_pidfd = false;
  facts.ssh.clear();
  EXPECT_EQ(row_of(facts, "kernel").state, State::broken);
  EXPECT_THAT(self_check_text(self_check(facts)),
              HasSubstr("\ndlaunch does not work here: kernel\n"));
}

// The kernel's admin-guide/LSM/Yama.rst: 1 restricted, 2 administrators only, 3 nobody.
TEST(SelfCheck, YamaAllowsRootMore) {
  SelfCheckFacts facts = complete_machine();
  const State expected[] = {State::works, State::works, State::lacking, State::lacking};
  for (int scope = 0; scope <= 3; ++scope) {
    facts.ptrace_scope = scope;
    EXPECT_EQ(row_of(facts, "ptrace").state, expected[scope]) << scope;
  }
  facts.is_root = true;
  facts.ptrace_scope = 2;
  EXPECT_EQ(row_of(facts, "ptrace").state, State::works);
  facts.ptrace_scope = 3;
  EXPECT_EQ(row_of(facts, "ptrace").state, State::lacking);
}

TEST(SelfCheck, NcclAndNvmlAreMissedOnlyWhereThereIsAGpu) {
  SelfCheckFacts facts = complete_machine();
  facts.libraries = {{"nccl", false, "no such library"}, {"nvml", false, "refused"}};
  EXPECT_EQ(row_of(facts, "nccl").state, State::absent);
  EXPECT_EQ(row_of(facts, "nvml").state, State::absent);
  facts.machine.facts.gpus.resize(2);
  facts.machine.facts.fabric.gpu_driver = "550.54.15";
  EXPECT_EQ(row_of(facts, "nccl").state, State::lacking);
  EXPECT_EQ(row_of(facts, "nvml").state, State::lacking);
  EXPECT_EQ(row_of(facts, "nvml").says, "refused; nvidia-smi is asked instead");
  EXPECT_EQ(row_of(facts, "gpus").says, "2 GPUs, driver 550.54.15");
}

TEST(SelfCheck, Json) {
  SelfCheckFacts facts = complete_machine();
  facts.ssh.clear();
  const auto json = nlohmann::json::parse(self_check_json(self_check(facts)));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["parts"][0]["name"], "kernel");
  EXPECT_EQ(json["parts"][0]["state"], "ok");
  EXPECT_TRUE(json["parts"][0]["try"].is_null());
  EXPECT_EQ(json["parts"][1]["state"], "missing");
}

}  // namespace
}  // namespace dlaunch
