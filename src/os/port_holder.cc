#include "os/port_holder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "os/clock.h"
#include "os/ports.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

constexpr std::size_t kShownCommand = 60;
// The kernel lists listening sockets first (tcp_get_idx, net/ipv4/tcp_ipv4.c), 150 bytes each: on a
// node with a hundred thousand connections there is no need to read about them.
constexpr std::size_t kListeners = std::size_t{1} << 20;

struct SocketOwner {
  std::uint64_t inode = 0;
  std::uint32_t user = 0;
  std::uint16_t port = 0;
  bool listens = false;
};

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Removes the text up to the first separator, and the separator; returns that text.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

/// The first N words of a line.
template <std::size_t N>
std::array<std::string_view, N> words_of(std::string_view line) {
  std::array<std::string_view, N> words;
  for (std::size_t i = 0; i < N && !line.empty();) {
    const std::string_view word = take_until(line, ' ');
    if (!word.empty()) words[i++] = word;
  }
  return words;
}

/// A line of /proc/net/tcp:
/// "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 12345 ...".
std::optional<SocketOwner> socket_in(std::string_view line) {
  constexpr std::string_view kListen = "0A";  // TCP_LISTEN, include/net/tcp_states.h
  const auto words = words_of<10>(line);
  const std::size_t colon = words[1].rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = number<std::uint16_t>(words[1].substr(colon + 1), 16);
  const auto user = number<std::uint32_t>(words[7], 10);
  const auto inode = number<std::uint64_t>(words[9], 10);
  // Inode 0: its process has closed it, the kernel finishes the connection.
  if (!port || !user || !inode || *inode == 0) return std::nullopt;
  return SocketOwner{*inode, *user, *port, words[3] == kListen};
}

template <class Wanted>
std::vector<SocketOwner> sockets(std::size_t limit, const Wanted& wanted) {
  std::vector<SocketOwner> found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::string text = read_proc_file(table, limit);
    for (std::string_view rest = text; !rest.empty();) {
      const auto socket = socket_in(take_until(rest, '\n'));
      if (socket && wanted(*socket)) found.push_back(*socket);
    }
  }
  return found;
}

/// The listening socket if there is one, else any.
std::optional<SocketOwner> socket_on(std::uint16_t port) {
  const std::vector<SocketOwner> all =
      sockets(std::string::npos, [port](const SocketOwner& socket) { return socket.port == port; });
  if (all.empty()) return std::nullopt;
  const auto listening =
      std::find_if(all.begin(), all.end(), [](const SocketOwner& s) { return s.listens; });
  return listening != all.end() ? *listening : all.front();
}

/// Whether `found` is true for the inode of one of the process's sockets; stops at that one.
template <class Found>
bool any_socket(const std::string& process, const Found& found) {
  constexpr std::string_view kSocket = "socket:[";  // proc(5): "socket:[12345]"
  for (const int fd : numbered_entries(process + "/fd")) {
    const std::string target = link_target(process + "/fd/" + std::to_string(fd));
    if (!target.starts_with(kSocket)) continue;
    std::string_view rest = std::string_view(target).substr(kSocket.size());
    const auto inode = number<std::uint64_t>(take_until(rest, ']'), 10);
    if (inode && found(*inode)) return true;
  }
  return false;
}

/// After a fork several processes may share a socket; returns the first one in /proc.
std::optional<std::string> process_with_socket(std::uint64_t inode, MonotonicTime deadline) {
  const auto is_it = [inode](std::uint64_t other) { return other == inode; };
  for (const int pid : numbered_entries("/proc")) {
    if (monotonic_now() >= deadline) return std::nullopt;
    if (any_socket("/proc/" + std::to_string(pid), is_it)) return std::to_string(pid);
  }
  return std::nullopt;
}

/// Not getpwuid(3): it loads NSS libraries, which a static binary cannot.
std::string user_name(std::uint32_t id) {
  const std::string text = read_proc_file("/etc/passwd");
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');  // passwd(5): name:password:uid:...
    const std::string_view name = take_until(line, ':');
    take_until(line, ':');
    if (number<std::uint32_t>(take_until(line, ':'), 10) == id) return std::string(name);
  }
  return std::to_string(id);
}

/// The command line, printable and short.
std::string command_of(const std::string& process) {
  std::string command = read_proc_file(process + "/cmdline", kShownCommand + 1);
  while (!command.empty() && command.back() == '\0') command.pop_back();
  for (char& c : command) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  if (command.size() > kShownCommand) command = command.substr(0, kShownCommand - 3) + "...";
  return command;
}

}  // namespace

bool has_live_socket(std::uint16_t port) {
  return socket_on(port).has_value();
}

std::optional<std::uint16_t> find_foreign_listener(const std::vector<std::uint16_t>& ports,
                                                   const std::function<std::vector<pid_t>()>& own,
                                                   MonotonicTime deadline) {
  const std::vector<SocketOwner> listeners = sockets(kListeners, [&](const SocketOwner& socket) {
    return socket.listens && std::find(ports.begin(), ports.end(), socket.port) != ports.end();
  });
  if (listeners.empty()) return std::nullopt;
  // Several processes may listen on one port at different addresses: one of ours is enough.
  std::map<std::uint64_t, std::uint16_t> port_of;
  std::set<std::uint16_t> foreign;
  for (const SocketOwner& socket : listeners) {
    port_of.emplace(socket.inode, socket.port);
    foreign.insert(socket.port);
  }
  const auto forget_own = [&](std::uint64_t inode) {
    const auto known = port_of.find(inode);
    if (known != port_of.end()) foreign.erase(known->second);
    return foreign.empty();
  };
  for (const pid_t pid : own()) {
    if (monotonic_now() >= deadline) return std::nullopt;
    if (any_socket("/proc/" + std::to_string(pid), forget_own)) return std::nullopt;
  }
  return *foreign.begin();
}

std::string port_holder(std::uint16_t port) {
  return port_holder(port, MonotonicTime::max());
}

std::string port_holder(std::uint16_t port, MonotonicTime deadline) {
  const std::optional<SocketOwner> owner = socket_on(port);
  if (!owner) return "";
  const std::string user = user_name(owner->user);
  const std::optional<std::string> pid = process_with_socket(owner->inode, deadline);
  if (!pid) return "a process of user " + user;
  const std::string process = "/proc/" + *pid;
  // The process may run as another user than the one who made the socket.
  struct stat status = {};
  const bool known = ::stat(process.c_str(), &status) == 0;
  const std::string command = command_of(process);
  return "pid " + *pid + " (" + (command.empty() ? "" : command + ", ") + "user " +
         (known ? user_name(status.st_uid) : user) + ')';
}

}  // namespace dlaunch
