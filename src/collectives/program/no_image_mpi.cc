#include "collectives/program/image.h"

namespace dlaunch::collectives {

std::string_view mpi_image() {
  return {};
}

}  // namespace dlaunch::collectives
