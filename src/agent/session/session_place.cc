#include "agent/session/session_place.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <sstream>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/acceptor.h"
#include "os/clock.h"
#include "os/private_folder.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

constexpr int kBacklog = 8;
// The owner of a socket whose queue is full cannot be asked for. So this queue must not fill up
// when is_there() looks many times for an agent that is stopped.
constexpr int kNamelessBacklog = 1024;
constexpr int kSocketListens = 0x10000;  // __SO_ACCEPTCON of linux/net.h
constexpr std::time_t kKeepWords = 24L * 60 * 60;
// Within the shortest try of a launcher (launch/connect/reconnection), its login included.
constexpr std::chrono::milliseconds kGuardianEnd{1500};
constexpr std::chrono::seconds kConnectLimit{2};
// The shortest try of a launcher (supervise/node_return) has room for a login beside it.
constexpr std::chrono::milliseconds kEndOfOldOne{1000};
constexpr std::chrono::milliseconds kLookAgain{50};
constexpr std::size_t kMostCommandLine = std::size_t{64} << 10;
constexpr const char* kWord = ".ended";

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

/// By way of the descriptor: the path may be longer than sun_path (unix(7)), and nobody can
/// exchange the folder after it was looked at.
sockaddr_un address_in(const UniqueFd& folder, SessionId id) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder.get(),
                session_name(id).c_str());
  return address;
}

struct NamelessAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};

/// unix(7), abstract: it begins with a null byte, and is in no file system.
NamelessAddress nameless_address(const std::string& name) {
  NamelessAddress made;
  made.address.sun_family = AF_UNIX;
  const std::size_t size = name.copy(made.address.sun_path + 1, sizeof made.address.sun_path - 1);
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return made;
}

std::string nameless_beginning(SessionId id) {
  return "dlaunch-" + session_name(id) + '-';
}

/// Whatever listens under such a name, of any user (proc(5), /proc/net/unix: "Num RefCount Protocol
/// Flags Type St Inode @name").
std::vector<NamelessAddress> listeners_of(SessionId id) {
  std::vector<NamelessAddress> found;
  const std::string beginning = '@' + nameless_beginning(id);
  std::istringstream lines(read_proc_file("/proc/net/unix"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(beginning) == std::string::npos) continue;
    std::istringstream words(line);
    std::string number, references, protocol, type, state, inode, name;
    unsigned flags = 0;
    words >> number >> references >> protocol >> std::hex >> flags >> type >> state >> inode >>
        name;
    if (words && (flags & kSocketListens) != 0 && name.starts_with(beginning))
      found.push_back(nameless_address(name.substr(1)));
  }
  return found;
}

/// A socket for connecting; the agent takes connections at once, unless it is stopped: then its
/// queue may be full.
UniqueFd impatient_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kConnectLimit.count(), 0};
  if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return socket;
}

struct Nameless {
  UniqueFd connection;   // to a listener of our user
  bool is_full = false;  // the queue of a listener, perhaps another user's, is full
};

/// Does not wait: a listener of another user may have filled its own queue.
Nameless connect_nameless(SessionId id) {
  Nameless result;
  for (const NamelessAddress& to : listeners_of(id)) {
    UniqueFd socket = impatient_socket();
    if (!socket) break;
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size) != 0) {
      result.is_full = result.is_full || errno == EAGAIN;
    } else if (peer_is_our_user(socket.get())) {
      ::fcntl(socket.get(), F_SETFL, 0);
      result.connection = std::move(socket);
      break;
    }
  }
  return result;
}

/// errno; 0: it listens.
int listen_in(const UniqueFd& folder, SessionId id, UniqueFd& listener) {
  listener.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return errno;
  ::unlinkat(folder.get(), session_name(id).c_str(), 0);
  const sockaddr_un address = address_in(folder, id);
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) return error;
  return ::listen(listener.get(), kBacklog) == 0 ? 0 : errno;
}

