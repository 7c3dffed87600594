#include "os/ports.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "os/port_holder.h"
#include "os/socket_table.h"

namespace dlaunch {
namespace {

/// A TCP socket of IPv4 as a server opens it, bound to 127.0.0.1; -1 if the port is taken.
int bound_server(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

int listening_server(std::uint16_t port) {
  const int fd = bound_server(port);
  if (fd >= 0 && ::listen(fd, 4) != 0) ADD_FAILURE() << "listen";
  return fd;
}

std::uint16_t some_free_port() {
  ReservedPort port = reserve_free_port().value();
  port.release();
  return port.number();
}

/// A child that listens on the port until it is killed; returns when it does.
pid_t listening_child(std::uint16_t port) {
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    const char ok = listening_server(port) >= 0 ? 'y' : 'n';
    (void)!::write(ready[1], &ok, 1);
    for (;;) ::pause();
  }
  char ok = 0;
  (void)!::read(ready[0], &ok, 1);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(ok, 'y');
  return child;
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Ports, AFreePortLiesOutsideTheRangeOfOutgoingConnections) {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0;
  int last = 0;
  ASSERT_TRUE(file >> first >> last);
  std::set<std::uint16_t> seen;
  std::vector<ReservedPort> held;
  for (int i = 0; i < 50; ++i) {
    held.push_back(reserve_free_port().value());
    const int port = held.back().number();
    EXPECT_GE(port, 1024);
    if (first > 1024) {
      EXPECT_TRUE(port < first || port > last) << port;
    }
    EXPECT_TRUE(seen.insert(held.back().number()).second) << "held ports are not given again";
  }
}

TEST(Ports, AHeldPortCanBeBoundOnlyAfterItsRelease) {
  ReservedPort port = reserve_free_port().value();
  ASSERT_TRUE(port.held());
  EXPECT_EQ(bound_server(port.number()), -1) << "not even with SO_REUSEADDR";
  const auto again = reserve_port(port.number());
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().port, port.number());
  port.release();
  EXPECT_FALSE(port.held());
  port.release();
  const int server = listening_server(port.number());
  EXPECT_GE(server, 0);
  ::close(server);
}

TEST(Ports, AHeldPortRefusesConnections) {
  const ReservedPort port = reserve_free_port().value();
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
  ::close(client);
}

TEST(Ports, OwnershipMoves) {
  ReservedPort a = reserve_free_port().value();
  const std::uint16_t number = a.number();
  ReservedPort b = std::move(a);
  EXPECT_TRUE(b.held());
  EXPECT_EQ(bound_server(number), -1);
  ReservedPort c = reserve_free_port().value();
  const std::uint16_t given_up = c.number();
  c = std::move(b);
  EXPECT_EQ(c.number(), number);
  const int server = bound_server(given_up);
  EXPECT_GE(server, 0);
  ::close(server);
}

TEST(Ports, AChildDoesNotKeepThePortAfterExec) {
  ReservedPort port = reserve_free_port().value();
  std::array<int, 2> wait{};
  ASSERT_EQ(::pipe(wait.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::dup2(wait[0], 0);
    ::close(wait[0]);
    ::close(wait[1]);
    ::execl("/bin/cat", "cat", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(wait[0]);
  port.release();
  int server = -1;
  while ((server = bound_server(port.number())) < 0) ::sched_yield();  // until its exec
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  ::close(server);
  ::close(wait[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(Ports, ATakenPortNamesItsHolder) {
  const std::uint16_t port = some_free_port();
  const pid_t child = listening_child(port);
  const auto taken = reserve_port(port);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().port, port);
  const std::string& holder = taken.error().holder;
  EXPECT_EQ(holder.rfind("pid " + std::to_string(child) + " (", 0), 0U) << holder;
  EXPECT_NE(holder.find("test_os_ports"), std::string::npos) << holder;
  EXPECT_NE(holder.find(", user "), std::string::npos) << holder;
  EXPECT_EQ(holder.back(), ')');
  if (::getuid() == 0) {
    EXPECT_NE(holder.find("user root"), std::string::npos) << holder;
  }
  end(child);
  EXPECT_EQ(port_holder(port), "");
  EXPECT_TRUE(reserve_port(port).has_value());
}

TEST(Ports, WhoMayNotSeeTheProcessLearnsTheUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const std::uint16_t port = some_free_port();
  const pid_t child = listening_child(port);
  const pid_t asker = ::fork();
  ASSERT_GE(asker, 0);
  if (asker == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    ::_exit(port_holder(port) == "a process of user root" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(asker, &status, 0), asker);
  EXPECT_EQ(status, 0);
  end(child);
}

TEST(Ports, AListenerIsForeignUnlessItIsOneOfOurs) {
  const std::uint16_t idle = some_free_port();
  const std::uint16_t port = some_free_port();
  const auto find = [&](std::vector<pid_t> own) {
    return find_foreign_listener(
        {idle, port}, [&] { return own; }, MonotonicTime::max());
  };
  EXPECT_EQ(find({}), std::nullopt);
  const pid_t child = listening_child(port);
  EXPECT_EQ(find({}), port);
  EXPECT_EQ(find({::getpid()}), port);
  EXPECT_EQ(find({::getpid(), child}), std::nullopt);
  end(child);
  EXPECT_EQ(find({}), std::nullopt);
}

TEST(Ports, ListenersAreAsTheKernelListsThemInProc) {
  const std::uint16_t port = some_free_port();
  const auto inodes = [&](std::vector<SocketOwner> sockets) {
    std::set<std::uint64_t> found;
    for (const SocketOwner& socket : sockets) {
      if (socket.port != port || !socket.listens) continue;
      EXPECT_EQ(socket.user, ::geteuid());
      found.insert(socket.inode);
    }
    return found;
  };
  EXPECT_TRUE(inodes(listening_sockets()).empty());
  const pid_t child = listening_child(port);
  EXPECT_EQ(inodes(listening_sockets()), inodes(sockets_on(port)));
  EXPECT_EQ(inodes(listening_sockets()).size(), 1U);
  end(child);
  EXPECT_TRUE(inodes(listening_sockets()).empty());
}

TEST(Ports, OurProcessesAreAskedForOnceAndOnlyIfThereIsAListener) {
  const std::uint16_t first = some_free_port();
  int asked = 0;
  const auto own = [&] {
    ++asked;
    return std::vector<pid_t>{::getpid()};
  };
  EXPECT_EQ(find_foreign_listener({first}, own, MonotonicTime::max()), std::nullopt);
  EXPECT_EQ(asked, 0);
  const pid_t one = listening_child(first);
  const std::uint16_t second = some_free_port();
  const pid_t other = listening_child(second);
  EXPECT_NE(find_foreign_listener({first, second}, own, MonotonicTime::max()), std::nullopt);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(find_foreign_listener({first, second}, own, MonotonicTime::min()), std::nullopt)
      << "its time is over";
  end(one);
  end(other);
}

// RFC 9293 section 3.6.1: the side that closes first keeps TIME_WAIT, here the server. A second run
// on the same chosen port must not fail for a minute because of that.
TEST(Ports, RemainsOfTheLastRunAreNotInTheWay) {
  const std::uint16_t port = some_free_port();
  const int server = listening_server(port);
  ASSERT_GE(server, 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const int accepted = ::accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
  ASSERT_GE(accepted, 0);
  EXPECT_TRUE(has_live_socket(port));
  ::close(accepted);
  ::close(server);
  char byte = 0;
  EXPECT_EQ(::read(client, &byte, 1), 0);  // its FIN is here
  ::close(client);
  EXPECT_FALSE(has_live_socket(port));
  auto reserved = reserve_port(port);
  ASSERT_TRUE(reserved.has_value()) << reserved.error().holder;
  EXPECT_EQ(reserved->number(), port);
  reserved->release();
  const int next = listening_server(port);
  EXPECT_GE(next, 0);
  ::close(next);
}

}  // namespace
}  // namespace dlaunch
