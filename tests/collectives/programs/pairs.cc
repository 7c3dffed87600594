#include "pairs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <vector>

#include "buffers.h"

using namespace dlaunch::collectives;

namespace {

constexpr std::array<std::string_view, 9> kNames = {"barrier",    "broadcast",  "reduce",
                                                    "all_reduce", "all_gather", "reduce_scatter",
                                                    "all_to_all", "ping_pong",  "send_receive"};
constexpr double kLeastSeconds = 0.1;  // per point, even if time is short

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Block library(Communicator& world, const Work& w) {
  constexpr DataType kType = DataType::float32;
  constexpr ReduceOp kOp = ReduceOp::sum;
  const auto block = [&world](auto call) {
    return block_of(call, [&world] { need(world.synchronize()); });
  };
  switch (w.kind) {
    case Kind::barrier:
      return block([&world] { need(world.barrier()); });
    case Kind::broadcast:
      return block([&world, w] { need(world.broadcast(w.receive, w.count, kType, 0)); });
    case Kind::reduce:
      return block([&world, w] { need(world.reduce(w.send, w.receive, w.count, kType, kOp, 0)); });
    case Kind::all_reduce:
      return block([&world, w] { need(world.all_reduce(w.send, w.receive, w.count, kType, kOp)); });
    case Kind::all_gather:
      return block([&world, w] { need(world.all_gather(w.send, w.receive, w.count, kType)); });
    case Kind::reduce_scatter:
      return block(
          [&world, w] { need(world.reduce_scatter(w.send, w.receive, w.count, kType, kOp)); });
    case Kind::all_to_all:
      return block([&world, w] { need(world.all_to_all(w.send, w.receive, w.count, kType)); });
    case Kind::send_receive:
      return block([&world, w] {
        need(world.send_receive(w.send, w.next(), w.receive, w.previous(), w.count, kType));
      });
    case Kind::ping_pong:
      break;
  }
  const int other = w.partner();
  if (other < 0) return [](int) {};
  if (w.rank % 2 == 0) {
    return block([&world, w, other] {
      need(world.send(w.send, w.count, kType, other));
      need(world.receive(w.receive, w.count, kType, other));
    });
  }
  return block([&world, w, other] {
    need(world.receive(w.receive, w.count, kType, other));
    need(world.send(w.send, w.count, kType, other));
  });
}

/// `bytes`: of the larger buffer, as in nccl-tests.
Work work_of(Kind kind, std::size_t bytes, const Communicator& world) {
  Work w;
  w.kind = kind;
  w.rank = world.rank();
  w.size = world.size();
  if (kind == Kind::barrier) return w;
  const bool in_parts =
      kind == Kind::all_gather || kind == Kind::reduce_scatter || kind == Kind::all_to_all;
  const std::size_t parts = in_parts ? static_cast<std::size_t>(w.size) : 1;
  w.count = std::max<std::size_t>(bytes / sizeof(float) / parts, 1);
  w.elements_sent = w.count * (kind == Kind::all_gather ? 1 : parts);
  w.elements_received = w.count * (kind == Kind::reduce_scatter ? 1 : parts);
  return w;
}

/// The data that one call of this side receives. The ranks send different numbers, whose sums are
/// exact.
std::vector<float> result_of(const Work& w, const Block& side, bool on_device) {
  std::vector<float> given(w.elements_sent);
  for (std::size_t i = 0; i < given.size(); ++i)
    given[i] = static_cast<float>((i * 7 + 3) % 1009 * static_cast<std::size_t>(w.rank + 1));
  copy_to(w.send, given.data(), given.size() * sizeof(float), on_device);
  std::vector<float> got(w.elements_received, -1);
  if (w.kind == Kind::broadcast && w.rank == 0) got = given;
  copy_to(w.receive, got.data(), got.size() * sizeof(float), on_device);
  side(1);
  copy_from(got.data(), w.receive, got.size() * sizeof(float), on_device);
  return got;
}

bool is_told(const Work& w) {
  return w.kind != Kind::barrier && (w.kind != Kind::reduce || w.rank == 0) &&
         (w.kind != Kind::ping_pong || w.partner() >= 0);
}

class Bench {
 public:
  Bench(Communicator& world, Group& group, bool on_device, const Plain& plain)
      : world_(world), group_(group), on_device_(on_device), plain_(plain) {}

