#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/stacks/elf_file.h"
#include "node/stacks/native_frames.h"
#include "node/stacks/stack_source.h"
#include "node/stacks/unwinder.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/proc_file.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

/// A thread that can stop does so in microseconds.
constexpr std::chrono::milliseconds kToStop{50};
/// Time for finding the names after the last thread was taken.
constexpr std::chrono::milliseconds kToName{1000};

std::optional<ElfFile> open_elf(const std::string& path) {
  auto fd = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!*fd || ::fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return ElfFile::open([fd, size](std::uint64_t offset, std::size_t count) {
    if (offset >= size) return std::string();
    std::string bytes(std::min<std::uint64_t>(count, size - offset), '\0');
    const ssize_t n = ::pread(fd->get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return bytes;
  });
}

std::string hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char one : bytes) {
    text += kDigits[static_cast<unsigned char>(one) >> 4];
    text += kDigits[static_cast<unsigned char>(one) & 15];
  }
  return text;
}

/// Whether a library is loaded whose waits use the CPU, just like a Python program that computes.
bool has_waits_that_spin(const ProcessMemory& memory) {
  constexpr std::array<std::string_view, 3> kLibraries{"/libmpi.so", "/libmpich.so", "/libcuda.so"};
  return std::any_of(memory.mappings().begin(), memory.mappings().end(), [&](const Mapping& one) {
    return std::any_of(kLibraries.begin(), kLibraries.end(), [&one](std::string_view name) {
      return one.path.find(name) != std::string::npos;
    });
  });
}

/// Looks again, because the other sources have taken some time.
bool still_uses_the_cpu(pid_t process) {
  const std::string stat = read_proc_file("/proc/" + std::to_string(process) + "/stat", 4096);
  return stat_field(stat, 3) == "R";
}

/// An object that one or more processes have mapped, and the names to find in it.
struct Object {
  pid_t pid = 0;        // one of them, through which its files are opened
  MappedObject mapped;  // in that process
  const ProcessMemory* memory = nullptr;
  std::optional<ElfFile> image;  // as it is in memory
  std::string build_id;
  FunctionNames names;

  [[nodiscard]] const std::string& path() const { return mapped.mappings.front()->path; }
  [[nodiscard]] std::string root() const { return "/proc/" + std::to_string(pid) + "/root"; }

  /// The file that is mapped, not one that has taken its name since.
  [[nodiscard]] std::optional<ElfFile> file() const {
    const Mapping& first = *mapped.mappings.front();
    char range[64];
    std::snprintf(range, sizeof range, "/map_files/%llx-%llx",
                  static_cast<unsigned long long>(first.start),
                  static_cast<unsigned long long>(first.end));
    const std::string process = "/proc/" + std::to_string(pid);
    for (const std::string& path : {root() + this->path(), process + range, process + "/exe"}) {
      auto found = open_elf(path);
      if (found && is_same(*found)) return found;
    }
    return std::nullopt;
  }

  /// An object without a build id is identified by its name.
  [[nodiscard]] bool is_same(const ElfFile& other) const {
    return build_id.empty() ? !path().ends_with(" (deleted)") : other.build_id() == build_id;
  }

  [[nodiscard]] std::optional<ElfFile> debug_file(const ElfFile& file) const {
    std::vector<std::string> paths;
    const std::string debug = "/usr/lib/debug";
    if (build_id.size() > 1) {
      const std::string id = hex(build_id);
      paths.push_back(debug + "/.build-id/" + id.substr(0, 2) + '/' + id.substr(2) + ".debug");
    }
    if (const std::string link = file.debug_link();
        !link.empty() && link.find('/') == std::string::npos) {
      const std::string folder = path().substr(0, path().rfind('/') + 1);
      for (const std::string& where : {folder, folder + ".debug/", debug + folder})
        paths.push_back(where + link);
    }
    for (const std::string& one : paths) {
      auto found = open_elf(root() + one);
      if (found && is_same(*found)) return found;
    }
    return std::nullopt;
  }

  void find_names() {
    const auto on_disk = path() == "[vdso]" ? image : file();
    if (!on_disk) return;
    if (!on_disk->name_functions(names)) {
      if (const auto debug = debug_file(*on_disk)) debug->name_functions(names);
    }
    on_disk->name_exported(names);
  }
};

struct NativeFrame {
  Object* object = nullptr;  // null: code of no file, such as that of a just-in-time compiler
  std::uint64_t address = 0;
};

class NativeStacks {
 public:
  explicit NativeStacks(const StackRequest& request) : request_(request) {}

