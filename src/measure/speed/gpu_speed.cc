// For builds with the CUDA toolkit. The runtime is linked statically and looks for the driver at
// its first call, so the program starts without a driver.
#include "measure/speed/gpu_speed.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "measure/speed/gpu_kernels.h"

namespace dlaunch::speed {

namespace {

constexpr std::size_t kCopy = std::size_t{64} << 20U;
constexpr int kSize = 4096;
constexpr std::size_t kElements = std::size_t{kSize} * kSize;
constexpr double kOperations = 2.0 * kSize * kSize * kSize;
constexpr double kMilli = 1e-3;
constexpr double kBillion = 1e9;
constexpr double kTrillion = 1e12;

/// A failed call ends the measurement of this GPU.
struct Problem {
  std::string text;
};

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw Problem{std::string(what) + ": " + cudaGetErrorString(error)};
}

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) { check(cudaMalloc(&at_, bytes), "cudaMalloc"); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(at_); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(at_);
  }

 private:
  void* at_ = nullptr;
};

class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) { check(cudaMallocHost(&at_, bytes), "cudaMallocHost"); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { cudaFreeHost(at_); }
  [[nodiscard]] void* get() const { return at_; }

 private:
  void* at_ = nullptr;
};

/// A stream and two events to measure time.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    if (end_ != nullptr) cudaEventDestroy(end_);
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  /// Seconds of one `work`: the best of at least three, after one to warm up, for about 50 ms at
  /// most.
  double best(const std::function<cudaError_t()>& work, const char* what) {
    constexpr auto kLimit = std::chrono::milliseconds{50};
    constexpr int kLeast = 3;
    constexpr int kMost = 50;
    check(work(), what);
    wait();
    const auto start = std::chrono::steady_clock::now();
    float best = 0;
    for (int i = 0; i < kMost; ++i) {
      if (i >= kLeast && std::chrono::steady_clock::now() - start > kLimit) break;
      check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
      check(work(), what);
      check(cudaEventRecord(end_, stream_), "cudaEventRecord");
      check(cudaEventSynchronize(end_), what);
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
      best = i == 0 ? ms : std::min(best, ms);
    }
    constexpr float kShortest = 1e-4F;  // below the resolution of events
    return static_cast<double>(std::max(best, kShortest)) * kMilli;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

void measure_copies(Stopwatch& watch, GpuSpeed& speed) {
  const PinnedMemory host(kCopy);
  const PinnedMemory back(kCopy);
  const DeviceMemory one(kCopy);
  const DeviceMemory other(kCopy);
  auto* const numbers = static_cast<std::uint32_t*>(host.get());
  constexpr std::uint32_t kOdd = 2654435761U;  // so that no two pages are equal
  for (std::uint32_t i = 0; i < kCopy / sizeof(std::uint32_t); ++i) numbers[i] = i * kOdd;
  std::memset(back.get(), 0, kCopy);
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind, const char* what) {
    return static_cast<double>(kCopy) /
           watch.best([&] { return cudaMemcpyAsync(to, from, kCopy, kind, watch.stream()); },
                      what) /
           kBillion;
  };
  speed.to_device_gbyte_s =
      copy(one.as<void>(), host.get(), cudaMemcpyHostToDevice, "a copy to the GPU");
  speed.within_gbyte_s =
      2 * copy(other.as<void>(), one.as<void>(), cudaMemcpyDeviceToDevice, "a copy in the GPU");
  speed.to_host_gbyte_s =
      copy(back.get(), other.as<void>(), cudaMemcpyDeviceToHost, "a copy from the GPU");
  speed.is_right = speed.is_right && std::memcmp(host.get(), back.get(), kCopy) == 0;
}

/// Whether c is the product.
bool is_right(const float* c, Stopwatch& watch) {
  const DeviceMemory wrong(sizeof(unsigned));
  unsigned count = 0;
  check(cudaMemsetAsync(wrong.as<void>(), 0, sizeof count, watch.stream()), "cudaMemset");
  check(gpu::count_wrong(c, kSize, wrong.as<unsigned>(), watch.stream()), "a comparison");
  check(cudaMemcpyAsync(&count, wrong.as<void>(), sizeof count, cudaMemcpyDeviceToHost,
                        watch.stream()),
        "cudaMemcpy");
  watch.wait();
  return count == 0;
}

