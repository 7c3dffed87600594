#include <charconv>

#include "fabric/node_facts.h"
#include "fabric/tree.h"

namespace dlaunch::fabric {

namespace {

std::uint64_t read_meminfo(const std::string& root, std::string_view key_with_colon) {
  const std::optional<std::string> text = Tree(root + "/proc").read("meminfo");
  if (!text) return 0;
  const std::size_t key = text->find(key_with_colon);
  if (key == std::string::npos || (key != 0 && (*text)[key - 1] != '\n')) return 0;
  const std::string_view value =
      trimmed(std::string_view(*text).substr(key + key_with_colon.size(), 64));
  std::uint64_t kibibytes = 0;  // proc(5) writes "kB" and means 1024
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), kibibytes);
  return error == std::errc() ? kibibytes * 1024 : 0;
}

}  // namespace

std::uint64_t read_memory_bytes(const std::string& root) {
  return read_meminfo(root, "MemTotal:");
}

std::uint64_t read_available_memory_bytes(const std::string& root) {
  return read_meminfo(root, "MemAvailable:");
}

}  // namespace dlaunch::fabric
