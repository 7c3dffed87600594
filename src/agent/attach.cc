#include "agent/attach.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include "os/descriptors.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

bool send_descriptors(int socket, const std::array<int, 2>& descriptors) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(part), descriptors.data(), sizeof descriptors);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

void wait_for_end(int socket) {
  char byte = 0;
  while (true) {
    const ssize_t n = ::read(socket, &byte, 1);
    if (n == 0 || (n < 0 && errno != EINTR)) return;
  }
}

int gone(const std::string& marker, const std::string& why) {
  std::fprintf(stderr, "dlaunch: %s\n", why.c_str());
  write_all(STDOUT_FILENO, marker + " gone " + why + '\n');
  return kSessionGone;
}

}  // namespace

int attach_main(SessionId id, const std::string& marker) {
  const SessionFound found = find_session(session_folders(), id);
  if (!found.connection) return gone(marker, found.gone);
  // Before the agent can say anything.
  if (write_all(STDOUT_FILENO, marker + " ready\n") != 0) return exit_code::kNodeLost;
  if (!send_descriptors(found.connection.get(), {STDIN_FILENO, STDOUT_FILENO}))
    return exit_code::kNodeLost;
  // The agent alone decides when they are closed.
  redirect_to_null({STDIN_FILENO, STDOUT_FILENO});
  wait_for_end(found.connection.get());
  return exit_code::kOk;
}

}  // namespace dlaunch
