// dlaunch-nvml INTERVAL_MS: prints, at each interval, a line for each GPU of this node, in the form
// of `nvidia-smi --query-gpu` with the columns that node/watch/gpu_samples.h names. Its agent runs
// it beside the ranks; it ends when nobody reads its output. If the library is missing or refuses,
// it exits with 1 and says why. `dlaunch-nvml --probe` prints the version of the driver.
//
// A call may hang for ever in the driver. That is why this is a program of its own.
//
// Source of functions, structures and numbers: NVIDIA, "NVML API Reference Guide", and nvml.h as
// published in github.com/NVIDIA/go-nvml (gen/nvml/nvml.h, API version 13). Only functions that
// drivers have had for years are called; one that is missing leaves its column unknown.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <poll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

// The loader that starts this program has set up the C library, so nothing is left for a start file
// to do, and that of our glibc would need a node with glibc 2.34. For the same reason, the first
// versions of the loader's functions.
#if defined(__x86_64__)
__asm__(
    ".symver dlopen, dlopen@GLIBC_2.2.5\n"
    ".symver dlsym, dlsym@GLIBC_2.2.5\n"
    ".symver dlerror, dlerror@GLIBC_2.2.5\n"
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call nvml_main\n");
#elif defined(__aarch64__)
__asm__(
    ".symver dlopen, dlopen@GLIBC_2.17\n"
    ".symver dlsym, dlsym@GLIBC_2.17\n"
    ".symver dlerror, dlerror@GLIBC_2.17\n"
    ".globl _start\n"
    "_start:\n"
    "  mov x29, #0\n"
    "  mov x0, sp\n"
    "  bl nvml_main\n");
#endif

namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";

enum Return : int { kSuccess = 0, kFunctionNotFound = 13, kGpuIsLost = 15, kResetRequired = 16 };

using Device = void*;
using Count = unsigned long long;

struct Utilization {
  unsigned gpu = 0;  // percent
  unsigned memory = 0;
};
struct Memory {
  Count total = 0;
  Count free = 0;
  Count used = 0;  // with what the driver reserves
};
struct Memory2 {
  unsigned version = sizeof(Memory2) | 2U << 24U;
  Count total = 0;
  Count reserved = 0;
  Count free = 0;
  Count used = 0;  // without it, as nvidia-smi counts
};

constexpr unsigned kGpuSensor = 0;
constexpr unsigned kSmClock = 1;
constexpr unsigned kUncorrected = 1;
constexpr unsigned kSinceDriverLoad = 0;
constexpr unsigned kLinkErrors[] = {0, 1};  // replays, recoveries
constexpr unsigned kMostLinks = 18;         // newer GPUs have more, but do not count in this way

constexpr Count kHardwareSlowdown = 0x08;
constexpr Count kSoftwareThermal = 0x20;
constexpr Count kHardwareThermal = 0x40;
constexpr Count kPowerBrake = 0x80;
constexpr Count kReasons[] = {kHardwareThermal, kSoftwareThermal, kPowerBrake, kHardwareSlowdown};

struct Nvml {
  int (*init)();
  const char* (*error_text)(int);
  int (*driver_version)(char*, unsigned);
  int (*count)(unsigned*);
  int (*handle)(unsigned, Device*);
  int (*uuid)(Device, char*, unsigned);
  int (*utilization)(Device, Utilization*);
  int (*memory)(Device, Memory*);
  int (*memory2)(Device, Memory2*);
  int (*reasons)(Device, Count*);
  int (*temperature)(Device, unsigned, unsigned*);
  int (*clock)(Device, unsigned, unsigned*);
  int (*most_clock)(Device, unsigned, unsigned*);
  int (*ecc_errors)(Device, unsigned, unsigned, Count*);
  int (*pcie_replays)(Device, unsigned*);
  int (*link_errors)(Device, unsigned, unsigned, Count*);
};

struct Value {
  int state = kFunctionNotFound;
  Count number = 0;
};

struct Gpu {
  int state = kFunctionNotFound;  // of the handle
  Device device = nullptr;
  char uuid[96] = "[N/A]";
  Value link_errors;
  Count links = ~Count{0};  // a bit for each counter of its NVLinks that answers
};

constexpr unsigned kMostGpus = 64;
Gpu gpus[kMostGpus];

template <class... Parameters, class... Arguments>
int call(int (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? static_cast<int>(kFunctionNotFound) : function(arguments...);
}

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "dlaunch-nvml: %s\n", why);
  std::fflush(stderr);
  ::_exit(1);
}

