#include "launch/questions/own_py_spy.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/stacks/elf_file.h"
#include "os/proc_file.h"
#include "os/unique_fd.h"
#include "wire/message.h"

namespace dlaunch {

namespace {

std::string read_at(int fd, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

std::optional<ElfFile> elf_file(int fd) {
  return ElfFile::open(
      [fd](std::uint64_t offset, std::size_t size) { return read_at(fd, offset, size); });
}

std::uint16_t own_machine_type() {
  const UniqueFd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto file = own ? elf_file(own.get()) : std::nullopt;
  return file ? file->machine() : std::uint16_t{0};
}

/// By the convention behind umask 002, a group with the number of its user has no other member.
bool is_private_group(const struct stat& info) {
  return info.st_uid != 0 && info.st_uid == ::geteuid() && info.st_gid == info.st_uid;
}

/// Why the file is not sent; empty: it may be sent.
std::string fault_of(int fd, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return "it is not a regular file";
  if ((info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) return "it is not executable (chmod +x)";
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) return "it belongs to another user";
  const bool is_open =
      (info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && !is_private_group(info));
  if (is_open) return "other users may write to it (chmod go-w)";
  if (static_cast<std::uint64_t>(info.st_size) > wire::kMostPySpy) return "it is too large";
  const auto file = elf_file(fd);
  if (!file) return "it is a script, not a program";
  if (file->machine() != own_machine_type()) return "it is for another kind of processor";
  if (!file->is_static_program()) return "it needs libraries (the one from pip does not)";
  return "";
}

}  // namespace

Result<std::string> read_own_py_spy(const std::string& search_path) {
  const std::string own = link_target("/proc/self/exe");
  const std::string folders = own.substr(0, own.rfind('/')) + ':' + search_path;
  std::string refused;
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string path = folders.substr(begin, end - begin) + "/py-spy";
    begin = end + 1;
    if (path.front() != '/') continue;
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file && (errno == ENOENT || errno == ENOTDIR)) continue;
    struct stat info {};
    const bool is_known = file && ::fstat(file.get(), &info) == 0;
    std::string fault = is_known ? fault_of(file.get(), info) : errno_text(errno);
    if (fault.empty()) {
      std::string bytes = read_at(file.get(), 0, static_cast<std::size_t>(info.st_size));
      if (!bytes.empty() && bytes.size() == static_cast<std::size_t>(info.st_size)) return bytes;
      fault = "it cannot be read";
    }
    if (refused.empty()) refused = path + " on this machine is not sent, because " + fault;
  }
  if (refused.empty()) refused = "this machine has no py-spy to send (pip install py-spy)";
  return fail(exit_code::kNotFound, refused);
}

std::vector<std::string> own_py_spy_command() {
  return {"/proc/self/exe", "agent", "--py-spy"};
}

}  // namespace dlaunch
