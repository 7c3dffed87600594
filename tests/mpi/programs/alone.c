/* alone: takes its place in the world away from itself, as scripts do that clean os.environ. */
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
