/* How every program of this folder begins and ends; checks that all ranks form one world. */
#ifndef DLAUNCH_TESTS_MPI_CHECK_H
#define DLAUNCH_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank_, size_;

/* Prints a message and aborts with code 99, which no other failure has. */
#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank_, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 99);                                            \
    }                                                                           \
  } while (0)

/* Sum of 0 .. n - 1. */
static long triangle(long n) { return n * (n - 1) / 2; }

static void begin(int* argc, char*** argv) {
  const char* expected = getenv("DLAUNCH_WORLD_SIZE");
  const char* own = getenv("DLAUNCH_RANK");
  long mine, sum = -1;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(expected != NULL && atoi(expected) == size_);
  CHECK(own != NULL && atoi(own) == rank_);
  CHECK(getenv("OMPI_COMM_WORLD_RANK") != NULL && atoi(getenv("OMPI_COMM_WORLD_RANK")) == rank_);
  CHECK(getenv("OMPI_COMM_WORLD_SIZE") != NULL && atoi(getenv("OMPI_COMM_WORLD_SIZE")) == size_);
  mine = rank_;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == triangle(size_));
}

static void end(const char* name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) printf("%s ok %d\n", name, size_);
  fflush(stdout);
  MPI_Finalize();
}

#endif
