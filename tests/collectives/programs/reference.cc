// reference BACKEND TIMEOUT_MS [device]: checks every call x type x operation x count, in place and
// out of place, against float64 results. Every rank computes these itself, because it knows the
// data of all ranks. Rank 0 prints how many elements were compared.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dlaunch/collectives/communicator.h>

#include "buffers.h"
#include "numbers.h"

using namespace dlaunch::collectives;

namespace {

enum class Data { small_integers, ones_and_twos, fractions };

struct Setting {
  DataType type = DataType::int8;
  ReduceOp op = ReduceOp::sum;
  std::size_t count = 0;
  Data data = Data::small_integers;
  bool in_place = false;
};

/// Element `i` of the data of rank `rank`.
double value_of(const Setting& s, int rank, std::size_t i) {
  const auto mixed = static_cast<unsigned>((static_cast<unsigned>(rank) * 2654435761U) ^ (static_cast<unsigned>(i) * 40503U + 977U));
  if (s.data == Data::ones_and_twos) return 1 + (mixed >> 7U) % 2;
  if (s.data == Data::small_integers) return static_cast<double>((mixed >> 5U) % 7) - (is_signed(s.type) ? 3 : 0);
  char bytes[8];  // in the representation of the type
  store(bytes, 0, s.type, (static_cast<double>((mixed >> 3U) % 20011) - 10000) / 9973);
  return load(bytes, 0, s.type);
}

double reduced(const Setting& s, int size, std::size_t i) {
  double result = value_of(s, 0, i);
  for (int rank = 1; rank < size; ++rank) {
    const double value = value_of(s, rank, i);
    switch (s.op) {
      case ReduceOp::sum:
      case ReduceOp::avg: result += value; break;
      case ReduceOp::prod: result *= value; break;
      case ReduceOp::min: result = std::fmin(result, value); break;
      case ReduceOp::max: result = std::fmax(result, value); break;
    }
  }
  result = wrapped(result, s.type);
  if (s.op != ReduceOp::avg) return result;
  return is_float(s.type) ? result / size : std::trunc(result / size);
}

class Checker {
 public:
  Checker(Communicator& world, bool on_device) : world_(world), rank_(world.rank()), size_(world.size()), on_device_(on_device) {}

  void all(const Setting& s) {
    all_reduce(s);
    reduce(s);
    reduce_scatter(s);
  }

  void movements(const Setting& s) {
    broadcast(s);
    all_gather(s);
    all_to_all(s);
    ring(s);
    chain(s);
  }

  std::size_t compared = 0;
  std::size_t wrong = 0;

 private:
  /// A buffer of `parts` x count elements; element i of part p is `value(p, i)`.
  template <typename Value>
  void* filled(const Setting& s, std::size_t parts, Value value) {
    std::vector<char> numbers(parts * s.count * size_of(s.type) + 1);
    for (std::size_t p = 0; p < parts; ++p) {
      for (std::size_t i = 0; i < s.count; ++i) store(numbers.data(), p * s.count + i, s.type, value(static_cast<int>(p), i));
    }
    void* buffer = allocate(numbers.size(), on_device_);
    if (buffer == nullptr) fatal({Code::unavailable, "no memory for a buffer"});
    copy_to(buffer, numbers.data(), numbers.size(), on_device_);
    return buffer;
  }
  void* empty(const Setting& s, std::size_t parts) {
    return filled(s, parts, [](int, std::size_t) { return 99; });
  }
  void* part(void* buffer, const Setting& s, int p) {
    return static_cast<char*>(buffer) + static_cast<std::size_t>(p) * s.count * size_of(s.type);
  }

  void done(const char* what, const Setting& s, Status status) {
    if (status.ok()) status = world_.synchronize();
    if (!status.ok()) fatal({status.code(), std::string(what) + " of " + std::string(name_of(s.type)) + ": " + status.what()});
  }

  [[noreturn]] static void fatal(const Status& status) {
    std::fprintf(stderr, "reference: %s\n", status.what().c_str());
    std::exit(2);
  }

