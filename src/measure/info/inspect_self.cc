#include "measure/info/inspect_self.h"

#include <cstdlib>

#include <sys/statvfs.h>
#include <unistd.h>

#include "launch/questions/own_py_spy.h"
#include "measure/info/inspect_machine.h"
#include "node/ranks/environment_block.h"
#include "os/cgroup.h"
#include "os/containment.h"
#include "os/memory_broker.h"
#include "os/pid_namespace.h"
#include "os/proc_file.h"
#include "os/spawn.h"
#include "os/unique_fd.h"
#include "plan/container.h"

namespace dlaunch {

namespace {

std::string program_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  return executable_of(find_program(name, path != nullptr ? path : kDefaultSearchPath, "/"));
}

/// Whether a cgroup for ranks can be made, as an agent would make it.
bool has_cgroup() {
  const auto own = own_cgroup_folder();
  const auto made = own ? RankCgroup::make(*own) : std::nullopt;
  return made && made->remove();
}

void find_runtimes(ContainerFacts& facts) {
  JobSpec any;
  any.container.emplace();
  for (const std::string& name : container_programs(any)) {
    if (std::string path = program_in_path(name); !path.empty())
      facts.programs.push_back({name, std::move(path)});
  }
}

}  // namespace

SelfCheckFacts inspect_self() {
  SelfCheckFacts facts;
  MachineInfo info;
  read_machine(info);
  facts.machine.facts = std::move(info.facts);
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0)
    facts.machine.condition.shm_bytes = std::uint64_t{shm.f_blocks} * shm.f_frsize;
  find_runtimes(facts.machine.facts.containers);
  facts.has_pidfd = UniqueFd(open_pidfd(::getpid())).get() >= 0;
  facts.is_root = ::geteuid() == 0;
  facts.ssh = program_in_path("ssh");
  const char* const path = std::getenv("PATH");
  if (const auto py_spy = read_own_py_spy(path != nullptr ? path : ""); !py_spy)
    facts.no_py_spy = py_spy.error().message;
  facts.ptrace_scope = ptrace_scope();
  facts.has_cgroup = has_cgroup();
  facts.no_pid_namespace = why_no_pid_namespace();
  facts.libraries = found_libraries();
  return facts;
}

}  // namespace dlaunch
