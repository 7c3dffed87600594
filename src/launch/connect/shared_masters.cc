#include "launch/connect/shared_masters.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/acceptor.h"
#include "os/files.h"

namespace dlaunch {

namespace {

constexpr std::string_view kPrefix = "ssh-";

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
  char name[32];
  std::snprintf(name, sizeof name, "/ssh-%016llx",
                static_cast<unsigned long long>(hash_of(key)));
  return folder() + name;
}

bool has_master(const std::string& socket) {
  struct stat about {};
  return ::lstat(socket.c_str(), &about) == 0 && S_ISSOCK(about.st_mode);
}

std::set<pid_t> shared_masters() {
  std::set<pid_t> found;
  if (!open_private_folder(folder(), false)) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder().c_str()), ::closedir);
  if (!entries) return found;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (!std::string_view(entry->d_name).starts_with(kPrefix)) continue;
    const std::string path = folder() + '/' + entry->d_name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool is_there =
        socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                            sizeof address) == 0;
    if (const pid_t pid = is_there ? peer_process(socket.get()) : 0; pid > 0) found.insert(pid);
  }
  return found;
}

}  // namespace dlaunch
