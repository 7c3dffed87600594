/* world [FILE [CODE]]: checks a ring, sums over all ranks, the ranks of each node and one-sided
 * access; with FILE also MPI-IO to this file, which all nodes see. With CODE, rank 0 then calls
 * MPI_Abort(CODE), and no rank calls MPI_Finalize: in MPICH 4.0 with UCX over TCP it may wait
 * forever, under Hydra, too, because a rank that is still disconnecting needs progress in the
 * others, which already wait in a PMI barrier. */
#include <string.h>

#include "check.h"

/* A token goes around the ring, and each rank adds its number to it. */
static void ring(void) {
  long token = 0;
  if (size_ == 1) return;
  if (rank_ != 0) MPI_Recv(&token, 1, MPI_LONG, rank_ - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token += rank_;
  MPI_Send(&token, 1, MPI_LONG, (rank_ + 1) % size_, 7, MPI_COMM_WORLD);
  if (rank_ != 0) return;
  MPI_Recv(&token, 1, MPI_LONG, size_ - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(token == triangle(size_));
}

/* Large enough for the rendezvous protocols of the transports. */
static void large_sums(void) {
  enum { kCount = 1 << 18 };
  double* values = malloc(kCount * sizeof *values);
  CHECK(values != NULL);
  for (int i = 0; i < kCount; ++i) values[i] = rank_ + i;
  MPI_Allreduce(MPI_IN_PLACE, values, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == (double)triangle(size_) + (double)i * size_);
  free(values);
}

/* The ranks that share memory are exactly those that dlaunch has planned for this node. */
static void neighbours(void) {
  MPI_Comm node;
  MPI_Win window;
  int local_rank, local_size;
  long* mine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_size(node, &local_size);
  CHECK(local_rank == atoi(getenv("OMPI_COMM_WORLD_LOCAL_RANK")));
  CHECK(local_size == atoi(getenv("OMPI_COMM_WORLD_LOCAL_SIZE")));
  MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, node, &mine, &window);
  MPI_Win_fence(0, window);
  *mine = 100 + local_rank;
  MPI_Win_fence(0, window);
  for (int i = 0; i < local_size; ++i) {
    MPI_Aint bytes;
    int unit;
    long* theirs;
    MPI_Win_shared_query(window, i, &bytes, &unit, &theirs);
    CHECK(*theirs == 100 + i);
  }
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
}

/* Every rank puts its number into the next rank's window, and adds one to a number in rank 0's. */
static void one_sided(void) {
  long cells[2] = {-1, 0};
  const long number = rank_, one = 1;
  MPI_Win window;
  MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&number, 1, MPI_LONG, (rank_ + 1) % size_, 0, 1, MPI_LONG, window);
  MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  CHECK(cells[0] == (rank_ + size_ - 1) % size_);
  CHECK(rank_ != 0 || cells[1] == size_);
  MPI_Win_free(&window);
}

static void parallel_file(const char* name) {
  MPI_File file;
  long number = 1000 + rank_, other = -1;
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS);
  CHECK(MPI_File_write_at_all(file, rank_ * (MPI_Offset)sizeof number, &number, 1, MPI_LONG,
                              MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_read_at_all(file, ((rank_ + 1) % size_) * (MPI_Offset)sizeof other, &other, 1,
                             MPI_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(other == 1000 + (rank_ + 1) % size_);
  MPI_File_close(&file);
}

static void leave(int code) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) {
    printf("world ok %d\n", size_);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, code);
  }
  while (1) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  ring();
  large_sums();
  neighbours();
  one_sided();
  if (argc > 1) parallel_file(argv[1]);
  if (argc > 2) leave(atoi(argv[2]));
  end("world");
  return 0;
}
