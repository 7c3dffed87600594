#include "launch/connect/shared_masters.h"

#include <cstdint>
#include <cstdio>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "os/containment.h"
#include "os/files.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

constexpr const char* kPrefix = "/ssh-";
// An ssh that keeps a connection calls itself "ssh: PATH [mux]". Whether it listens at PATH cannot
// be seen, because its parent opened the socket.
constexpr std::string_view kTitle = "ssh: ";

std::string folder() {
  return "/tmp/dlaunch-" + std::to_string(::geteuid());
}

/// FNV-1a: the name only has to differ from those of other keys.
std::uint64_t hash_of(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : key) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

}  // namespace

std::string master_socket(const std::string& key) {
  if (!open_private_folder(folder(), true)) return "";
  char number[24];
  std::snprintf(number, sizeof number, "%016llx", static_cast<unsigned long long>(hash_of(key)));
  return folder() + kPrefix + number;
}

bool has_master(const std::string& socket) {
  struct stat about {};
  return ::lstat(socket.c_str(), &about) == 0 && S_ISSOCK(about.st_mode);
}

std::set<pid_t> shared_masters() {
  std::set<pid_t> found;
  const std::string title = std::string(kTitle) + folder() + kPrefix;
  for (const pid_t pid : descendants()) {
    const std::string line = read_proc_file("/proc/" + std::to_string(pid) + "/cmdline");
    const std::size_t blank = line.find(' ', title.size());
    const bool is_master = line.starts_with(title) && blank != std::string::npos;
    if (is_master && has_master(line.substr(kTitle.size(), blank - kTitle.size())))
      found.insert(pid);
  }
  return found;
}

}  // namespace dlaunch