template <class Function>
void find(Function& function, void* library, const char* name, const char* other = nullptr) {
  void* found = ::dlsym(library, name);
  if (found == nullptr && other != nullptr) found = ::dlsym(library, other);
  std::memcpy(&function, &found, sizeof found);
}

Nvml load() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(::dlerror());
  Nvml nvml{};
  find(nvml.init, library, "nvmlInit_v2", "nvmlInit");
  find(nvml.error_text, library, "nvmlErrorString");
  find(nvml.driver_version, library, "nvmlSystemGetDriverVersion");
  find(nvml.count, library, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
  find(nvml.handle, library, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
  find(nvml.uuid, library, "nvmlDeviceGetUUID");
  find(nvml.utilization, library, "nvmlDeviceGetUtilizationRates");
  find(nvml.memory, library, "nvmlDeviceGetMemoryInfo");
  find(nvml.memory2, library, "nvmlDeviceGetMemoryInfo_v2");
  find(nvml.reasons, library, "nvmlDeviceGetCurrentClocksEventReasons",
       "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(nvml.temperature, library, "nvmlDeviceGetTemperature");
  find(nvml.clock, library, "nvmlDeviceGetClockInfo");
  find(nvml.most_clock, library, "nvmlDeviceGetMaxClockInfo");
  find(nvml.ecc_errors, library, "nvmlDeviceGetTotalEccErrors");
  find(nvml.pcie_replays, library, "nvmlDeviceGetPcieReplayCounter");
  find(nvml.link_errors, library, "nvmlDeviceGetNvLinkErrorCounter");
  return nvml;
}

void check(const Nvml& nvml, int state) {
  if (state == kSuccess) return;
  const char* const text = nvml.error_text == nullptr ? nullptr : nvml.error_text(state);
  char number[32];
  std::snprintf(number, sizeof number, "error %d of NVML", state);
  fail(text == nullptr ? number : text);
}

// ---- a line

/// Longer than the lines of all GPUs, so that a round is one write.
struct Text {
  char bytes[kMostGpus * 512];
  std::size_t size = 0;

  void add(const char* words) {
    const std::size_t length = std::strlen(words);
    if (length > sizeof bytes - size) return;
    std::memcpy(bytes + size, words, length);
    size += length;
  }
  void add_cell(int state, const char* words) {
    add(", ");
    add(state == kSuccess         ? words
        : state == kGpuIsLost     ? "[GPU is lost]"
        : state == kResetRequired ? "[GPU requires reset]"
                                  : "[N/A]");
  }
  void add_cell(Value value) {
    char words[32];
    std::snprintf(words, sizeof words, "%llu", value.number);
    add_cell(value.state, words);
  }
};
Text text;

Value memory_mib(const Nvml& nvml, Device device) {
  constexpr unsigned kMebi = 20;
  Memory2 memory2;
  if (call(nvml.memory2, device, &memory2) == kSuccess) return {kSuccess, memory2.used >> kMebi};
  Memory memory;
  const int state = call(nvml.memory, device, &memory);
  return {state, memory.used >> kMebi};
}

/// Of all links together: what had to be sent again, and how often a link had to recover. Unknown
/// if a counter that answered the first time does not, because the sum would be of other links.
Value link_errors(const Nvml& nvml, Gpu& gpu) {
  Value sum;
  Count answering = 0;
  Count bit = 1;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    for (const unsigned counter : kLinkErrors) {
      Count number = 0;
      const bool is_asked = (gpu.links & bit) != 0;
      if (is_asked && call(nvml.link_errors, gpu.device, link, counter, &number) == kSuccess) {
        answering |= bit;
        sum.number += number;
      }
      bit <<= 1U;
    }
  }
  if (gpu.links == ~Count{0}) gpu.links = answering;
  if (answering != 0 && answering == gpu.links) sum.state = kSuccess;
  return sum;
}

/// What `function` says of the GPU in its last argument.
template <class Number, class... Parameters, class... Arguments>
Value ask(const Gpu& gpu, int (*function)(Device, Parameters...), Number* number,
          Arguments... arguments) {
  if (gpu.state != kSuccess) return {gpu.state, 0};
  const int state = call(function, gpu.device, arguments..., number);
  return {state, *number};
}

void add_line(const Nvml& nvml, unsigned index, Gpu& gpu, bool with_links) {
  unsigned number = 0;
  Count count = 0;
  Utilization use;
  char words[16];
  std::snprintf(words, sizeof words, "%u, ", index);
  text.add(words);
  text.add(gpu.uuid);
  const int state = gpu.state == kSuccess ? call(nvml.utilization, gpu.device, &use) : gpu.state;
  text.add_cell({state, use.gpu});
  text.add_cell(gpu.state == kSuccess ? memory_mib(nvml, gpu.device) : Value{gpu.state, 0});
  const Value reasons = ask(gpu, nvml.reasons, &count);
  for (const Count reason : kReasons)
    text.add_cell(reasons.state, (reasons.number & reason) != 0 ? "Active" : "Not Active");
  text.add_cell(ask(gpu, nvml.temperature, &number, kGpuSensor));
  text.add_cell(ask(gpu, nvml.clock, &number, kSmClock));
  text.add_cell(ask(gpu, nvml.most_clock, &number, kSmClock));
  text.add_cell(ask(gpu, nvml.ecc_errors, &count, kUncorrected, kSinceDriverLoad));
  text.add_cell(ask(gpu, nvml.pcie_replays, &number));
  if (with_links && gpu.state == kSuccess) gpu.link_errors = link_errors(nvml, gpu);
  text.add_cell(gpu.link_errors);
  text.add("\n");
}

void write_text() {
  std::size_t written = 0;
  while (written < text.size) {
    const ssize_t n = ::write(STDOUT_FILENO, text.bytes + written, text.size - written);
    if (n <= 0) ::_exit(0);
    written += static_cast<std::size_t>(n);
  }
  text.size = 0;
}

/// Until the next multiple of the interval. Exits when nobody reads any more.
void wait_for(long interval_ms) {
  constexpr long kMillis = 1000;
  constexpr long kNanos = 1'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long passed = (now.tv_sec * kMillis + now.tv_nsec / kNanos) % interval_ms;
  pollfd reader{STDOUT_FILENO, 0, 0};
  if (::poll(&reader, 1, static_cast<int>(interval_ms - passed)) > 0) ::_exit(0);
}

[[noreturn]] void serve(const Nvml& nvml, long interval_ms) {
  unsigned count = 0;
  check(nvml, call(nvml.count, &count));
  if (count == 0) fail("NVML lists no GPU");
  if (count > kMostGpus) count = kMostGpus;
  for (unsigned i = 0; i < count; ++i) {
    gpus[i].state = call(nvml.handle, i, &gpus[i].device);
    if (gpus[i].state == kSuccess)
      (void)call(nvml.uuid, gpus[i].device, gpus[i].uuid, unsigned{sizeof gpus[i].uuid});
  }
  // These are dozens of calls for each GPU, and the agent looks at them every 10 s.
  constexpr long kLinksEvery = 10'000;
  for (long passed = kLinksEvery;; passed += interval_ms) {
    const bool with_links = passed >= kLinksEvery;
    if (with_links) passed = 0;
    for (unsigned i = 0; i < count; ++i) add_line(nvml, i, gpus[i], with_links);
    write_text();
    wait_for(interval_ms);
  }
}

}  // namespace

extern "C" [[noreturn]] void nvml_main(const long* stack);

/// `stack`: as the kernel has left it: argc, then argv.
extern "C" void nvml_main(const long* stack) {
  const char* argument = nullptr;
  if (stack[0] > 1) std::memcpy(&argument, stack + 2, sizeof argument);
  ::prctl(PR_SET_NAME, "dlaunch-nvml");  // the file has no name
  const Nvml nvml = load();
  check(nvml, call(nvml.init));
  if (argument != nullptr && std::strcmp(argument, "--probe") == 0) {
    char version[96] = "";
    (void)call(nvml.driver_version, version, unsigned{sizeof version});
    text.add("ready, driver ");
    text.add(version);
    text.add("\n");
    write_text();
    ::_exit(0);
  }
  const long interval = argument == nullptr ? 0 : std::strtol(argument, nullptr, 10);
  serve(nvml, interval > 0 ? interval : 1000);
}