  /// Returns the exit code.
  int run(const std::vector<std::size_t>& sizes, Limits limits, double seconds, bool itself) {
    const double end = now() + seconds;
    std::vector<std::pair<Kind, std::size_t>> points{{Kind::barrier, 0}};
    for (const std::size_t bytes : sizes) {
      for (std::size_t kind = 1; kind < kNames.size(); ++kind)
        points.emplace_back(static_cast<Kind>(kind), bytes);
    }
    std::size_t left = points.size();
    for (const auto& [kind, bytes] : points) {
      limits.seconds = share(end, left--);
      if (!measure(kind, bytes, limits, itself)) return 1;
    }
    return 0;
  }

 private:
  /// The share of the remaining time for one of `points`; must be equal at all ranks.
  double share(double end, std::size_t points) {
    std::vector<double> left{end - now()};
    group_.largest(left);
    return std::max(left.front() / static_cast<double>(points), kLeastSeconds);
  }

  bool measure(Kind kind, std::size_t bytes, const Limits& limits, bool itself) {
    Work w = work_of(kind, bytes, world_);
    if (kind == Kind::ping_pong && w.size < 2) return true;
    w.send = buffer(w.elements_sent);
    w.receive = buffer(w.elements_received);
    const Block ours = library(world_, w);
    const Block other = itself ? library(world_, w) : plain_(w);
    const bool right = agree(w, ours, other);
    if (right) tell(kind, bytes, compare(group_, limits, ours, other));
    release(w.send, on_device_);
    release(w.receive, on_device_);
    return right;
  }

  void* buffer(std::size_t elements) {
    void* memory = allocate(std::max<std::size_t>(elements, 1) * sizeof(float), on_device_);
    if (memory == nullptr) need({Code::unavailable, "no memory for a buffer"});
    return memory;
  }

  bool agree(const Work& w, const Block& ours, const Block& other) {
    const std::vector<float> one = result_of(w, ours, on_device_);
    const std::vector<float> two = result_of(w, other, on_device_);
    const bool same =
        !is_told(w) || std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0;
    const bool received = !is_told(w) || std::find(one.begin(), one.end(), -1.0F) == one.end();
    if (!same || !received) {
      std::fprintf(stderr, "pairs: rank %d: %s of %zu elements: %s\n", w.rank,
                   std::string(kNames[static_cast<std::size_t>(w.kind)]).c_str(), w.count,
                   same ? "some elements did not arrive"
                        : "the library has computed other numbers than plain calls");
    }
    std::vector<double> wrong{same && received ? 0.0 : 1.0};
    group_.largest(wrong);
    return wrong.front() == 0;
  }

  void tell(Kind kind, std::size_t bytes, const Comparison& c) const {
    if (group_.rank() != 0) return;
    constexpr double kMicro = 1e6;
    std::printf("%s %zu %d %d %.4f %.4f %.5f %.5f %.5f\n",
                std::string(kNames[static_cast<std::size_t>(kind)]).c_str(), bytes, c.rounds,
                c.calls, c.ours * kMicro, c.plain * kMicro, c.ratio, c.low, c.high);
    std::fflush(stdout);
  }

  Communicator& world_;
  Group& group_;
  bool on_device_;
  const Plain& plain_;
};

std::vector<std::size_t> sizes_of(const std::string& text) {
  std::vector<std::size_t> sizes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    sizes.push_back(std::strtoull(word.c_str(), nullptr, 10));
  return sizes;
}

}  // namespace

void need(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "pairs: %s\n", status.what().c_str());
  std::_Exit(2);  // the launcher ends the other ranks
}

std::string word_of(int argc, char** argv, const std::string& key, const std::string& otherwise) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(key) && word.size() > key.size() && word[key.size()] == '=')
      return std::string(word.substr(key.size() + 1));
  }
  return otherwise;
}

int pairs_main(int argc, char** argv, Communicator& world, Group& group, bool on_device,
               const Plain& plain) {
  Limits limits;
  limits.half_width = std::atof(word_of(argc, argv, "half_width", "0.02").c_str());
  const double seconds = std::atof(word_of(argc, argv, "seconds", "480").c_str());
  const auto sizes = sizes_of(word_of(argc, argv, "sizes", "8,1024,1048576"));
  return Bench(world, group, on_device, plain)
      .run(sizes, limits, seconds, word_of(argc, argv, "itself", "0") == "1");
}
