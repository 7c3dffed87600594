/* endings WHAT RANK: one rank ends in an unusual way, the others wait for it in a collective.
 *
 *   abort CODE  MPI_Abort with that code      crash    a signal without a handler
 *   leave       exit(0) without MPI_Finalize  fail     exit(3)
 *   spawn       MPI_Comm_spawn, by all        small    use a communicator of only some ranks
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void wait_for_ever(void) {
  long number = rank_, sum = 0;
  while (1) MPI_Allreduce(&number, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

/* Communicators of only some of the ranks lead to fences of only those ranks. */
static void small(void) {
  MPI_Comm half;
  long one = 1, sum = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &half);
  MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, half);
  CHECK(sum == (rank_ % 2 == 0 ? (size_ + 1) / 2 : size_ / 2));
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int who = argc > 2 ? atoi(argv[2]) : 0;
  begin(&argc, &argv);
  if (strcmp(what, "small") == 0) {
    small();
    end("small");
    return 0;
  }
  if (strcmp(what, "spawn") == 0) {
    MPI_Comm children;
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    return 98; /* not reached */
  }
  if (rank_ != who) wait_for_ever();
  if (strcmp(what, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, argc > 3 ? atoi(argv[3]) : 7);
  if (strcmp(what, "crash") == 0) raise(SIGSEGV);
  if (strcmp(what, "fail") == 0) _exit(3);
  if (strcmp(what, "leave") == 0) _exit(0);
  return 97;
}