  template <typename Wanted>
  void expect(const char* what, const Setting& s, const void* buffer, std::size_t elements, bool rounds, Wanted wanted) {
    std::vector<char> numbers(elements * size_of(s.type));
    copy_from(numbers.data(), buffer, numbers.size(), on_device_);
    for (std::size_t i = 0; i < elements; ++i) {
      const double want = wanted(i);
      const double got = load(numbers.data(), i, s.type);
      // Each of the size - 1 additions of terms below 1.01 may round once, and so may the division.
      const double allowed = rounds && is_float(s.type) ? epsilon(s.type) * (size_ * size_ / 2.0 + 1) * std::fmax(1.0, std::fabs(want)) : 0;
      ++compared;
      if (std::fabs(got - want) <= allowed) continue;
      if (++wrong <= 5) {
        std::fprintf(stderr, "rank %d: %s %s %s count %zu%s: element %zu is %.17g, not %.17g\n", rank_, what,
                     std::string(name_of(s.type)).c_str(), std::string(name_of(s.op)).c_str(), s.count, s.in_place ? " in place" : "",
                     i, got, want);
      }
    }
  }

  static bool rounds(const Setting& s) { return s.data == Data::fractions || s.op == ReduceOp::avg; }

  void all_reduce(const Setting& s) {
    void* send = filled(s, 1, [&](int, std::size_t i) { return value_of(s, rank_, i); });
    void* receive = s.in_place ? send : empty(s, 1);
    done("all_reduce", s, world_.all_reduce(send, receive, s.count, s.type, s.op));
    expect("all_reduce", s, receive, s.count, rounds(s), [&](std::size_t i) { return reduced(s, size_, i); });
    if (!s.in_place) release(receive, on_device_);
    release(send, on_device_);
  }

  void reduce(const Setting& s) {
    const int root = static_cast<int>(s.count) % size_;
    void* send = filled(s, 1, [&](int, std::size_t i) { return value_of(s, rank_, i); });
    void* receive = s.in_place ? send : empty(s, 1);
    done("reduce", s, world_.reduce(send, receive, s.count, s.type, s.op, root));
    if (rank_ == root) expect("reduce", s, receive, s.count, rounds(s), [&](std::size_t i) { return reduced(s, size_, i); });
    if (!s.in_place) release(receive, on_device_);
    release(send, on_device_);
  }

  void reduce_scatter(const Setting& s) {
    const auto at = [&](int p, std::size_t i) { return static_cast<std::size_t>(p) * s.count + i; };
    void* send = filled(s, static_cast<std::size_t>(size_), [&](int p, std::size_t i) { return value_of(s, rank_, at(p, i)); });
    void* receive = s.in_place ? part(send, s, rank_) : empty(s, 1);
    done("reduce_scatter", s, world_.reduce_scatter(send, receive, s.count, s.type, s.op));
    expect("reduce_scatter", s, receive, s.count, rounds(s), [&](std::size_t i) { return reduced(s, size_, at(rank_, i)); });
    if (!s.in_place) release(receive, on_device_);
    release(send, on_device_);
  }

  void broadcast(const Setting& s) {
    const int root = size_ - 1;
    void* buffer = rank_ == root ? filled(s, 1, [&](int, std::size_t i) { return value_of(s, root, i); }) : empty(s, 1);
    done("broadcast", s, world_.broadcast(buffer, s.count, s.type, root));
    expect("broadcast", s, buffer, s.count, false, [&](std::size_t i) { return value_of(s, root, i); });
    release(buffer, on_device_);
  }

  void all_gather(const Setting& s) {
    void* receive = empty(s, static_cast<std::size_t>(size_));
    void* own = filled(s, 1, [&](int, std::size_t i) { return value_of(s, rank_, i); });
    void* send = s.in_place ? part(receive, s, rank_) : own;
    if (s.in_place) copy_to(send, own, s.count * size_of(s.type), on_device_);
    done("all_gather", s, world_.all_gather(send, receive, s.count, s.type));
    expect("all_gather", s, receive, s.count * static_cast<std::size_t>(size_), false,
           [&](std::size_t i) { return value_of(s, static_cast<int>(i / s.count), i % s.count); });
    release(own, on_device_);
    release(receive, on_device_);
  }

