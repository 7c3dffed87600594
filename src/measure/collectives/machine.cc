#include "measure/collectives/machine.h"

#include <fstream>

namespace dlaunch::collectives {

std::string machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace dlaunch::collectives
