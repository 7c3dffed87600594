// dlaunch-collectives-mpi and dlaunch-collectives-nccl: dynamically linked, carried by dlaunch as
// bytes.
#include <sys/prctl.h>

#include "measure/collectives/program/program.h"

int main(int argc, char** argv) {
  ::prctl(PR_SET_NAME, "dlaunch-collect");  // else the name would be a descriptor number
  return dlaunch::collectives::run_program({argv + 1, argv + argc});
}
