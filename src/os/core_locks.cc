#include "os/core_locks.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>
#include <set>
#include <sstream>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "os/proc_file.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

constexpr const char* kName = "dlaunch-cores-";
constexpr std::size_t kMostLockText = std::size_t{4} << 20;

std::string own_path(const std::string& folder) {
  return folder + '/' + kName + std::to_string(::geteuid());
}

/// A range of CPUs, both ends included.
struct Range {
  int first = 0;
  int last = 0;
};

bool holds(const std::vector<Range>& ranges, int cpu) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& one) { return one.first <= cpu && cpu <= one.last; });
}

/// "08:02:1234", as /proc/locks identifies a file.
std::string name_in_locks(const struct stat& about) {
  char text[64];
  std::snprintf(text, sizeof text, "%02x:%02x:%llu", major(about.st_dev), minor(about.st_dev),
                static_cast<unsigned long long>(about.st_ino));
  return text;
}

/// The lock files of other users that may be in use; only files whose owner is the user in the
/// name.
std::set<std::string> files_of_others(const std::string& folder) {
  std::set<std::string> files;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string name = entry->d_name;
    struct stat about {};
    if (!name.starts_with(kName) ||
        ::fstatat(::dirfd(entries.get()), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const bool is_its_owners = name == kName + std::to_string(about.st_uid) &&
                               S_ISREG(about.st_mode) && (about.st_mode & 077) == 0;
    const bool is_idle = about.st_mtime == 0;
    if (is_its_owners && !is_idle && about.st_uid != ::geteuid())
      files.insert(name_in_locks(about));
  }
  return files;
}

/// proc(5): "7: OFDLCK ADVISORY  WRITE -1 00:1a:1234 5 EOF"; lines with "->" are waiting processes.
std::vector<Range> locked_by_others(const std::string& folder) {
  std::vector<Range> ranges;
  const std::set<std::string> files = files_of_others(folder);
  if (files.empty()) return ranges;
  std::istringstream lines(read_proc_file("/proc/locks", kMostLockText));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, type, pid, file, last;
    int first = 0;
    words >> number >> kind >> advisory >> type >> pid >> file >> first >> last;
    if (!words || kind != "OFDLCK" || type != "WRITE" || !files.contains(file)) continue;
    int end = std::numeric_limits<int>::max();
    (void)std::from_chars(last.data(), last.data() + last.size(), end);
    ranges.push_back({first, end});
  }
  return ranges;
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

/// Whether an open file description other than this one holds any core.
bool is_in_use(int file) {
  struct flock all = lock_of(F_WRLCK, 0, 0);
  all.l_len = 0;
  return ::fcntl(file, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

/// Other users read /proc/locks only if a lock file is in use, because that takes the kernel up to
/// 20 ms (it waits for RCU). An unused file has the modification time 0.
void show_use(int file, bool in_use) {
  const timespec idle{0, 0};
  const timespec now{0, UTIME_NOW};
  const timespec& shown = in_use ? now : idle;
  const timespec times[2] = {shown, shown};
  (void)::futimens(file, times);
}

/// Call after our locks are released. A run that locks at the same time marks the file after its
/// lock, so one of the two sees the other.
void show_idle(int file) {
  if (is_in_use(file)) return;
  show_use(file, false);
  if (is_in_use(file)) show_use(file, true);
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

/// Opens with O_NONBLOCK, because a FIFO of that name would block.
Result<int> open_in(const std::string& folder) {
  const std::string path = own_path(folder);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file && errno == ELOOP)
    return refuse(path, "it is a symbolic link, which is not followed; remove it");
  if (!file) return refuse(path, errno_text(errno));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return refuse(path, "it is not a regular file; remove it");
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return refuse(path, "it belongs to another user or is open to others; remove it");
  return file.release();
}

}  // namespace

Result<CoreLocks> CoreLocks::open(const std::string& folder) {
  std::string problems;
  for (const std::string& candidate :
       folder.empty() ? std::vector<std::string>{"/dev/shm", "/tmp"} : std::vector{folder}) {
    const Result<int> file = open_in(candidate);
    if (file) return CoreLocks(*file, candidate);
    problems += (problems.empty() ? "" : "; ") + file.error().message;
  }
  return fail(exit_code::kInternal, problems);
}

CoreLocks::CoreLocks(CoreLocks&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      folder_(std::move(other.folder_)),
      held_(std::exchange(other.held_, {})) {}

CoreLocks& CoreLocks::operator=(CoreLocks&& other) noexcept {
  if (this != &other) {
    release();
    file_ = std::exchange(other.file_, -1);
    folder_ = std::move(other.folder_);
    held_ = std::exchange(other.held_, {});
  }
  return *this;
}

CoreLocks::~CoreLocks() {
  release();
}

void CoreLocks::release() {
  if (file_ < 0) return;
  unlock_all();
  ::close(file_);
}

std::vector<int> CoreLocks::taken(const std::vector<int>& cpus) const {
  const std::vector<int> sorted = ascending(cpus);
  std::vector<int> busy;  // ascending
  for_each_run(sorted, [&](int first, int last) {
    if (!is_taken(file_, first, last)) return true;  // usually one call is enough
    for (int cpu = first; cpu <= last; ++cpu) {
      if (is_taken(file_, cpu, cpu)) busy.push_back(cpu);
    }
    return true;
  });
  const std::vector<Range> others = locked_by_others(folder_);
  std::vector<int> result;
  std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(result), [&](int cpu) {
    return std::binary_search(busy.begin(), busy.end(), cpu) || holds(others, cpu);
  });
  return result;
}

bool CoreLocks::try_lock(const std::vector<int>& cpus) {
  const std::vector<int> wanted = ascending(cpus);
  std::vector<int> added;
  std::set_difference(wanted.begin(), wanted.end(), held_.begin(), held_.end(),
                      std::back_inserter(added));
  std::vector<std::pair<int, int>> locked;
  bool all = for_each_run(added, [&](int first, int last) {
    if (!set_lock(file_, F_WRLCK, first, last)) return false;
    locked.emplace_back(first, last);
    return true;
  });
  if (all) show_use(file_, true);
  // Done after our own locks are visible, so that at least one of two users sees the other.
  if (all) {
    const std::vector<Range> others = locked_by_others(folder_);
    all = std::none_of(added.begin(), added.end(), [&](int cpu) { return holds(others, cpu); });
  }
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
  show_idle(file_);
}

}  // namespace dlaunch
