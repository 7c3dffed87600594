// The memory of another process of ours, read without stopping it (process_vm_readv(2)), and the
// files that are mapped there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dlaunch {

/// A line of /proc/PID/maps.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // of `start` in the file
  std::string file;          // "08:01 4711": device and inode; "00:00 0": none
  std::string path;          // as the process sees it; "[vdso]", or empty
};

/// Ascending; omits lines that are not mappings. Pure.
[[nodiscard]] std::vector<Mapping> parse_mappings(const std::string& maps);

class ProcessMemory {
 public:
  explicit ProcessMemory(pid_t pid);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }
  /// The mapping that holds the address; null: none does.
  [[nodiscard]] const Mapping* mapping_at(std::uint64_t address) const;

  /// Up to `size` bytes, fewer where the memory ends or may not be read. Not cached.
  [[nodiscard]] std::string read(std::uint64_t address, std::size_t size) const;
  /// Reads all `size` bytes through a cache of pages, which suits code and tables.
  [[nodiscard]] bool read_kept(std::uint64_t address, void* to, std::size_t size);

 private:
  pid_t pid_;
  std::vector<Mapping> mappings_;
  std::map<std::uint64_t, std::string> pages_;
};

}  // namespace dlaunch
