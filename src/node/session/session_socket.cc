#include "node/session/session_socket.h"

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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/acceptor.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/proc_file.h"
#include "os/random.h"

namespace dlaunch {

namespace {

constexpr int kBacklog = 8;
// session_exists() cannot ask for the owner of a socket whose queue is full, so this queue must
// hold many attempts while the agent is stopped.
constexpr int kAbstractBacklog = 1024;
constexpr int kSocketListens = 0x10000;  // __SO_ACCEPTCON in linux/net.h
constexpr std::time_t kKeepNotes = 24L * 60 * 60;
// Shorter than a launcher's shortest attempt (launch/connect/reconnection), which includes a login.
constexpr std::chrono::milliseconds kGuardianLimit{1500};
constexpr std::chrono::seconds kConnectLimit{2};
// Fits into a launcher's shortest attempt (supervise/node_return), which includes a login.
constexpr std::chrono::milliseconds kEndLimit{1000};
constexpr std::chrono::milliseconds kEndPoll{50};
constexpr std::size_t kMostCommandLine = std::size_t{64} << 10;
constexpr const char* kNoteEnding = ".ended";

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

/// Addresses the socket through the folder's descriptor: the path may be longer than sun_path
/// (unix(7)), and another folder cannot take its place after it was checked.
sockaddr_un address_in(const UniqueFd& folder, SessionId id) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder.get(),
                session_name(id).c_str());
  return address;
}

struct AbstractAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};

/// Such an address begins with a null byte (unix(7)).
AbstractAddress abstract_address(const std::string& name) {
  AbstractAddress made;
  made.address.sun_family = AF_UNIX;
  const std::size_t size = name.copy(made.address.sun_path + 1, sizeof made.address.sun_path - 1);
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return made;
}

std::string abstract_prefix(SessionId id) {
  return "dlaunch-" + session_name(id) + '-';
}

/// All listening sockets with such a name, of any user. proc(5), /proc/net/unix: "Num RefCount
/// Protocol Flags Type St Inode @name".
std::vector<AbstractAddress> listeners_of(SessionId id) {
  std::vector<AbstractAddress> found;
  const std::string beginning = '@' + abstract_prefix(id);
  std::istringstream lines(read_proc_file("/proc/net/unix"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(beginning) == std::string::npos) continue;
    std::istringstream words(line);
    std::string number, references, protocol, type, state, inode, name;
    unsigned flags = 0;
    words >> number >> references >> protocol >> std::hex >> flags >> type >> state >> inode >>
        name;
    if (words && (flags & kSocketListens) != 0 && name.starts_with(beginning))
      found.push_back(abstract_address(name.substr(1)));
  }
  return found;
}

/// A socket whose connect(2) gives up after a while, because the queue of a stopped agent may be
/// full.
UniqueFd impatient_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kConnectLimit.count(), 0};
  if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return socket;
}

struct AbstractConnection {
  UniqueFd connection;   // to a listener of this user
  bool is_full = false;  // the queue of a listener, perhaps of another user, is full
};

/// Does not wait, because another user may have filled the queue of a listener.
AbstractConnection connect_abstract(SessionId id) {
  AbstractConnection result;
  for (const AbstractAddress& to : listeners_of(id)) {
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

/// Returns 0 or errno.
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

/// Returns 0 or errno.
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

/// The kernel accepts a connection for a busy listener too; a full queue belongs to a listener that
/// accepts nothing. A connection that ends without a message has no effect
/// (node/session/attach_socket.h).
bool is_listened_at(const sockaddr_un& address) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket && (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                              sizeof address) == 0 ||
                    errno == EAGAIN);
}

/// Reads the status file, because the folder of a process that is not dumpable belongs to root
/// (proc(5)).
bool is_of_our_user(const std::string& process) {
  const std::string status = read_proc_file(process + "/status", kMostCommandLine);
  const std::string own = "\t" + std::to_string(::geteuid()) + '\t';
  const std::size_t at = status.find("\nUid:");
  return at != std::string::npos &&
         status.substr(at, status.find('\n', at + 1) - at).find(own) != std::string::npos;
}

bool has_processes(SessionId id) {
  const std::string arguments = session_arguments(id) + ' ';
  for (const int pid : numbered_entries("/proc")) {
    const std::string process = "/proc/" + std::to_string(pid);
    struct stat about {};
    if (::stat(process.c_str(), &about) != 0) continue;
    if (about.st_uid != ::geteuid() && about.st_uid != 0) continue;
    std::string line = read_proc_file(process + "/cmdline", kMostCommandLine) + ' ';
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find(arguments) != std::string::npos && is_of_our_user(process)) return true;
  }
  return false;
}

