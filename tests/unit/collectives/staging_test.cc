// Calls on device buffers over a back-end that can access only host memory. The device is an array
// here: the tests check that the back-end never sees it, what is copied, and that an in-place call
// stays in place.
#include <array>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "measure/collectives/staging.h"

namespace dlaunch::collectives {
namespace {

using Kind = Call::Kind;

constexpr int kRank = 1;
constexpr int kSize = 3;
constexpr std::size_t kCount = 4;

class FakeDevice final : public DeviceMemory {
 public:
  [[nodiscard]] bool holds(const void* address) const noexcept override {
    return address >= memory.data() && address < memory.data() + memory.size();
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    if (is_broken) return {Code::internal, "copying from or to the GPU: lost"};
    (holds(to) ? to_device : from_device) += bytes / sizeof(float);
    std::memcpy(to, from, bytes);
    return {};
  }

  std::array<float, 64> memory{};
  std::size_t to_device = 0;  // elements
  std::size_t from_device = 0;
  bool is_broken = false;
};

/// Computes results that show which elements it has read.
struct FakeBackend {
  FakeDevice& device;
  Status result{};
  int calls = 0;
  bool was_in_place = false;

  Status operator()(const Call& call) {
    ++calls;
    was_in_place = in_place(call, kRank);
    EXPECT_FALSE(reads(call) && device.holds(call.send));
    EXPECT_FALSE(writes(call, kRank) && device.holds(call.receive));
    if (!result.ok()) return result;
    const auto* from =
        static_cast<const float*>(call.kind == Kind::broadcast ? call.receive : call.send);
    auto* to = static_cast<float*>(call.receive);
    const bool parts = call.kind == Kind::all_gather || call.kind == Kind::all_to_all;
    const std::size_t skipped = call.kind == Kind::reduce_scatter ? kRank * kCount : 0;
    for (std::size_t i = 0; writes(call, kRank) && i < (parts ? kCount * kSize : kCount); ++i) {
      const bool own = call.kind == Kind::all_gather && i / kCount == kRank;
      if (call.kind == Kind::all_gather && !own) {
        to[i] = 100 + static_cast<float>(i);
      } else if (call.kind == Kind::receive) {
        to[i] = 50;
      } else if (!own || !was_in_place) {
        to[i] = 10 * from[call.kind == Kind::all_gather ? i % kCount : skipped + i];
      }
    }
    return {};
  }
};

struct Staging : testing::Test {
  Staging() {
    for (std::size_t i = 0; i < kCount * kSize; ++i) sent()[i] = static_cast<float>(i + 1);
  }
  float* sent() { return device.memory.data(); }
  float* received() { return device.memory.data() + 32; }

  Call call_of(Kind kind) {
    return {.kind = kind,
            .send = sent(),
            .receive = received(),
            .count = kCount,
            .type = DataType::float32,
            .root = kRank,
            .to = 2,
            .from = 0};
  }
  std::vector<float> run(const Call& call, const float* result, std::size_t count) {
    EXPECT_TRUE(is_on_device(call, kRank, device));
    EXPECT_EQ(run_staged(call, kRank, kSize, device, std::ref(backend)).what(), "");
    EXPECT_EQ(backend.calls, 1);
    return {result, result + count};
  }
  void expect_copied(std::size_t from_device, std::size_t to_device) const {
    EXPECT_EQ(device.from_device, from_device);
    EXPECT_EQ(device.to_device, to_device);
  }

