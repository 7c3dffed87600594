#include "os/core_locks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/unnamed_file.h"

namespace dlaunch {

namespace {

constexpr const char* kName = "/dlaunch-cores";
constexpr mode_t kForAll = 0666;

/// Never O_CREAT on a file that may be somebody else's: in a sticky folder that is refused
/// (fs.protected_regular, proc(5)). O_NONBLOCK: a FIFO in its place must not hold us up.
int open_existing(const std::string& path) {
  return ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/// Where files cannot be made without a name; its temporary name stays if we are killed in here.
int make_by_temporary_name(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return errno;
  int error = 0;
  if (::fchmod(file.get(), kForAll) != 0 || ::link(temporary.c_str(), path.c_str()) != 0)
    error = errno;
  ::unlink(temporary.c_str());
  return error;
}

/// It gets its name when everybody may open it, so that nobody ever sees it half made. Returns 0 or
/// errno; EEXIST is fine.
int make(const std::string& folder, const std::string& path) {
  const UniqueFd file = open_unnamed_file(folder, kForAll);
  if (!file || ::fchmod(file.get(), kForAll) != 0) return make_by_temporary_name(path);
  const int error = give_name(file, path);
  return error == 0 || error == EEXIST ? error : make_by_temporary_name(path);
}

struct flock lock_of(short type, int first, int last) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = last - first + 1;
  return lock;
}

bool set_lock(int file, short type, int first, int last) {
  struct flock lock = lock_of(type, first, last);
  int result = 0;
  do {
    result = ::fcntl(file, F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool is_taken(int file, int first, int last) {
  struct flock lock = lock_of(F_WRLCK, first, last);
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::vector<int> ascending(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

/// Calls visit(first, last) for each run of consecutive numbers, until it returns false.
template <class Visit>
bool for_each_run(const std::vector<int>& sorted, Visit visit) {
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!visit(sorted[i], sorted[end - 1])) return false;
    i = end;
  }
  return true;
}

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(exit_code::kInternal, path + ": " + why);
}

Result<int> open_in(const std::string& folder) {
  const std::string path = folder + kName;
  int file = open_existing(path);
  if (file < 0 && errno == ENOENT) {
    const int error = make(folder, path);
    if (error != 0 && error != EEXIST) return refuse(path, errno_text(error));
    file = open_existing(path);
  }
  if (file < 0) {
    if (errno == ELOOP)
      return refuse(path, "it is a symbolic link, which is not followed; remove it");
    return refuse(path, errno_text(errno));
  }
  struct stat status = {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return refuse(path, "it is no regular file; remove it");
  }
  return file;
}

}  // namespace

Result<CoreLocks> CoreLocks::open(const std::string& folder) {
  if (!folder.empty()) {
    return open_in(folder).map([](int file) { return CoreLocks(file); });
  }
  const Result<int> shared = open_in("/dev/shm");
  if (shared) return CoreLocks(*shared);
  const Result<int> temporary = open_in("/tmp");
  if (temporary) return CoreLocks(*temporary);
  return fail(exit_code::kInternal, shared.error().message + "; " + temporary.error().message);
}

CoreLocks::CoreLocks(CoreLocks&& other) noexcept
    : file_(std::exchange(other.file_, -1)), held_(std::exchange(other.held_, {})) {}

CoreLocks& CoreLocks::operator=(CoreLocks&& other) noexcept {
  if (this != &other) {
    if (file_ >= 0) ::close(file_);
    file_ = std::exchange(other.file_, -1);
    held_ = std::exchange(other.held_, {});
  }
  return *this;
}

CoreLocks::~CoreLocks() {
  if (file_ >= 0) ::close(file_);
}

std::vector<int> CoreLocks::taken(const std::vector<int>& cpus) const {
  const std::vector<int> sorted = ascending(cpus);
  std::vector<int> busy;  // ascending
  for_each_run(sorted, [&](int first, int last) {
    if (!is_taken(file_, first, last)) return true;  // most machines: one call for all
    for (int cpu = first; cpu <= last; ++cpu) {
      if (is_taken(file_, cpu, cpu)) busy.push_back(cpu);
    }
    return true;
  });
  std::vector<int> result;
  std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(result),
               [&](int cpu) { return std::binary_search(busy.begin(), busy.end(), cpu); });
  return result;
}

bool CoreLocks::try_lock(const std::vector<int>& cpus) {
  const std::vector<int> wanted = ascending(cpus);
  std::vector<int> added;
  std::set_difference(wanted.begin(), wanted.end(), held_.begin(), held_.end(),
                      std::back_inserter(added));
  std::vector<std::pair<int, int>> locked;
  const bool all = for_each_run(added, [&](int first, int last) {
    if (!set_lock(file_, F_WRLCK, first, last)) return false;
    locked.emplace_back(first, last);
    return true;
  });
  if (!all) {
    for (const auto& [first, last] : locked) set_lock(file_, F_UNLCK, first, last);
    return false;
  }
  held_.insert(held_.end(), added.begin(), added.end());
  std::sort(held_.begin(), held_.end());
  return true;
}

void CoreLocks::unlock_all() {
  for_each_run(held_,
               [this](int first, int last) { return set_lock(file_, F_UNLCK, first, last); });
  held_.clear();
}

}  // namespace dlaunch
