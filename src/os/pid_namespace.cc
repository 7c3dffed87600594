#include "os/pid_namespace.h"

#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/descriptors.h"
#include "os/proc_file.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

constexpr const char* kMountProc = "mount /proc";

int switch_value(const char* name) {
  const std::string text = read_proc_file(std::string("/proc/sys/") + name, 32);
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

tl::unexpected<Error> refused(const std::string& step, int error_number) {
  const NamespaceSwitches switches{switch_value("user/max_user_namespaces"),
                                   switch_value("kernel/unprivileged_userns_clone"),
                                   switch_value("kernel/apparmor_restrict_unprivileged_userns")};
  return fail(exit_code::kPreflight, step + ": " + errno_text(error_number) + "\n" +
                                         namespace_advice(step, error_number, switches));
}

/// Returns 0 or errno.
int write_file(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                            : errno;
}

/// Without privileges only our own user and group may be mapped, and the group only after
/// setgroups(2) was disabled (user_namespaces(7)).
Status map_own_ids(uid_t user, gid_t group) {
  const auto map = [](unsigned id) { return std::to_string(id) + ' ' + std::to_string(id) + " 1"; };
  if (const int error = write_file("/proc/self/setgroups", "deny"); error != 0 && error != ENOENT)
    return refused("write /proc/self/setgroups", error);
  if (const int error = write_file("/proc/self/uid_map", map(user)); error != 0)
    return refused("write /proc/self/uid_map", error);
  if (const int error = write_file("/proc/self/gid_map", map(group)); error != 0)
    return refused("write /proc/self/gid_map", error);
  return {};
}

void reap(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string namespace_advice(const std::string& step, int error_number,
                             const NamespaceSwitches& switches) {
  const std::string otherwise = ", or leave isolation out";
  if (error_number == ENOSPC || error_number == EUSERS) {
    if (switches.max_user_namespaces == 0)
      return "set sysctl user.max_user_namespaces above 0" + otherwise;
    return "raise sysctl user.max_user_namespaces and user.max_pid_namespaces (one of these limits "
           "is reached)" +
           otherwise;
  }
  if (error_number == EINVAL || error_number == ENOSYS)
    return "leave isolation out: this kernel has no PID or user namespaces";
  if (switches.unprivileged_clone == 0)
    return "set sysctl kernel.unprivileged_userns_clone to 1" + otherwise;
  if (switches.apparmor_restricts_unprivileged == 1)
    return "set sysctl kernel.apparmor_restrict_unprivileged_userns to 0" + otherwise;
  if (step == kMountProc) return "give the container an unmasked /proc" + otherwise;
  return "allow namespaces (or grant CAP_SYS_ADMIN) in this sandbox or container" + otherwise;
}

Status open_pid_namespace() {
  if (::unshare(CLONE_NEWPID) == 0) return {};
  if (errno != EPERM) return refused("unshare(CLONE_NEWPID)", errno);
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
    return refused("unshare(CLONE_NEWUSER | CLONE_NEWPID)", errno);
  return map_own_ids(user, group);
}

Result<UniqueFd> enter_pid_namespace() {
  UniqueFd outer(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!outer) return refused("open /proc", errno);
  if (::unshare(CLONE_NEWNS) != 0) return refused("unshare(CLONE_NEWNS)", errno);
  // Later mounts of the node still appear here (automounted homes), but not vice versa.
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return refused("mount --make-rslave /", errno);
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return refused(kMountProc, errno);
  return outer;
}

std::string why_no_pid_namespace() {
  auto pipe = make_pipe();
  if (!pipe) return "pipe: " + errno_text(pipe.error());
  const pid_t child = ::fork();
  if (child < 0) return "fork: " + errno_text(errno);
  if (child == 0) {
    Status works = open_pid_namespace();
    const pid_t init = works ? ::fork() : 0;
    if (init < 0) works = refused("fork", errno);
    if (init == 0 && works) {
      if (const auto entered = enter_pid_namespace(); !entered)
        works = tl::unexpected(entered.error());
    }
    if (init <= 0 && !works) write_all(pipe->write.get(), works.error().message);
    if (init > 0) reap(init);
    ::_exit(0);
  }
  pipe->write.reset();
  std::string why;
  char text[512];
  for (ssize_t n = 0; (n = ::read(pipe->read.get(), text, sizeof text)) > 0;)
    why.append(text, static_cast<std::size_t>(n));
  reap(child);
  return why;
}

}  // namespace dlaunch
