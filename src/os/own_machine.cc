#include "os/own_machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sys/utsname.h>

namespace dlaunch {

std::string own_hostname() {
  utsname system{};
  ::uname(&system);
  return system.nodename;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    const void* bytes = nullptr;
    if (family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    if (family == AF_INET6)
      bytes = &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
    char text[INET6_ADDRSTRLEN];
    if (bytes != nullptr && ::inet_ntop(family, bytes, text, sizeof text) != nullptr)
      addresses.emplace_back(text);
  }
  ::freeifaddrs(first);
  return addresses;
}

}  // namespace dlaunch
