/* sum SIZE [FILE]: MPI_Init, one Allreduce, MPI_Finalize; fails unless the world has that size. Rank 0 writes to FILE
 * when its Allreduce returned, which shows that all ranks had called it: nanoseconds of CLOCK_MONOTONIC, which is the same clock
 * on all nodes, because they are namespaces of one machine. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void leave(const char* path, const struct timespec* when) {
  FILE* file = fopen(path, "w");
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  fprintf(file, "%lld\n", (long long)when->tv_sec * 1000000000 + when->tv_nsec);
  fclose(file);
}

int main(int argc, char** argv) {
  int rank, size;
  long mine, sum = -1;
  struct timespec after;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  clock_gettime(CLOCK_MONOTONIC, &after);
  if (rank == 0 && argc > 2) leave(argv[2], &after);
  MPI_Finalize();
  return argc < 2 || size != atoi(argv[1]) || sum != (long)size * (size + 1) / 2;
}
