/* mpi_step steps: reductions without an end. mpi_step absent | mismatch | receive [RANK]: rank RANK (1) computes (it waits for a signal), is in a
   barrier, or waits with the rank before it for each other's messages, while the others wait for it in a reduction. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(int rank) {
  char word[32];
  int events = open(getenv("EVENTS"), O_WRONLY);
  if (write(events, word, (size_t)snprintf(word, sizeof word, "ready %d\n", rank)) < 0) exit(1);
  close(events);
}

__attribute__((noinline)) static int compute(void) {
  pause();
  return 1;
}

/* Both receive before they send. */
__attribute__((noinline)) static int exchange(int peer) {
  int halo = 0;
  MPI_Recv(&halo, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&halo, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
  return halo;
}

__attribute__((noinline)) static int step(int rank, const char* what, int odd) {
  int sum = rank;
  if (rank == odd && strcmp(what, "absent") == 0) sum += compute();
  if (rank == odd && strcmp(what, "mismatch") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == odd && strcmp(what, "receive") == 0) sum += exchange(odd - 1);
  if (rank == odd - 1 && strcmp(what, "receive") == 0) sum += exchange(odd);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  tell(rank);
  while (argc > 1 && strcmp(argv[1], "steps") == 0) step(rank, "", 0);
  rank = step(rank, argc > 1 ? argv[1] : "", argc > 2 ? atoi(argv[2]) : 1);
  MPI_Finalize();
  return rank < 0;
}
