#include "node/session/staged_binary.h"

#include <cerrno>
#include <ctime>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/build_id.h"
#include "os/proc_file.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

constexpr std::time_t kOftenEnough = 24L * 60 * 60;
constexpr const char* kOwn = "/proc/self/exe";

std::string own_path() {
  const std::string path = link_target(kOwn);
  return path.empty() ? kOwn : path;
}

/// The linker writes the section headers last. If the last one is missing or all zeros, the end of
/// the file is missing. The ELF header says so if a file never had section headers.
bool has_its_end(int file) {
  ElfW(Ehdr) header{};
  if (::pread(file, &header, sizeof header, 0) != sizeof header) return false;
  if (header.e_shoff == 0 || header.e_shnum == 0) return true;
  ElfW(Shdr) last{};
  const std::uint64_t at = header.e_shoff + (header.e_shnum - 1ULL) * sizeof last;
  if (::pread(file, &last, sizeof last, static_cast<off_t>(at)) != sizeof last) return false;
  return last.sh_type != SHT_NULL;
}

Error damaged(const std::string& how) {
  return {exit_code::kCannotExecute, own_path() + ": is damaged: " + how};
}

}  // namespace

Status check_staged_binary(const std::string& build_id, std::uint64_t size) {
  if (const std::string own = own_build_id(); own != build_id)
    return tl::unexpected(damaged("it is build " + own + " and not " + build_id));
  const UniqueFd file(::open(kOwn, O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0)
    return fail_errno(exit_code::kCannotExecute, "open " + own_path(), errno);
  const auto there = static_cast<std::uint64_t>(about.st_size);
  if (size != 0 && there != size)
    return tl::unexpected(
        damaged("it has " + std::to_string(there) + " bytes and not " + std::to_string(size)));
  if (!has_its_end(file.get())) return tl::unexpected(damaged("its end is missing"));
  return {};
}

Status sync_own_binary() {
  const UniqueFd file(::open(kOwn, O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(exit_code::kCannotExecute, "open " + own_path(), errno);
  // EINVAL, EROFS (fsync(2)): this file system never writes the file to a disk.
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS)
    return fail_errno(exit_code::kCannotExecute, "write " + own_path() + " to its disk", errno);
  return {};
}

void mark_staged_binary_used() {
  const std::string path = own_path();
  struct stat about {};
  if (!path.ends_with('/' + own_build_id() + "/dlaunch") || ::stat(path.c_str(), &about) != 0)
    return;
  if (::time(nullptr) - about.st_mtime >= kOftenEnough)
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace dlaunch
