/* init: calls MPI_Init and MPI_Finalize of whichever MPI it was compiled with. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
