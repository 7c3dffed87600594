// pairs_nccl KEY=VALUE...: the library over NCCL against plain NCCL (pairs.h), one GPU per rank.
// With one rank, a call only copies within the GPU or does nothing, but it includes the cost of a
// call on the host.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>

#include "buffers.h"
#include "measure/collectives/exchange.h"
#include "measure/collectives/nccl_library.h"
#include "pairs.h"

using namespace dlaunch::collectives;

namespace {

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "pairs_nccl: %s\n", why.c_str());
  std::exit(2);
}

void check(ncclResult_t result, const NcclLibrary& nccl) {
  if (result != ncclSuccess) fail(std::string("plain NCCL: ") + nccl.get_error_string(result));
}

void wait() {
  const cudaError_t error = cudaStreamSynchronize(nullptr);
  if (error != cudaSuccess)
    fail(std::string("cudaStreamSynchronize: ") + cudaGetErrorString(error));
}

/// Uses the library, because nothing is timed between blocks.
class NcclGroup final : public Group {
 public:
  explicit NcclGroup(Communicator& world)
      : world_(world), buffer_(allocate(kMost * sizeof(double), true)) {}
  ~NcclGroup() override { release(buffer_, true); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  [[nodiscard]] int rank() const override { return world_.rank(); }
  void meet() override {
    need(world_.barrier());
    need(world_.synchronize());
  }
  void largest(std::vector<double>& numbers) override {
    if (world_.size() == 1) return;
    copy_to(buffer_, numbers.data(), numbers.size() * sizeof(double), true);
    need(world_.all_reduce(buffer_, buffer_, numbers.size(), DataType::float64, ReduceOp::max));
    need(world_.synchronize());
    copy_from(numbers.data(), buffer_, numbers.size() * sizeof(double), true);
  }

 private:
  static constexpr std::size_t kMost = 16;
  Communicator& world_;
  void* buffer_;
};

template <typename Call>
Block block(const NcclLibrary& nccl, Call call) {
  return block_of([&nccl, call] { check(call(), nccl); }, wait);
}

ncclResult_t all_to_all(const NcclLibrary& nccl, const Work& w, ncclComm_t comm) {
  nccl.group_start();
  for (int peer = 0; peer < w.size; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * w.count;
    nccl.send(static_cast<const float*>(w.send) + at, w.count, ncclFloat32, peer, comm, nullptr);
    nccl.receive(static_cast<float*>(w.receive) + at, w.count, ncclFloat32, peer, comm, nullptr);
  }
  return nccl.group_end();
}

Block plain_block(const NcclLibrary& nccl, ncclComm_t comm, const Work& w, float* token) {
  constexpr cudaStream_t kStream = nullptr;
  switch (w.kind) {
    case Kind::barrier:
      return block(nccl, [&nccl, comm, token] {
        return nccl.all_reduce(token, token, 1, ncclInt32, ncclMax, comm, kStream);
      });
    case Kind::broadcast:
      return block(nccl, [&nccl, comm, w] {
        return nccl.broadcast(w.receive, w.receive, w.count, ncclFloat32, 0, comm, kStream);
      });
    case Kind::reduce:
      return block(nccl, [&nccl, comm, w] {
        return nccl.reduce(w.send, w.receive, w.count, ncclFloat32, ncclSum, 0, comm, kStream);
      });
    case Kind::all_reduce:
      return block(nccl, [&nccl, comm, w] {
        return nccl.all_reduce(w.send, w.receive, w.count, ncclFloat32, ncclSum, comm, kStream);
      });
    case Kind::all_gather:
      return block(nccl, [&nccl, comm, w] {
        return nccl.all_gather(w.send, w.receive, w.count, ncclFloat32, comm, kStream);
      });
    case Kind::reduce_scatter:
      return block(nccl, [&nccl, comm, w] {
        return nccl.reduce_scatter(w.send, w.receive, w.count, ncclFloat32, ncclSum, comm, kStream);
      });
    case Kind::all_to_all:
      return block(nccl, [&nccl, comm, w] { return all_to_all(nccl, w, comm); });
    case Kind::send_receive:
      return block(nccl, [&nccl, comm, w] {
        nccl.group_start();
        nccl.send(w.send, w.count, ncclFloat32, w.next(), comm, kStream);
        nccl.receive(w.receive, w.count, ncclFloat32, w.previous(), comm, kStream);
        return nccl.group_end();
      });
    case Kind::ping_pong:
      break;
  }
  const int other = w.partner();
  if (other < 0) return [](int) {};
  const bool first = w.rank % 2 == 0;
  return block(nccl, [&nccl, comm, w, other, first] {
    if (first) check(nccl.send(w.send, w.count, ncclFloat32, other, comm, kStream), nccl);
    const ncclResult_t received =
        nccl.receive(w.receive, w.count, ncclFloat32, other, comm, kStream);
    return first ? received : nccl.send(w.send, w.count, ncclFloat32, other, comm, kStream);
  });
}

/// A communicator as a program would make it: blocking, with NCCL's defaults.
ncclComm_t plain_communicator(const NcclLibrary& nccl, const Communicator& world) {
  auto exchange = Exchange::get(std::chrono::seconds(120));
  if (!exchange) fail(exchange.status().what());
  ncclUniqueId id{};
  if (world.rank() == 0) check(nccl.get_unique_id(&id), nccl);
  const auto bytes = (*exchange)->broadcast({id.internal, sizeof id.internal});
  if (!bytes || bytes->size() != sizeof id.internal) fail("the id has not come");
  std::memcpy(id.internal, bytes->data(), bytes->size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  check(nccl.comm_init_rank_config(&comm, world.size(), id, world.rank(), &config), nccl);
  return comm;
}

}  // namespace

int main(int argc, char** argv) {
  const std::chrono::milliseconds timeout(
      std::atoi(word_of(argc, argv, "timeout_ms", "120000").c_str()));
  auto world = Communicator::create({.backend = BackendKind::nccl, .timeout = timeout});
  if (!world) fail(world.status().what());
  const NcclLibrary& nccl = **NcclLibrary::get();
  ncclComm_t comm = plain_communicator(nccl, *world);
  auto* const token = static_cast<float*>(allocate(sizeof(float), true));
  int code = 2;
  {
    NcclGroup group(*world);
    code = pairs_main(argc, argv, *world, group, true,
                      [&](const Work& w) { return plain_block(nccl, comm, w, token); });
  }
  release(token, true);
  check(nccl.comm_destroy(comm), nccl);
  return code;
}
