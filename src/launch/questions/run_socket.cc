#include "launch/questions/run_socket.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/acceptor.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr int kBacklog = 16;

/// Goes through a descriptor of the folder: the path may be longer than sun_path (unix(7)).
sockaddr_un address_in(const UniqueFd& folder, const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder.get(),
                name);
  return address;
}

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

Result<UniqueFd> open_run_socket(const std::string& run_folder, const char* name, int type) {
  const UniqueFd folder = open_folder(run_folder);
  const sockaddr_un address = address_in(folder, name);
  UniqueFd listener(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!folder || !listener) return fail_errno(exit_code::kInternal, "socket", errno);
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0)
    return fail_errno(exit_code::kInternal, "cannot create a socket in the run folder", error);
  if (::listen(listener.get(), kBacklog) != 0)
    return fail_errno(exit_code::kInternal, "listen", errno);
  return listener;
}

Result<UniqueFd> connect_to_run(const RunView& run, const char* name, int type) {
  const std::string who = "run " + run.id;
  if (!is_live(run.state) && run.state != RunState::unknown)
    return fail(exit_code::kUsage, who + " has already ended: " + state_text(run));
  if (run.witness.record && !is_here(run.witness)) {
    return fail(exit_code::kNodeLost, who + " is on " + plain_line(run.witness.record->host) +
                                          ", not on this machine; ask it there");
  }
  const UniqueFd folder = open_folder(run.path);
  const sockaddr_un address = address_in(folder, name);
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!folder || !socket) return fail_errno(exit_code::kInternal, "socket", errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EACCES || errno == EPERM)
      return fail(kNoPermission, who + " belongs to another user; only that user can ask it");
    if (errno == EAGAIN)
      return fail(exit_code::kTimeLimit, who + " does not answer: its launcher is stopped");
    return fail(exit_code::kUsage, who + " takes no questions: there is no socket in " +
                                       plain_line(run.path) +
                                       " (the run has ended, or the file system does not support "
                                       "sockets)");
  }
  // The user who made run.json made the socket; another user's engine learns nothing of us.
  if (!peer_is_our_user(socket.get()))
    return fail(kNoPermission, who + " belongs to another user; only that user can ask it");
  return socket;
}

}  // namespace dlaunch
