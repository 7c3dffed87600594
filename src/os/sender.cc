#include "os/sender.h"

#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>

namespace dlaunch {

void ask_for_senders(int socket) {
  const int on = 1;
  (void)::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

ssize_t receive_with_sender(int socket, char* bytes, std::size_t size, pid_t& sender) {
  sender = 0;
  iovec data{bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  // Descriptors that somebody sends find no room beside the credentials, and are dropped.
  const ssize_t n = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n <= 0) return n;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred who{};
    std::memcpy(&who, CMSG_DATA(part), sizeof who);
    sender = who.pid;
  }
  return n;
}

}  // namespace dlaunch
