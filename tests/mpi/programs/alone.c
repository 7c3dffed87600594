/* alone: removes its rank and world size from its environment, like scripts that clean it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int size = 0;
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("world of %d\n", size);
  MPI_Finalize();
  return 0;
}
