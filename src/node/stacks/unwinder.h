// Finds the functions that a thread is in, from a copy of its state (libunwind).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "os/process_memory.h"
#include "os/thread_snapshot.h"

namespace dlaunch {

/// A file that is mapped into a process, or the kernel's page of code ("[vdso]").
struct MappedObject {
  std::vector<const Mapping*> mappings;  // ascending, at least one

  /// Bytes of the file as they are in memory; shorter where that part is not mapped.
  [[nodiscard]] std::string read(const ProcessMemory& memory, std::uint64_t offset,
                                 std::size_t size) const;
};
/// The object at the address; without mappings: none is there.
[[nodiscard]] MappedObject object_at(const ProcessMemory& memory, std::uint64_t address);

/// Walks the stacks of one process.
class Unwinder {
 public:
  explicit Unwinder(ProcessMemory& memory);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  /// An address inside each function, innermost first; at most `most`. A return address may already
  /// belong to the next function, so the result has the address before it.
  [[nodiscard]] std::vector<std::uint64_t> unwind(const ThreadSnapshot& thread, std::size_t most);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlaunch
