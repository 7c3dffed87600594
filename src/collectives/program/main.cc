// dlaunch-collectives-mpi and dlaunch-collectives-nccl: dynamically linked, carried by dlaunch as
// bytes.
#include <sys/prctl.h>

#include "collectives/program/program.h"

int main(int argc, char** argv) {
  ::prctl(PR_SET_NAME, "dlaunch-collect");  // a file without a name is the number of a descriptor
  return dlaunch::collectives::run_program({argv + 1, argv + argc});
}
