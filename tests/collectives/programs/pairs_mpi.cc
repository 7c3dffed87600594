// pairs_mpi KEY=VALUE...: the library over MPI against plain MPI (pairs.h). timeout_ms=0: the library
// makes blocking calls, as the plain side always does.
#include <cstdio>
#include <cstdlib>

#include <mpi.h>

#include "pairs.h"

using namespace dlaunch::collectives;

namespace {

constexpr int kTag = 1;

class MpiGroup final : public Group {
 public:
  explicit MpiGroup(MPI_Comm comm) : comm_(comm) { MPI_Comm_rank(comm, &rank_); }
  [[nodiscard]] int rank() const override { return rank_; }
  void meet() override { MPI_Barrier(comm_); }
  void largest(std::vector<double>& numbers) override {
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE,
                  MPI_MAX, comm_);
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
};

template <typename Call>
Block block(Call call) {
  return block_of(call, [] {});
}

Block plain_block(MPI_Comm comm, const Work& w) {
  const int n = static_cast<int>(w.count);
  void* const send = w.send;
  void* const receive = w.receive;
  switch (w.kind) {
    case Kind::barrier:
      return block([=] { MPI_Barrier(comm); });
    case Kind::broadcast:
      return block([=] { MPI_Bcast(receive, n, MPI_FLOAT, 0, comm); });
    case Kind::reduce:
      return block([=] { MPI_Reduce(send, receive, n, MPI_FLOAT, MPI_SUM, 0, comm); });
    case Kind::all_reduce:
      return block([=] { MPI_Allreduce(send, receive, n, MPI_FLOAT, MPI_SUM, comm); });
    case Kind::all_gather:
      return block([=] { MPI_Allgather(send, n, MPI_FLOAT, receive, n, MPI_FLOAT, comm); });
    case Kind::reduce_scatter:
      return block([=] { MPI_Reduce_scatter_block(send, receive, n, MPI_FLOAT, MPI_SUM, comm); });
    case Kind::all_to_all:
      return block([=] { MPI_Alltoall(send, n, MPI_FLOAT, receive, n, MPI_FLOAT, comm); });
    case Kind::send_receive:
      return block([=, to = w.next(), from = w.previous()] {
        MPI_Sendrecv(send, n, MPI_FLOAT, to, kTag, receive, n, MPI_FLOAT, from, kTag, comm,
                     MPI_STATUS_IGNORE);
      });
    case Kind::ping_pong:
      break;
  }
  const int other = w.partner();
  if (other < 0) return [](int) {};
  if (w.rank % 2 == 0) {
    return block([=] {
      MPI_Send(send, n, MPI_FLOAT, other, kTag, comm);
      MPI_Recv(receive, n, MPI_FLOAT, other, kTag, comm, MPI_STATUS_IGNORE);
    });
  }
  return block([=] {
    MPI_Recv(receive, n, MPI_FLOAT, other, kTag, comm, MPI_STATUS_IGNORE);
    MPI_Send(send, n, MPI_FLOAT, other, kTag, comm);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::milliseconds timeout(
      std::atoi(word_of(argc, argv, "timeout_ms", "0").c_str()));
  auto world = Communicator::create({.backend = BackendKind::mpi, .timeout = timeout});
  if (!world) return std::fprintf(stderr, "pairs_mpi: %s\n", world.status().what().c_str()), 2;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &between);
  MpiGroup group(between);
  const int code = pairs_main(argc, argv, *world, group, false,
                              [comm](const Work& w) { return plain_block(comm, w); });
  MPI_Comm_free(&between);
  MPI_Comm_free(&comm);
  return code;
}
