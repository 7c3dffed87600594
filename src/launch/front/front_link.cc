#include "launch/front/front_link.h"

#include <cerrno>

#include <sys/socket.h>
#include <sys/uio.h>

namespace dlaunch {

bool send_front_message(int link, FrontMessage kind, const char* bytes, std::size_t size,
                        bool may_wait) {
  char head = static_cast<char>(kind);
  iovec parts[2] = {{&head, 1}, {const_cast<char*>(bytes), size}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = size == 0 ? 1 : 2;
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(link, &message, MSG_NOSIGNAL | (may_wait ? 0 : MSG_DONTWAIT));
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace dlaunch
