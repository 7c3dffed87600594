#include "agent/session_place.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"

namespace dlaunch {

namespace {

constexpr int kBacklog = 8;
constexpr std::time_t kKeepWords = 24L * 60 * 60;
constexpr std::chrono::seconds kGuardianEnd{3};
constexpr std::chrono::seconds kConnectLimit{2};
constexpr const char* kWord = ".ended";

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

/// Ours alone: whoever else could enter it could take the socket's place.
Result<UniqueFd> open_folder(const std::string& path, bool make) {
  if (make) {
    const std::size_t parent = path.rfind('/');
    // The cache folder may be missing as well; its parents are not our business.
    ::mkdir(path.substr(0, parent).c_str(), 0700);
    ::mkdir(path.c_str(), 0700);
  }
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return fail_errno(exit_code::kInternal, path, errno);
  struct stat about {};
  if (::fstat(folder.get(), &about) != 0) return fail_errno(exit_code::kInternal, path, errno);
  if (about.st_uid != ::geteuid())
    return fail(exit_code::kInternal, path + " belongs to somebody else");
  if ((about.st_mode & 077) != 0)
    return fail(exit_code::kInternal, path + " is open to others (its mode must be 0700)");
  return folder;
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
  connection.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection) return errno;
  // The agent takes connections at once, unless it is stopped; then its queue may be full.
  const timeval limit{kConnectLimit.count(), 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const sockaddr_un address = address_in(folder, id);
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return 0;
  const int error = errno;
  connection.reset();
  return error;
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

Result<SessionSocket> open_session_socket(const std::vector<std::string>& folders, SessionId id) {
  std::string problems;
  for (const std::string& path : folders) {
    auto folder = open_folder(path, true);
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
    const auto folder = open_folder(path, false);
    struct stat about {};
    if (!folder ||
        ::fstatat(folder->get(), session_name(id).c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    remove_old_words(*folder);
    write_word(*folder, id, word);
    ::unlinkat(folder->get(), session_name(id).c_str(), 0);
  }
}

SessionFound find_session(const std::vector<std::string>& folders, SessionId id) {
  const MonotonicTime give_up_at = monotonic_now() + kGuardianEnd;
  while (true) {
    bool refused = false;
    for (const std::string& path : folders) {
      const auto folder = open_folder(path, false);
      if (!folder) continue;
      SessionFound found;
      const int error = connect_in(*folder, id, found.connection);
      if (error == 0) return found;
      if (std::string word = take_word(*folder, id); !word.empty()) return {UniqueFd(), word};
      // Its agent is dead; its guardian is about to say how that came.
      refused = refused || error == ECONNREFUSED || error == EAGAIN;
    }
    if (!refused)
      return {UniqueFd(), "no agent of this run is on the node: it has been fenced, or never ran"};
    if (monotonic_now() >= give_up_at)
      return {UniqueFd(), "its agent and its guardian were killed, or are stopped"};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace dlaunch
