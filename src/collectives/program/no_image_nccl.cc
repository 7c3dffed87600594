#include "collectives/program/image.h"

namespace dlaunch::collectives {

std::string_view nccl_image() {
  return {};
}

}  // namespace dlaunch::collectives
