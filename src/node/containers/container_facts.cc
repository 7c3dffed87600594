#include "node/containers/container_facts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "node/containers/container_folder.h"
#include "node/ranks/environment_block.h"
#include "node/session/session_socket.h"
#include "os/files.h"
#include "os/proc_file.h"
#include "os/spawn.h"

namespace dlaunch {

namespace {

constexpr int kCapSysResource = 24;  // linux/capability.h

std::uint64_t hard_limit(__rlimit_resource resource) {
  rlimit limit{};
  const bool known = ::getrlimit(resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY;
  return known ? limit.rlim_max : ResourceLimits::kUnlimited;
}

/// Podman lowers its process limit to the kernel's pid_max (proc(5)) and cannot raise it again for
/// its containers.
std::uint64_t process_limit() {
  const std::uint64_t room =
      std::strtoull(read_proc_file("/proc/sys/kernel/pid_max").c_str(), nullptr, 10);
  const std::uint64_t hard = hard_limit(RLIMIT_NPROC);
  return room == 0 ? hard : std::min(hard, room);
}

/// proc_pid_status(5), CapEff: a mask in hexadecimal digits.
bool has_capability(int number) {
  const std::string status = read_proc_file("/proc/self/status");
  const auto at = status.find("CapEff:");
  if (at == std::string::npos) return false;
  const std::uint64_t mask =
      std::strtoull(status.c_str() + at + std::string("CapEff:").size(), nullptr, 16);
  return (mask >> number & 1) != 0;
}

/// Whether there is a specification of the Container Device Interface for NVIDIA (CDI
/// specification, "CDI JSON Specification"; nvidia-ctk writes nvidia.yaml).
bool has_nvidia_cdi() {
  for (const char* folder : {"/etc/cdi", "/var/run/cdi"}) {
    std::error_code ignored;
    for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end;
         at.increment(ignored)) {
      if (at->path().filename().string().find("nvidia") != std::string::npos) return true;
    }
  }
  return false;
}

std::string path_of(const std::string& name, const std::string& search_path) {
  return executable_of(find_program(name, search_path, "/"));
}

/// The first session folder that is ours; makes it if it is missing.
std::string usable_session_folder() {
  for (const std::string& folder : session_folders()) {
    if (open_private_folder(folder, true)) return folder;
  }
  return {};
}

}  // namespace

void find_containers(const wire::FactsRequest& request, const Environment& login,
                     NodeFacts& facts) {
  if (request.containers.empty()) return;
  ContainerFacts& found = facts.containers;
  const std::string path = find_variable(login, "PATH").value_or(kDefaultSearchPath);
  for (const std::string& name : request.containers) {
    if (const std::string at = path_of(name, path); !at.empty())
      found.programs.push_back({name, at});
  }
  found.base = entry_base(login);
  found.session_folder = usable_session_folder();
  found.user = ::geteuid();
  found.group = ::getegid();
  found.may_raise_limits = has_capability(kCapSysResource);
  found.open_files = hard_limit(RLIMIT_NOFILE);
  found.processes = process_limit();
  struct statvfs about {};
  if (::statvfs("/dev/shm", &about) == 0) found.shm_bytes = about.f_blocks * about.f_frsize;
  found.nvidia_cdi = has_nvidia_cdi();
  found.nvidia_toolkit = !path_of("nvidia-container-cli", path).empty();
  found.infiniband = ::access("/dev/infiniband", F_OK) == 0;
}

}  // namespace dlaunch
