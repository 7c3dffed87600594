#include "os/own_machine.h"

#include <cerrno>
#include <climits>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/proc_file.h"

namespace dlaunch {

std::string own_hostname() {
  utsname system{};
  ::uname(&system);
  return system.nodename;
}

std::string boot_id() {
  std::string id = read_proc_file("/proc/sys/kernel/random/boot_id");
  while (id.ends_with('\n')) id.pop_back();
  return id;
}

std::string machine_identity() {
  const std::string boot = boot_id();
  const std::string net = link_target("/proc/self/ns/net");  // "net:[4026531840]"
  const std::string pid = link_target("/proc/self/ns/pid");
  if (boot.empty() || net.empty() || pid.empty()) return "";
  return boot + ' ' + net + ' ' + pid;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    const void* bytes = nullptr;
    if (family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    if (family == AF_INET6)
      bytes = &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
    char text[INET6_ADDRSTRLEN];
    if (bytes != nullptr && ::inet_ntop(family, bytes, text, sizeof text) != nullptr)
      addresses.emplace_back(text);
  }
  ::freeifaddrs(first);
  return addresses;
}

std::vector<int> allowed_cpus(int pid) {
  std::vector<int> cpus;
  // Machines may have more than the 1024 CPUs of a cpu_set_t.
  for (int count = 1024; count <= 65536; count *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(count));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    const bool ok = ::sched_getaffinity(pid, size, set) == 0;
    const int error = errno;
    for (int cpu = 0; ok && cpu < count; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (ok || error != EINVAL) break;
  }
  return cpus;
}

namespace {

/// RLIM_INFINITY and kUnlimited are the same number.
std::uint64_t soft_limit(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : ResourceLimits::kUnlimited;
}

}  // namespace

Result<std::string> current_folder() {
  char path[PATH_MAX];
  if (::getcwd(path, sizeof path) == nullptr)
    return fail_errno(exit_code::kUsage, "cannot find the current working directory", errno);
  return std::string(path);
}

ResourceLimits own_limits() {
  return {soft_limit(RLIMIT_NOFILE), soft_limit(RLIMIT_NPROC), soft_limit(RLIMIT_MEMLOCK),
          soft_limit(RLIMIT_CORE)};
}

}  // namespace dlaunch