  void all_to_all(const Setting& s) {
    const auto sent = [&](int from, int to, std::size_t i) { return value_of(s, from * size_ + to, i); };
    void* send = filled(s, static_cast<std::size_t>(size_), [&](int p, std::size_t i) { return sent(rank_, p, i); });
    void* receive = empty(s, static_cast<std::size_t>(size_));
    done("all_to_all", s, world_.all_to_all(send, receive, s.count, s.type));
    expect("all_to_all", s, receive, s.count * static_cast<std::size_t>(size_), false,
           [&](std::size_t i) { return sent(static_cast<int>(i / s.count), rank_, i % s.count); });
    release(send, on_device_);
    release(receive, on_device_);
  }

  void ring(const Setting& s) {
    const int left = (rank_ + size_ - 1) % size_;
    void* send = filled(s, 1, [&](int, std::size_t i) { return value_of(s, rank_, i); });
    void* receive = empty(s, 1);
    done("send_receive", s, world_.send_receive(send, (rank_ + 1) % size_, receive, left, s.count, s.type));
    expect("send_receive", s, receive, s.count, false, [&](std::size_t i) { return value_of(s, left, i); });
    release(send, on_device_);
    release(receive, on_device_);
  }

  /// Sends data from rank 0 through all ranks.
  void chain(const Setting& s) {
    if (size_ == 1) return;
    void* buffer = rank_ == 0 ? filled(s, 1, [&](int, std::size_t i) { return value_of(s, 0, i); }) : empty(s, 1);
    if (rank_ > 0) done("receive", s, world_.receive(buffer, s.count, s.type, rank_ - 1));
    if (rank_ + 1 < size_) done("send", s, world_.send(buffer, s.count, s.type, rank_ + 1));
    expect("send, receive", s, buffer, s.count, false, [&](std::size_t i) { return value_of(s, 0, i); });
    release(buffer, on_device_);
  }

  Communicator& world_;
  int rank_;
  int size_;
  bool on_device_;
};

/// Whether ordinary host memory is refused before the call starts. NCCL only.
bool refuses_host_memory(Communicator& world) {
  float number = 1;
  const Status status = world.all_reduce(&number, &number, 1, DataType::float32, ReduceOp::sum);
  if (status.code() != Code::invalid_argument || status.what().find("memory of the host") == std::string::npos) {
    std::fprintf(stderr, "reference: memory of the host: code %d, %s\n", static_cast<int>(status.code()), status.what().c_str());
    return false;
  }
  Status after = world.barrier();
  if (after.ok()) after = world.synchronize();
  if (!after.ok()) std::fprintf(stderr, "reference: after it: %s\n", after.what().c_str());
  return after.ok();
}

bool refuses_host_memory_at_two_threads(Communicator& world) {
  bool other = false;
  std::thread([&] { other = refuses_host_memory(world); }).join();  // its current device is 0
  return refuses_host_memory(world) && other;
}

std::vector<Data> data_for(DataType type, ReduceOp op) {
  std::vector<Data> data = {op == ReduceOp::prod ? Data::ones_and_twos : Data::small_integers};
  if (is_float(type) && op != ReduceOp::prod) data.push_back(Data::fractions);
  return data;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 64;
  const bool nccl = std::strcmp(argv[1], "nccl") == 0;
  auto world = Communicator::create(
      {.backend = nccl ? BackendKind::nccl : BackendKind::mpi, .timeout = std::chrono::milliseconds(std::atoi(argv[2]))});
  if (!world) return std::fprintf(stderr, "reference: %s\n", world.status().what().c_str()), 3;
  if (nccl && !refuses_host_memory_at_two_threads(*world)) return 5;
  Checker checker(*world, nccl || (argc == 4 && std::strcmp(argv[3], "device") == 0));
  for (std::size_t t = 0; t < kDataTypeCount; ++t) {
    for (const std::size_t count : {0, 1, 7, 1000}) {
      for (const bool in_place : {false, true}) {
        Setting s{.type = static_cast<DataType>(t), .count = count, .in_place = in_place};
        checker.movements(s);
        for (std::size_t o = 0; o < kReduceOpCount; ++o) {
          s.op = static_cast<ReduceOp>(o);
          for (const Data data : data_for(s.type, s.op)) {
            s.data = data;
            checker.all(s);
          }
        }
      }
    }
  }
  if (Status status = world->barrier(); !status.ok()) return 4;
  if (checker.wrong > 0) return 1;
  if (world->rank() == 0) std::printf("compared %zu on rank 0, %s\n", checker.compared, world->description().c_str());
}