  void take(RankStacks& rank) {
    std::set<std::string> remarks;
    for (ProcessStack& process : rank.processes) {
      const bool has_ended = !process.threads.empty() && process.threads.front().state == "Z";
      if (has_ended) continue;
      const bool only_busy = !request_.native && is_python(process.pid);
      if (only_busy && (process.threads.empty() || process.threads.front().state != "R")) continue;
      auto read = std::make_unique<ProcessMemory>(process.pid);
      if (only_busy && !(has_waits_that_spin(*read) && still_uses_the_cpu(process.pid))) continue;
      ProcessMemory& memory = *memories_.emplace_back(std::move(read));
      Unwinder unwinder(memory);
      for (ThreadStack& thread : process.threads) {
        if (thread.id == 0 || (only_busy && &thread != &process.threads.front())) continue;
        if (monotonic_now() + kToStop + kToName > request_.end) {
          remarks.insert("native frames of some threads are missing: no time was left");
          break;
        }
        const std::string why = take(memory, unwinder, thread);
        if (!why.empty())
          remarks.insert("no native frames of pid " + std::to_string(process.pid) + ": " + why);
      }
    }
    rank.remarks.insert(rank.remarks.end(), remarks.begin(), remarks.end());
  }

  /// Call once all threads are taken, so each file is read once for all of them.
  void name() {
    for (auto& [key, object] : objects_) object.find_names();
    for (auto& [thread, found] : stacks_) {
      std::vector<StackFrame> frames;
      for (const NativeFrame& one : found) frames.push_back(frame_of(one));
      add_native_frames(std::move(frames), *thread);
    }
  }

 private:
  /// Takes the frames of a thread. Returns why that failed; empty: it worked.
  std::string take(ProcessMemory& memory, Unwinder& unwinder, ThreadStack& thread) {
    if (thread.state == "t") return "";  // said already
    std::optional<ThreadSnapshot> snapshot;
    if (thread.state == "D") {
      // It would stop only after its wait, and we do not wait for that.
      snapshot = snapshot_blocked_thread(memory, thread.id);
      if (!snapshot) return "it is in an uninterruptible wait";
    } else {
      auto taken = snapshot_thread_apart(memory, thread.id, kToStop);
      if (!taken && taken.error() == ESRCH) return "";
      if (!taken && taken.error() == EPERM)
        return "only its ancestors and root may trace it, or another process traces it already (ptrace)";
      if (!taken && taken.error() == ETIMEDOUT) return "a thread did not stop in time";
      if (!taken) return errno_text(taken.error());
      snapshot = std::move(*taken);
    }
    std::vector<NativeFrame> frames;
    for (const std::uint64_t address : unwinder.unwind(*snapshot, kMostStackFrames))
      frames.push_back(locate(memory, address));
    stacks_.emplace_back(&thread, std::move(frames));
    return "";
  }

  NativeFrame locate(const ProcessMemory& memory, std::uint64_t address) {
    const Mapping* const its = memory.mapping_at(address);
    if (its == nullptr || its->path.empty()) return {nullptr, address};
    const auto [found, is_new] = objects_.try_emplace(its->file + ' ' + its->path);
    Object& object = found->second;
    if (is_new) {
      object.pid = memory.pid();
      object.memory = &memory;
      object.mapped = object_at(memory, address);
      object.image = ElfFile::open([&object](std::uint64_t offset, std::size_t size) {
        return object.mapped.read(*object.memory, offset, size);
      });
      if (object.image) object.build_id = object.image->build_id();
    }
    const auto linked = object.image
                            ? object.image->address_of(its->offset + (address - its->start))
                            : std::nullopt;
    if (linked) object.names.try_emplace(*linked);
    return {&object, linked.value_or(0)};
  }

  static StackFrame frame_of(const NativeFrame& frame) {
    StackFrame made{StackFrame::Kind::native, "", "", 0};
    if (frame.object == nullptr) return made;
    const auto name = frame.object->names.find(frame.address);
    if (name != frame.object->names.end()) made.function = function_name(name->second);
    made.function.resize(std::min(made.function.size(), kMostStackText));
    made.file = frame.object->path().substr(0, kMostStackText);
    return made;
  }

  const StackRequest& request_;
  std::vector<std::unique_ptr<ProcessMemory>> memories_;
  std::map<std::string, Object> objects_;
  std::vector<std::pair<ThreadStack*, std::vector<NativeFrame>>> stacks_;
};

}  // namespace

void add_native_stacks(const StackRequest& request, std::vector<RankStacks>& ranks) {
  NativeStacks stacks(request);
  for (RankStacks& rank : ranks) stacks.take(rank);
  stacks.name();
}

}  // namespace dlaunch
