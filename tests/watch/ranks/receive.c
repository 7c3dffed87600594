/* Rank 0 waits for a message that rank 1 never sends. */
#include <mpi.h>
#include <unistd.h>

__attribute__((noinline)) static int wait_for_halo(void) {
  int halo = 0;
  MPI_Recv(&halo, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return halo + 1;
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) pause();
  return wait_for_halo();
}
