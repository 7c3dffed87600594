#include "launch/connect/prompt_socket.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/files.h"
#include "os/random.h"

namespace dlaunch {

namespace {

constexpr std::string_view kPrefix = "ask-";
// A socket that is bound but does not listen yet looks like that of a dead launcher.
constexpr std::time_t kYoung = 60;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

UniqueFd listen_at(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (!fd || path.size() >= sizeof address.sun_path) return {};
  const mode_t before = ::umask(0177);
  const bool bound =
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::umask(before);
  if (!bound || ::listen(fd.get(), SOMAXCONN) != 0) return {};
  return fd;
}

bool is_dead(const std::string& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_of(path);
  return fd && path.size() < sizeof address.sun_path &&
         ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

void remove_dead(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (!entries) return;
  const std::time_t now = ::time(nullptr);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string path = folder + '/' + entry->d_name;
    struct stat about {};
    if (!std::string_view(entry->d_name).starts_with(kPrefix) ||
        ::lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode))
      continue;
    if (now - about.st_mtime >= kYoung && is_dead(path)) ::unlink(path.c_str());
  }
}

}  // namespace

PromptSocket PromptSocket::open(const std::string& base) {
  PromptSocket socket;
  const std::string folder = base + "/dlaunch-" + std::to_string(::geteuid());
  if (open_private_folder(folder, true)) {
    remove_dead(folder);
    socket.path_ = random_name(folder + "/ask-");
    socket.listener_ = listen_at(socket.path_);
    if (socket.listener_) return socket;
  }
  std::string own = base + "/dlaunch-ask-XXXXXX";  // 0700, mkdtemp(3)
  socket.path_.clear();
  if (::mkdtemp(own.data()) == nullptr) return socket;
  socket.own_folder_ = own;
  socket.path_ = own + "/ask";
  socket.listener_ = listen_at(socket.path_);
  return socket;
}

PromptSocket::~PromptSocket() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (!own_folder_.empty()) ::rmdir(own_folder_.c_str());
}

}  // namespace dlaunch
