/* init: MPI_Init and MPI_Finalize, with whichever MPI it was compiled. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
