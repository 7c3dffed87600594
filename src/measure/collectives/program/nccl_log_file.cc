#include "measure/collectives/program/nccl_log_file.h"

#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace dlaunch::collectives {

namespace {

int log_fd = -1;  // one per process, as NCCL's environment

}  // namespace

void keep_nccl_log() {
  log_fd = ::memfd_create("nccl-log", MFD_CLOEXEC);
  if (log_fd < 0) return;
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET,ENV", 1);
  ::setenv("NCCL_DEBUG_FILE", ("/proc/self/fd/" + std::to_string(log_fd)).c_str(), 1);
}

std::string nccl_log() {
  std::string text(log_fd < 0 ? 0 : std::size_t{256} << 10U, '\0');
  const ssize_t n = log_fd < 0 ? 0 : ::pread(log_fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

}  // namespace dlaunch::collectives