std::string note_name(SessionId id) {
  return session_name(id) + kNoteEnding;
}

/// Reads the note and removes it.
std::string take_note(const UniqueFd& folder, SessionId id) {
  const UniqueFd file(
      ::openat(folder.get(), note_name(id).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return "";
  char text[512];
  const ssize_t n = ::read(file.get(), text, sizeof text);
  ::unlinkat(folder.get(), note_name(id).c_str(), 0);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : "";
}

void write_note(const UniqueFd& folder, SessionId id, const std::string& note) {
  // A reader must never find half a note.
  const std::string beside = note_name(id) + ".new";
  const UniqueFd file(::openat(folder.get(), beside.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return;
  const ssize_t n = ::write(file.get(), note.data(), note.size());
  const bool whole = n == static_cast<ssize_t>(note.size());
  if (!whole || ::renameat(folder.get(), beside.c_str(), folder.get(), note_name(id).c_str()) != 0)
    ::unlinkat(folder.get(), beside.c_str(), 0);
}

void remove_old_notes(const UniqueFd& folder) {
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
    if (!name.starts_with("agent-") || name.find(kNoteEnding) == std::string::npos) continue;
    if (::fstatat(folder.get(), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (now - about.st_mtime > kKeepNotes) ::unlinkat(folder.get(), entry->d_name, 0);
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

UniqueFd open_abstract_socket(SessionId id) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const AbstractAddress at = abstract_address(random_name(abstract_prefix(id)));
  if (!listener ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0 ||
      ::listen(listener.get(), kAbstractBacklog) != 0)
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

void record_session_end(const std::vector<std::string>& folders, SessionId id,
                        const std::string& note) {
  for (const std::string& path : folders) {
    const auto folder = open_private_folder(path, false);
    struct stat about {};
    if (!folder ||
        ::fstatat(folder->get(), session_name(id).c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    remove_old_notes(*folder);
    write_note(*folder, id, note);
    ::unlinkat(folder->get(), session_name(id).c_str(), 0);
  }
}

std::string session_arguments(SessionId id) {
  char words[64];
  std::snprintf(words, sizeof words, " --session %016llx --node %u",
                static_cast<unsigned long long>(id.session), static_cast<unsigned>(id.node));
  return words;
}

SessionFound find_session(const std::vector<std::string>& folders, SessionId id) {
  const MonotonicTime give_up_at = monotonic_now() + kGuardianLimit;
  while (true) {
    AbstractConnection abstract = connect_abstract(id);
    if (abstract.connection) return {std::move(abstract.connection), "", false};
    bool dead = false;
    bool stopped = false;
    for (const std::string& path : folders) {
      const auto folder = open_private_folder(path, false);
      if (!folder) continue;
      SessionFound found;
      const int error = connect_in(*folder, id, found.connection);
      if (error == 0) return found;
      if (std::string note = take_note(*folder, id); !note.empty()) return {UniqueFd(), note, true};
      dead = dead || error == ECONNREFUSED;
      stopped = stopped || error == EAGAIN;
    }
    if (stopped && !dead) return {UniqueFd(), "its agent is stopped", false};
    // If the agent is dead, its guardian is about to leave a note.
    if (!dead && !abstract.is_full)
      return {UniqueFd(),
              "no trace of its agent was found: the node was rebooted, or shows other folders",
              false};
    if (monotonic_now() >= give_up_at && !dead)
      return {UniqueFd(),
              "the process on the node that listens under the agent's name does not answer", false};
    if (monotonic_now() >= give_up_at)
      return {UniqueFd(), "its agent and its guardian were killed, or are stopped", true};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool session_exists(const std::vector<std::string>& folders, SessionId id) {
  if (connect_abstract(id).connection) return true;
  for (const std::string& path : folders) {
    const auto folder = open_private_folder(path, false);
    if (folder && is_listened_at(address_in(*folder, id))) return true;
  }
  return has_processes(id);
}

bool wait_for_session_end(const std::vector<std::string>& folders, SessionId id) {
  const MonotonicTime give_up_at = monotonic_now() + kEndLimit;
  while (session_exists(folders, id)) {
    if (monotonic_now() >= give_up_at) return false;
    std::this_thread::sleep_for(kEndPoll);
  }
  return true;
}

}  // namespace dlaunch