  FakeDevice device;
  FakeBackend backend{device};
};

using Floats = std::vector<float>;

TEST_F(Staging, CopiesAllReduceToTheHostAndBack) {
  EXPECT_EQ(run(call_of(Kind::all_reduce), received(), kCount), (Floats{10, 20, 30, 40}));
  expect_copied(kCount, kCount);
  EXPECT_FALSE(backend.was_in_place);
}

TEST_F(Staging, KeepsAnInPlaceCallInPlace) {
  Call call = call_of(Kind::all_reduce);
  call.receive = sent();
  EXPECT_EQ(run(call, sent(), kCount), (Floats{10, 20, 30, 40}));
  expect_copied(kCount, kCount);
  EXPECT_TRUE(backend.was_in_place);
}

TEST_F(Staging, FetchesOnlyTheOwnPartOfAllGatherInPlace) {
  Call call = call_of(Kind::all_gather);
  call.receive = sent();
  call.send = sent() + kRank * kCount;
  EXPECT_EQ(run(call, sent(), kCount * kSize),
            (Floats{100, 101, 102, 103, 5, 6, 7, 8, 108, 109, 110, 111}));
  expect_copied(kCount, kCount * kSize);
  EXPECT_TRUE(backend.was_in_place);
}

TEST_F(Staging, GivesBackOnlyTheOwnPartOfReduceScatterInPlace) {
  Call call = call_of(Kind::reduce_scatter);
  call.receive = sent() + kRank * kCount;
  EXPECT_EQ(run(call, sent(), kCount * kSize), (Floats{1, 2, 3, 4, 50, 60, 70, 80, 9, 10, 11, 12}));
  expect_copied(kCount * kSize, kCount);
  EXPECT_TRUE(backend.was_in_place);
}

TEST_F(Staging, CopiesAllPartsOfAllToAll) {
  EXPECT_EQ(run(call_of(Kind::all_to_all), received(), 2), (Floats{10, 20}));
  expect_copied(kCount * kSize, kCount * kSize);
}

TEST_F(Staging, NeedsAReceiveBufferOfReduceOnlyAtTheRoot) {
  Call call = call_of(Kind::reduce);
  call.root = 0;
  run(call, received(), 0);
  expect_copied(kCount, 0);
}

TEST_F(Staging, CopiesABroadcastInOneDirection) {
  Call call = call_of(Kind::broadcast);
  call.receive = sent();
  run(call, sent(), 0);
  expect_copied(kCount, 0);
  call.root = 0;
  EXPECT_TRUE(run_staged(call, kRank, kSize, device, std::ref(backend)).ok());
  EXPECT_EQ(device.to_device, kCount);
}

TEST_F(Staging, CopiesTheOnlyBufferOfSendAndReceive) {
  run(call_of(Kind::send), received(), 0);
  expect_copied(kCount, 0);
  EXPECT_TRUE(run_staged(call_of(Kind::receive), kRank, kSize, device, std::ref(backend)).ok());
  expect_copied(kCount, kCount);
  EXPECT_EQ(received()[3], 50);
}

TEST_F(Staging, UsesHostBuffersDirectly) {
  Floats host(kCount);
  Call call = call_of(Kind::all_reduce);
  call.receive = host.data();
  EXPECT_EQ(run(call, host.data(), kCount), (Floats{10, 20, 30, 40}));
  expect_copied(kCount, 0);
  EXPECT_FALSE(is_on_device({.kind = Kind::barrier}, kRank, device));
}

TEST_F(Staging, ReportsAFailureAndCopiesNothingBack) {
  backend.result = {Code::timed_out, "all_reduce: late"};
  EXPECT_EQ(run_staged(call_of(Kind::all_reduce), kRank, kSize, device, std::ref(backend)).code(),
            Code::timed_out);
  EXPECT_EQ(device.to_device, 0U);
  device.is_broken = true;
  EXPECT_EQ(run_staged(call_of(Kind::all_reduce), kRank, kSize, device, std::ref(backend)).what(),
            "copying from or to the GPU: lost");
  EXPECT_EQ(backend.calls, 1);
}

TEST(CudaMemory, LoadsNoDriverWithoutADevice) {
  DeviceMemory* const memory = cuda_memory();
  if (::access("/dev/nvidiactl", F_OK) == 0) {
    const int on_host = 0;
    EXPECT_TRUE(memory == nullptr || !memory->holds(&on_host));
    return;
  }
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace dlaunch::collectives
