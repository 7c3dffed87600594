#include "measure/collectives/machine.h"

#include <cstdio>

namespace dlaunch::collectives {

std::string machine() {
  char id[64] = "";
  std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == nullptr) return "";
  const int read = std::fscanf(file, "%63s", id);
  (void)std::fclose(file);
  return read == 1 ? id : "";
}

}  // namespace dlaunch::collectives
