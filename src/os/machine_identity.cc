#include "os/machine_identity.h"

#include <unistd.h>

#include "os/process_identity.h"

namespace dlaunch {

namespace {

/// "net:[4026531840]".
std::string own_namespace(const char* kind) {
  char text[64];
  const std::string path = std::string("/proc/self/ns/") + kind;
  const ssize_t size = ::readlink(path.c_str(), text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

}  // namespace

std::string machine_identity() {
  const std::string boot = boot_id();
  const std::string net = own_namespace("net");
  const std::string pid = own_namespace("pid");
  if (boot.empty() || net.empty() || pid.empty()) return "";
  return boot + ' ' + net + ' ' + pid;
}

}  // namespace dlaunch
