#include "os/process_memory.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <sys/uio.h>

#include "os/proc_file.h"
#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMostPages = 8192;  // 32 MiB

}  // namespace

std::vector<Mapping> parse_mappings(const std::string& maps) {
  std::vector<Mapping> mappings;
  std::string_view rest = maps;
  while (!rest.empty()) {  // "7f01-7f02 r-xp 00028000 08:01 4711      /usr/lib/libc.so.6"
    std::string_view line = take_until(rest, '\n');
    const auto start = number_of<std::uint64_t>(take_until(line, '-'), 16);
    const auto end = number_of<std::uint64_t>(take_until(line, ' '), 16);
    take_until(line, ' ');
    const auto offset = number_of<std::uint64_t>(take_until(line, ' '), 16);
    const std::string_view device = take_until(line, ' ');
    const std::string_view inode = take_until(line, ' ');
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!start || !end || !offset || *start >= *end) continue;
    std::string file(device);
    file.append(" ").append(inode);
    mappings.push_back({*start, *end, *offset, std::move(file), std::string(line)});
  }
  return mappings;
}

ProcessMemory::ProcessMemory(pid_t pid)
    : pid_(pid),
      mappings_(parse_mappings(read_proc_file("/proc/" + std::to_string(pid) + "/maps"))) {}

const Mapping* ProcessMemory::mapping_at(std::uint64_t address) const {
  const auto after =
      std::upper_bound(mappings_.begin(), mappings_.end(), address,
                       [](std::uint64_t at, const Mapping& one) { return at < one.end; });
  return after == mappings_.end() || address < after->start ? nullptr : &*after;
}

std::string ProcessMemory::read(std::uint64_t address, std::size_t size) const {
  std::string bytes(size, '\0');
  iovec to{bytes.data(), size};
  iovec from{reinterpret_cast<void*>(address), size};
  const ssize_t n = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
  bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return bytes;
}

bool ProcessMemory::read_kept(std::uint64_t address, void* to, std::size_t size) {
  auto* out = static_cast<char*>(to);
  while (size > 0) {
    const std::uint64_t page = address / kPage * kPage;
    if (pages_.size() > kMostPages) pages_.clear();
    const auto [found, is_new] = pages_.try_emplace(page);
    if (is_new) found->second = read(page, kPage);
    const std::uint64_t at = address - page;
    const std::size_t n = std::min<std::size_t>(size, kPage - at);
    if (found->second.size() < at + n) return false;
    std::memcpy(out, found->second.data() + at, n);
    out += n;
    address += n;
    size -= n;
  }
  return true;
}

}  // namespace dlaunch
