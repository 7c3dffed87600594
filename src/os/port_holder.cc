#include "os/port_holder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "os/clock.h"
#include "os/ports.h"
#include "os/proc_file.h"
#include "os/socket_table.h"
#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::size_t kShownCommand = 60;

/// The listening socket if there is one, else any.
std::optional<SocketOwner> socket_on(std::uint16_t port) {
  const std::vector<SocketOwner> all = sockets_on(port);
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
    const auto inode = number_of<std::uint64_t>(take_until(rest, ']'));
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
    if (number_of<std::uint32_t>(take_until(line, ':')) == id) return std::string(name);
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
  std::vector<SocketOwner> listeners = listening_sockets();
  std::erase_if(listeners, [&](const SocketOwner& socket) {
    return std::find(ports.begin(), ports.end(), socket.port) == ports.end();
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
  // The process may run as a different user than the one who made the socket.
  struct stat status = {};
  const bool known = ::stat(process.c_str(), &status) == 0;
  const std::string command = command_of(process);
  return "pid " + *pid + " (" + (command.empty() ? "" : command + ", ") + "user " +
         (known ? user_name(status.st_uid) : user) + ')';
}

}  // namespace dlaunch
