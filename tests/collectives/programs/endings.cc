// endings WHAT: provokes a failure and checks what a communicator reports. Exit code 0: the expected error.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

#include <dlaunch/collectives/communicator.h>

using namespace dlaunch::collectives;

namespace {

constexpr Options kPatient{.backend = BackendKind::mpi, .timeout = std::chrono::milliseconds(0)};

int fail(const std::string& what, const Status& status) {
  std::fprintf(stderr, "endings: %s: code %d, %s\n", what.c_str(), static_cast<int>(status.code()), status.what().c_str());
  return 1;
}

Status sum(Communicator& world, long long mine, long long& total) {
  return world.all_reduce(&mine, &total, 1, DataType::int64, ReduceOp::sum);
}

/// The last rank does not join. The others report that in time, and their communicator is broken.
int late(Communicator& patient) {
  long long total = 0;
  // The first communicator has a long limit, because connecting takes long on a busy machine.
  if (Status status = sum(patient, 1, total); !status.ok()) return fail("the patient sum", status);
  auto created = Communicator::create({.backend = BackendKind::mpi, .timeout = std::chrono::seconds(2)});
  if (!created) return fail("the impatient one", created.status());
  Communicator& world = *created;
  if (Status status = sum(world, 1, total); !status.ok() || total != world.size()) return fail("the first sum", status);
  if (world.rank() == world.size() - 1) {
    ::pause();
    return 1;
  }
  Status status = sum(world, 1, total);
  if (status.code() != Code::timed_out || status.what() != "all_reduce: the other ranks did not join within 2 s") return fail("late", status);
  if (status = world.barrier(); status.code() != Code::broken) return fail("after it", status);
  std::printf("said in time\n");
  std::fflush(stdout);
  ::_exit(7);  // the job's code
}

/// Rank 1 dies while all are in a collective.
int die(Communicator& world) {
  for (long long step = 0;; ++step) {
    long long total = 0;
    if (world.rank() == 1 && step == 50) ::raise(SIGKILL);
    if (Status status = sum(world, step, total); !status.ok()) return fail("a sum", status);
  }
}

int abort_all(Communicator& world) {
  if (world.rank() == 1) world.abort(9);
  return fail("no rank waits forever", world.barrier());
}

int arguments(Communicator& world) {
  int number = 0;
  int other = 0;
  const std::vector<std::pair<Status, std::string>> found = {
      {world.broadcast(&number, 1, DataType::int32, world.size()),
       "broadcast: root is " + std::to_string(world.size()) + ", but the ranks are 0 to " + std::to_string(world.size() - 1)},
      {world.send(&number, 1, DataType::int32, -1), "send: the rank to send to is -1, but the ranks are 0 to " + std::to_string(world.size() - 1)},
      {world.all_reduce(nullptr, &number, 1, DataType::int32, ReduceOp::sum), "all_reduce: the buffer to send is null"},
      {world.all_reduce(&number, nullptr, 1, DataType::int32, ReduceOp::sum), "all_reduce: the buffer to receive into is null"},
      {world.all_to_all(&number, &number, 1, DataType::int32), "all_to_all: the two buffers must differ"},
      {world.all_reduce(&number, &other, std::size_t{1} << 31U, DataType::int32, ReduceOp::sum),
       "all_reduce: 2147483648 elements; this back-end takes at most 2147483647 in one call"},
  };
  for (const auto& [status, text] : found) {
    if (status.code() != Code::invalid_argument || status.what() != text) return fail("instead of \"" + text + '"', status);
  }
  if (const auto part = world.split(-1, 0); part || part.status().code() != Code::invalid_argument) return fail("split", part.status());
  long long total = 0;  // the communicator still works
  const Status status = sum(world, 1, total);
  return status.ok() && total == world.size() ? 0 : fail("the sum after it", status);
}

/// Splits into even and odd ranks, each in reverse order.
int parts(Communicator& world) {
  auto part = world.split(world.rank() % 2, -world.rank());
  if (!part) return fail("split", part.status());
  long long total = 0;
  long long expected = 0;
  for (int rank = world.rank() % 2; rank < world.size(); rank += 2) expected += rank;
  if (Status status = sum(*part, world.rank(), total); !status.ok() || total != expected) return fail("the part's sum", status);
  const int last = world.size() - 1 - (world.size() - 1 - world.rank()) % 2;
  if (part->rank() != (last - world.rank()) / 2) return fail("the order by key", {});
  auto again = Communicator::create(kPatient);
  if (!again) return fail("a second communicator", again.status());
  if (Status status = sum(*again, 1, total); !status.ok() || total != world.size()) return fail("its sum", status);
  return 0;
}

int after_the_last() {
  {
    auto world = Communicator::create(kPatient);
    if (!world) return fail("the first", world.status());
  }
  auto another = Communicator::create(kPatient);
  if (another || another.status().code() != Code::unavailable) return fail("after the last", another.status());
  return 0;
}

int no_nccl() {
  auto world = Communicator::create({.backend = BackendKind::nccl});
  if (world || world.status().code() != Code::unavailable) return fail("NCCL", world.status());
  std::printf("%s\n", world.status().what().c_str());
  auto other = Communicator::create();
  return other ? 0 : fail("automatic", other.status());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "after_the_last") return after_the_last();
  if (what == "no_nccl") return no_nccl();
  auto world = Communicator::create(
      {.backend = BackendKind::mpi, .timeout = std::chrono::milliseconds(what == "die" ? 0 : 20000)});
  if (!world) return fail("create", world.status());
  if (what == "late") return late(*world);
  if (what == "die") return die(*world);
  if (what == "abort") return abort_all(*world);
  if (what == "arguments") return arguments(*world);
  if (what == "parts") return parts(*world);
  return 64;
}
