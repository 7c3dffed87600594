/* sum SIZE: MPI_Init, one Allreduce, MPI_Finalize; fails unless the world has that size. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size;
  long mine, sum = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return argc < 2 || size != atoi(argv[1]) || sum != (long)size * (size + 1) / 2;
}
