#include "os/port_holder.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "os/ports.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

constexpr std::size_t kShownCommand = 60;

struct SocketOwner {
  std::uint64_t inode = 0;
  std::uint32_t user = 0;
  bool listens = false;
};

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The part before the first separator, which goes away with it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

/// Words of a line, as many as there is room for.
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
std::optional<SocketOwner> owner_on_port(std::string_view line, std::uint16_t port) {
  constexpr std::string_view kListen = "0A";  // TCP_LISTEN, include/net/tcp_states.h
  const auto words = words_of<10>(line);
  const std::size_t colon = words[1].rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  if (number<std::uint16_t>(words[1].substr(colon + 1), 16) != port) return std::nullopt;
  const auto user = number<std::uint32_t>(words[7], 10);
  const auto inode = number<std::uint64_t>(words[9], 10);
  // Inode 0: the process has closed it, the kernel is finishing the connection.
  if (!user || !inode || *inode == 0) return std::nullopt;
  return SocketOwner{*inode, *user, words[3] == kListen};
}

/// The listening socket if there is one, else any.
std::optional<SocketOwner> socket_on(std::uint16_t port) {
  std::optional<SocketOwner> found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::string text = read_proc_file(table);
    for (std::string_view rest = text; !rest.empty();) {
      const std::optional<SocketOwner> owner = owner_on_port(take_until(rest, '\n'), port);
      if (owner && owner->listens) return owner;
      if (owner && !found) found = owner;
    }
  }
  return found;
}

class Folder {
 public:
  explicit Folder(const std::string& path) : folder_(::opendir(path.c_str())) {}
  ~Folder() {
    if (folder_ != nullptr) ::closedir(folder_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  /// nullptr at the end.
  [[nodiscard]] const char* next() {
    const dirent* entry = folder_ == nullptr ? nullptr : ::readdir(folder_);
    return entry == nullptr ? nullptr : entry->d_name;
  }

 private:
  DIR* folder_;
};

bool has_descriptor(const std::string& process, std::string_view target) {
  Folder descriptors(process + "/fd");
  while (const char* name = descriptors.next()) {
    std::array<char, 64> link;
    const ssize_t size = ::readlink((process + "/fd/" + name).c_str(), link.data(), link.size());
    if (size > 0 && std::string_view(link.data(), static_cast<std::size_t>(size)) == target)
      return true;
  }
  return false;
}

/// Several processes may share a socket after fork; the first one in /proc stands for them.
std::optional<std::string> process_with_socket(std::uint64_t inode) {
  const std::string target = "socket:[" + std::to_string(inode) + ']';
  Folder processes("/proc");
  while (const char* name = processes.next()) {
    if (number<std::uint32_t>(name, 10) && has_descriptor(std::string("/proc/") + name, target))
      return name;
  }
  return std::nullopt;
}

/// By hand: getpwuid would load NSS libraries, which a static binary cannot do.
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

/// On one line, printable, not too long.
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

std::string port_holder(std::uint16_t port) {
  const std::optional<SocketOwner> owner = socket_on(port);
  if (!owner) return "";
  const std::string user = user_name(owner->user);
  const std::optional<std::string> pid = process_with_socket(owner->inode);
  if (!pid) return "a process of user " + user;
  const std::string process = "/proc/" + *pid;
  // The process may run as somebody else than the one who made the socket.
  struct stat status = {};
  const bool known = ::stat(process.c_str(), &status) == 0;
  const std::string command = command_of(process);
  return "pid " + *pid + " (" + (command.empty() ? "" : command + ", ") + "user " +
         (known ? user_name(status.st_uid) : user) + ')';
}

}  // namespace dlaunch
