// pairs ROUNDS MAX_BYTES TIMEOUT_MS: all_reduce (float32, sum) and broadcast by the library and by plain MPI, in turns in the same
// processes. Rank 0 prints a line for each call, size and round: "CALL BYTES OURS PLAIN", seconds for one call, both of the slowest rank.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpi.h>

#include <dlaunch/collectives/communicator.h>

using namespace dlaunch::collectives;

namespace {

constexpr double kLeastTime = 0.01;  // seconds for one measurement; longer than what the scheduler disturbs
constexpr int kMostCalls = 1000;

struct Buffers {
  std::vector<float> send;
  std::vector<float> receive;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds for one call on the slowest rank.
template <typename Function>
double timed(int calls, Function call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  for (int i = 0; i < calls; ++i) call();
  double taken = (now() - start) / calls;
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return taken;
}

void need(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "pairs: %s\n", status.what().c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

template <typename Ours, typename Plain>
void compare(const char* what, std::size_t bytes, int rounds, int rank, Ours ours, Plain plain) {
  timed(2, ours);
  const double guess = std::max(timed(3, plain), 1e-7);
  int calls = std::clamp(static_cast<int>(kLeastTime / guess), 1, kMostCalls);
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    double a = 0;
    double b = 0;
    if (round % 2 == 0) a = timed(calls, ours), b = timed(calls, plain);
    else b = timed(calls, plain), a = timed(calls, ours);
    if (rank == 0) std::printf("%s %zu %.9f %.9f\n", what, bytes, a, b);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const int rounds = std::atoi(argv[1]);
  const auto max_bytes = static_cast<std::size_t>(std::atoll(argv[2]));
  const std::chrono::milliseconds timeout(std::atoi(argv[3]));
  auto world = Communicator::create({.backend = BackendKind::mpi, .timeout = timeout});
  if (!world) return std::fprintf(stderr, "pairs: %s\n", world.status().what().c_str()), 1;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int rank = world->rank();
  for (std::size_t bytes = 8; bytes <= max_bytes; bytes *= 8) {
    const std::size_t count = bytes / sizeof(float);
    Buffers b{std::vector<float>(count, 1), std::vector<float>(count)};
    const int n = static_cast<int>(count);
    compare("all_reduce", bytes, rounds, rank,
            [&] { need(world->all_reduce(b.send.data(), b.receive.data(), count, DataType::float32, ReduceOp::sum)); },
            [&] { MPI_Allreduce(b.send.data(), b.receive.data(), n, MPI_FLOAT, MPI_SUM, comm); });
    compare("broadcast", bytes, rounds, rank, [&] { need(world->broadcast(b.send.data(), count, DataType::float32, 0)); },
            [&] { MPI_Bcast(b.send.data(), n, MPI_FLOAT, 0, comm); });
  }
  MPI_Comm_free(&comm);
}