/// errno; 0: connected.
int connect_in(const UniqueFd& folder, SessionId id, UniqueFd& connection) {
  connection = impatient_socket();
  if (!connection) return errno;
  const sockaddr_un address = address_in(folder, id);
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return 0;
  const int error = errno;
  connection.reset();
  return error;
}

/// The folder belongs to our user alone. The kernel accepts the connection even if the listener is
/// busy; a full queue belongs to a listener that accepts nothing. A connection that ends without a
/// message has no effect (agent/session/attach_point.h).
bool is_listened_at(const sockaddr_un& address) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket && (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                              sizeof address) == 0 ||
                    errno == EAGAIN);
}

/// Checks its credentials: the folder of a process that is not dumpable belongs to root (proc(5)).
bool is_of_our_user(const std::string& process) {
  const std::string status = read_proc_file(process + "/status", kMostCommandLine);
  const std::string own = "\t" + std::to_string(::geteuid()) + '\t';
  const std::size_t at = status.find("\nUid:");
  return at != std::string::npos &&
         status.substr(at, status.find('\n', at + 1) - at).find(own) != std::string::npos;
}

bool has_processes(SessionId id) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir("/proc"), ::closedir);
  if (!entries) return false;
  const std::string words = words_of_session(id) + ' ';
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    struct stat about {};
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (::fstatat(::dirfd(entries.get()), entry->d_name, &about, 0) != 0) continue;
    if (about.st_uid != ::geteuid() && about.st_uid != 0) continue;
    std::string line = read_proc_file("/proc/" + name + "/cmdline", kMostCommandLine);
    std::replace(line.begin(), line.end(), '\0', ' ');
    line += ' ';
    if (line.find(words) != std::string::npos && is_of_our_user("/proc/" + name)) return true;
  }
  return false;
}

std::string word_name(SessionId id) {
  return session_name(id) + kWord;
}

/// Read once, then gone.
std::string take_word(const UniqueFd& folder, SessionId id) {
  const UniqueFd file(
      ::openat(folder.get(), word_name(id).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return "";
  char text[512];
  const ssize_t n = ::read(file.get(), text, sizeof text);
  ::unlinkat(folder.get(), word_name(id).c_str(), 0);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : "";
}

void write_word(const UniqueFd& folder, SessionId id, const std::string& word) {
  // Whole or not there: who looks for it reads it at once.
  const std::string beside = word_name(id) + ".new";
  const UniqueFd file(::openat(folder.get(), beside.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return;
  const ssize_t n = ::write(file.get(), word.data(), word.size());
  const bool whole = n == static_cast<ssize_t>(word.size());
  if (!whole || ::renameat(folder.get(), beside.c_str(), folder.get(), word_name(id).c_str()) != 0)
    ::unlinkat(folder.get(), beside.c_str(), 0);
}

void remove_old_words(const UniqueFd& folder) {
  const int copy = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy), ::closedir);
  if (!entries) {
    ::close(copy);
    return;
  }
  const std::time_t now = ::time(nullptr);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    struct stat about {};
    if (!name.starts_with("agent-") || name.find(kWord) == std::string::npos) continue;
    if (::fstatat(folder.get(), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (now - about.st_mtime > kKeepWords) ::unlinkat(folder.get(), entry->d_name, 0);
  }
}

}  // namespace

std::string session_name(SessionId id) {
  char name[64];
  std::snprintf(name, sizeof name, "agent-%016llx-%u", static_cast<unsigned long long>(id.session),
                id.node);
  return name;
}

std::vector<std::string> session_folders() {
  std::vector<std::string> folders = {"/tmp/dlaunch-" + std::to_string(::geteuid())};
  std::string cache = from_environment("XDG_CACHE_HOME");
  const std::string home = from_environment("HOME");
  if (cache.empty() && !home.empty()) cache = home + "/.cache";
  if (!cache.empty()) folders.push_back(cache + "/dlaunch");
  const std::string runtime = from_environment("XDG_RUNTIME_DIR");
  if (!runtime.empty()) folders.push_back(runtime + "/dlaunch");
  return folders;
}

UniqueFd open_nameless_socket(SessionId id) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  std::uint64_t random = 0;
  (void)::getrandom(&random, sizeof random, GRND_NONBLOCK);
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(random));
  const NamelessAddress at = nameless_address(nameless_beginning(id) + text);
  if (!listener ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0 ||
      ::listen(listener.get(), kNamelessBacklog) != 0)
    return {};
  return listener;
}

