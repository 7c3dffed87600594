#include "dlaunch/collectives/communicator.h"

#include <algorithm>
#include <string>
#include <vector>

#include "measure/collectives/backend.h"
#include "measure/collectives/exchange.h"
#include "measure/collectives/own_gpus.h"

namespace dlaunch::collectives {

namespace {

// The largest timeout of poll(2).
constexpr std::chrono::milliseconds kLongestTimeout{std::chrono::hours(24 * 24)};

/// Inline in each call, where the kind is a constant and most of check() is optimized away.
[[gnu::always_inline]] inline Status run(Backend& backend, const Call& call) {
  if (Status status = check(call, backend.rank(), backend.size(), backend.most_elements());
      !status.ok())
    return status;
  return backend.run(call);
}

/// Whether every rank can use NCCL, decided by all ranks from the same data: otherwise the others
/// would wait for one that cannot. Code::unavailable at all ranks if one cannot.
Status agree_on_nccl(const Options& options) {
  using Gpus = std::vector<std::string>;
  const auto own = nccl_gpu();
  const auto exchange = Exchange::get(options.timeout);
  const auto gpus = exchange ? (*exchange)->gather(own ? *own : std::string(kNoGpu))
                             : Result<Gpus>(exchange.status());
  Status all = gpus ? each_has_its_own(*gpus) : gpus.status();
  return all.code() == Code::unavailable && !own ? own.status() : all;
}

Result<std::unique_ptr<Backend>> create_agreed_nccl(const Options& options) {
  if (Status agreed = agree_on_nccl(options); !agreed.ok()) return agreed;
  return create_nccl(options);
}

Result<std::unique_ptr<Backend>> create_automatically(const Options& options) {
  const Status nccl = agree_on_nccl(options);
  if (nccl.ok()) return create_nccl(options);
  if (nccl.code() != Code::unavailable) return nccl;
  auto mpi = create_mpi(options);
  if (mpi || mpi.status().code() != Code::unavailable) return mpi;
  return Status(Code::unavailable, nccl.what() + "; " + mpi.status().what());
}

Result<std::unique_ptr<Backend>> create_backend(Options options) {
  if (options.timeout < std::chrono::milliseconds(0))
    return Status(Code::invalid_argument, "create: the timeout is negative");
  options.timeout = std::min(options.timeout, kLongestTimeout);
  switch (options.backend) {
    case BackendKind::mpi:
      return create_mpi(options);
    case BackendKind::nccl:
      return create_agreed_nccl(options);
    case BackendKind::automatic:
      return create_automatically(options);
  }
  return Status(Code::invalid_argument, "create: unknown back-end");
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Result<Communicator> Communicator::create(const Options& options) {
  auto backend = create_backend(options);
  if (!backend) return backend.status();
  return Communicator(std::move(*backend));
}

Result<Communicator> Communicator::split(int color, int key) {
  if (color < 0) return Status(Code::invalid_argument, "split: the color is negative");
  auto part = backend_->split(color, key);
  if (!part) return part.status();
  return Communicator(std::move(*part));
}

int Communicator::rank() const noexcept {
  return backend_->rank();
}

int Communicator::size() const noexcept {
  return backend_->size();
}

std::string Communicator::description() const {
  return backend_->description();
}

bool Communicator::takes_device_buffers() const noexcept {
  return backend_->takes_device_buffers();
}

Status Communicator::barrier(Stream stream) {
  return run(*backend_, {.kind = Call::Kind::barrier, .stream = stream});
}

Status Communicator::broadcast(void* buffer, std::size_t count, DataType type, int root,
                               Stream stream) {
  return run(*backend_, {.kind = Call::Kind::broadcast,
                         .receive = buffer,
                         .count = count,
                         .type = type,
                         .root = root,
                         .stream = stream});
}

Status Communicator::reduce(const void* send, void* receive, std::size_t count, DataType type,
                            ReduceOp op, int root, Stream stream) {
  return run(*backend_, {.kind = Call::Kind::reduce,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .op = op,
                         .root = root,
                         .stream = stream});
}

Status Communicator::all_reduce(const void* send, void* receive, std::size_t count, DataType type,
                                ReduceOp op, Stream stream) {
  return run(*backend_, {.kind = Call::Kind::all_reduce,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .op = op,
                         .stream = stream});
}

Status Communicator::all_gather(const void* send, void* receive, std::size_t count, DataType type,
                                Stream stream) {
  return run(*backend_, {.kind = Call::Kind::all_gather,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .stream = stream});
}

Status Communicator::reduce_scatter(const void* send, void* receive, std::size_t count,
                                    DataType type, ReduceOp op, Stream stream) {
  return run(*backend_, {.kind = Call::Kind::reduce_scatter,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .op = op,
                         .stream = stream});
}

Status Communicator::all_to_all(const void* send, void* receive, std::size_t count, DataType type,
                                Stream stream) {
  return run(*backend_, {.kind = Call::Kind::all_to_all,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .stream = stream});
}

Status Communicator::send(const void* buffer, std::size_t count, DataType type, int to,
                          Stream stream) {
  return run(*backend_, {.kind = Call::Kind::send,
                         .send = buffer,
                         .count = count,
                         .type = type,
                         .to = to,
                         .stream = stream});
}

Status Communicator::receive(void* buffer, std::size_t count, DataType type, int from,
                             Stream stream) {
  return run(*backend_, {.kind = Call::Kind::receive,
                         .receive = buffer,
                         .count = count,
                         .type = type,
                         .from = from,
                         .stream = stream});
}

Status Communicator::send_receive(const void* send, int to, void* receive, int from,
                                  std::size_t count, DataType type, Stream stream) {
  return run(*backend_, {.kind = Call::Kind::send_receive,
                         .send = send,
                         .receive = receive,
                         .count = count,
                         .type = type,
                         .to = to,
                         .from = from,
                         .stream = stream});
}

Status Communicator::synchronize(Stream stream) {
  return backend_->synchronize(stream);
}

void Communicator::abort(int code) {
  backend_->abort(code);
}

}  // namespace dlaunch::collectives