void measure_products(Stopwatch& watch, GpuSpeed& speed) {
  const DeviceMemory a(kElements * sizeof(float));
  const DeviceMemory b(kElements * sizeof(float));
  const DeviceMemory c(kElements * sizeof(float));
  const auto clear = [&] {
    check(cudaMemsetAsync(c.as<void>(), 0, kElements * sizeof(float), watch.stream()),
          "cudaMemset");
  };
  clear();
  check(gpu::fill_float32(a.as<float>(), b.as<float>(), kSize, watch.stream()), "a kernel");
  const double seconds32 = watch.best(
      [&] {
        return gpu::multiply_float32(a.as<float>(), b.as<float>(), c.as<float>(), kSize,
                                     watch.stream());
      },
      "a product of float32 matrices");
  speed.float32_tflop_s = kOperations / seconds32 / kTrillion;
  speed.is_right = is_right(c.as<float>(), watch) && speed.is_right;
  clear();
  check(gpu::fill_float16(a.as<std::uint16_t>(), b.as<std::uint16_t>(), kSize, watch.stream()),
        "a kernel");
  const double seconds16 = watch.best(
      [&] {
        return gpu::multiply_float16(a.as<std::uint16_t>(), b.as<std::uint16_t>(), c.as<float>(),
                                     kSize, watch.stream());
      },
      "a product of float16 matrices");
  speed.float16_tflop_s = kOperations / seconds16 / kTrillion;
  speed.is_right = is_right(c.as<float>(), watch) && speed.is_right;
}

/// "GPU-0f2a7c1e-5b3d-4e6f-8a90-000000000001"
std::string uuid_text(const cudaUUID_t& uuid) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

/// Runs one part of the measurement, unless an earlier one failed.
void look_at(int device, GpuSpeed& speed, void (*part)(Stopwatch&, GpuSpeed&)) {
  if (!speed.problem.empty()) return;
  try {
    check(cudaSetDevice(device), "cudaSetDevice");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    speed.uuid = uuid_text(properties.uuid);
    speed.model = properties.name;
    Stopwatch watch;
    part(watch, speed);
  } catch (const Problem& problem) {
    speed.problem = problem.text;
  }
}

/// "12.4" of 12040
std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

/// On a machine without a driver CUDA's own message says that the driver is too old.
std::string why_none(cudaError_t error) {
  int driver = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  if (driver == 0) return "there is no NVIDIA driver";
  if (error == cudaErrorInsufficientDriver)
    return "the NVIDIA driver supports CUDA " + version_text(driver) +
           ", but this dlaunch was built with CUDA " + version_text(CUDART_VERSION);
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "CUDA finds no GPU";
  return std::string("CUDA: ") + cudaGetErrorString(error);
}

}  // namespace

GpuCount count_gpus() {
  GpuCount gpus;
  const cudaError_t error = cudaGetDeviceCount(&gpus.count);
  if (error == cudaSuccess && gpus.count > 0) return gpus;
  gpus.count = 0;
  gpus.none_because = why_none(error);
  int driver = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  gpus.not_tried = error == cudaErrorInsufficientDriver && driver != 0;
  return gpus;
}

GpuSpeed measure_gpu(int device) {
  GpuSpeed speed;
  look_at(device, speed, measure_products);
  look_at(device, speed, measure_copies);
  return speed;
}

std::vector<GpuSpeed> measure_gpus(int count) {
  std::vector<GpuSpeed> speeds(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  int device = 0;
  for (GpuSpeed& speed : speeds) {
    const auto look = [&speed, number = device++] { look_at(number, speed, measure_products); };
    try {
      threads.emplace_back(look);
    } catch (const std::system_error&) {
      look();
    }
  }
  for (std::thread& thread : threads) thread.join();
  device = 0;
  for (GpuSpeed& speed : speeds) look_at(device++, speed, measure_copies);
  return speeds;
}

}  // namespace dlaunch::speed