Result<SessionSocket> open_session_socket(const std::vector<std::string>& folders, SessionId id) {
  std::string problems;
  for (const std::string& path : folders) {
    auto folder = open_private_folder(path, true);
    SessionSocket opened;
    const int error = folder ? listen_in(*folder, id, opened.listener) : 0;
    if (folder && error == 0) {
      opened.folder = std::move(*folder);
      return opened;
    }
    if (!problems.empty()) problems += "; ";
    problems += folder ? path + ": " + errno_text(error) : folder.error().message;
  }
  return fail(exit_code::kInternal, problems);
}

void touch_session_socket(const SessionSocket& socket, SessionId id) {
  ::utimensat(socket.folder.get(), session_name(id).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void remove_session_socket(const SessionSocket& socket, SessionId id) {
  ::unlinkat(socket.folder.get(), session_name(id).c_str(), 0);
}

void leave_last_word(const std::vector<std::string>& folders, SessionId id,
                     const std::string& word) {
  for (const std::string& path : folders) {
    const auto folder = open_private_folder(path, false);
    struct stat about {};
    if (!folder ||
        ::fstatat(folder->get(), session_name(id).c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    remove_old_words(*folder);
    write_word(*folder, id, word);
    ::unlinkat(folder->get(), session_name(id).c_str(), 0);
  }
}

std::string words_of_session(SessionId id) {
  char words[64];
  std::snprintf(words, sizeof words, " --session %016llx --node %u",
                static_cast<unsigned long long>(id.session), static_cast<unsigned>(id.node));
  return words;
}

SessionFound find_session(const std::vector<std::string>& folders, SessionId id) {
  const MonotonicTime give_up_at = monotonic_now() + kGuardianEnd;
  while (true) {
    Nameless nameless = connect_nameless(id);
    if (nameless.connection) return {std::move(nameless.connection), "", false};
    bool dead = false;
    bool deaf = false;
    for (const std::string& path : folders) {
      const auto folder = open_private_folder(path, false);
      if (!folder) continue;
      SessionFound found;
      const int error = connect_in(*folder, id, found.connection);
      if (error == 0) return found;
      if (std::string word = take_word(*folder, id); !word.empty()) return {UniqueFd(), word, true};
      dead = dead || error == ECONNREFUSED;
      deaf = deaf || error == EAGAIN;
    }
    if (deaf && !dead) return {UniqueFd(), "its agent is stopped", false};
    // One that is dead: its guardian is about to say how that came.
    if (!dead && !nameless.is_full)
      return {UniqueFd(),
              "no trace of its agent is on the node: it was started anew, or shows "
              "other folders",
              false};
    if (monotonic_now() >= give_up_at && !dead)
      return {UniqueFd(), "what listens under its name on the node does not answer", false};
    if (monotonic_now() >= give_up_at)
      return {UniqueFd(), "its agent and its guardian were killed, or are stopped", true};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool is_there(const std::vector<std::string>& folders, SessionId id) {
  if (connect_nameless(id).connection) return true;
  for (const std::string& path : folders) {
    const auto folder = open_private_folder(path, false);
    if (folder && is_listened_at(address_in(*folder, id))) return true;
  }
  return has_processes(id);
}

bool wait_for_end(const std::vector<std::string>& folders, SessionId id) {
  const MonotonicTime give_up_at = monotonic_now() + kEndOfOldOne;
  while (is_there(folders, id)) {
    if (monotonic_now() >= give_up_at) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

}  // namespace dlaunch
