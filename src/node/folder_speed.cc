#include "node/folder_speed.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/stuck.h"
#include "os/unique_fd.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

namespace fs = std::filesystem;

struct OpenFile {
  UniqueFd file;
  std::uint64_t size = 0;
};

std::optional<OpenFile> open_regular(const std::string& path) {
  OpenFile opened{UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))};
  struct stat info {};
  if (!opened.file || ::fstat(opened.file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  opened.size = static_cast<std::uint64_t>(info.st_size);
  return opened;
}

/// Returns the bytes read.
std::uint64_t read_beginning(const UniqueFd& file, std::uint64_t most, MonotonicTime end) {
  (void)::posix_fadvise(file.get(), 0, static_cast<off_t>(most), POSIX_FADV_DONTNEED);
  static char bytes[128 * 1024];
  std::uint64_t done = 0;
  while (done < most && monotonic_now() < end) {
    const auto part = std::min<std::uint64_t>(sizeof bytes, most - done);
    const ssize_t n = ::read(file.get(), bytes, part);
    if (n <= 0) break;
    done += static_cast<std::uint64_t>(n);
  }
  return done;
}

std::uint64_t ns_since(MonotonicTime then) {
  return static_cast<std::uint64_t>((monotonic_now() - then).count());
}

using Sizes = std::vector<std::pair<std::uint64_t, std::string>>;

/// Adds `files`, `took_ns` and `lookup_ns`. Returns the files' sizes and paths.
Sizes read_many(const FolderSpeedLimits& limits, FolderSpeed& speed) {
  const MonotonicTime began = monotonic_now();
  const MonotonicTime end = began + limits.time;
  std::uint64_t reading_ns = 0;
  Sizes found;
  std::error_code error;
  fs::recursive_directory_iterator at(speed.path, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (speed.files >= limits.files || monotonic_now() >= end) break;
    std::error_code ignored;
    if (at->is_symlink(ignored) || !at->is_regular_file(ignored)) continue;
    const auto opened = open_regular(at->path());
    if (!opened) continue;
    const MonotonicTime before = monotonic_now();
    (void)read_beginning(opened->file, limits.bytes_of_each, MonotonicTime::max());
    reading_ns += ns_since(before);
    ++speed.files;
    found.emplace_back(opened->size, at->path());
  }
  speed.took_ns = ns_since(began);
  speed.lookup_ns = speed.took_ns - std::min(reading_ns, speed.took_ns);
  return found;
}

/// Adds `bytes` and `read_ns`, if there is enough to read for a rate.
void read_large(Sizes found, const FolderSpeedLimits& limits, FolderSpeed& speed) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 20U;
  std::sort(found.begin(), found.end(), std::greater<>());
  if (found.size() > limits.large_files) found.resize(limits.large_files);
  const MonotonicTime end = monotonic_now() + limits.reading;
  for (const auto& [size, path] : found) {
    if (size < kLarge || speed.bytes >= limits.bytes || monotonic_now() >= end) break;
    const auto opened = open_regular(path);
    if (!opened) continue;
    const MonotonicTime before = monotonic_now();
    speed.bytes += read_beginning(opened->file, limits.bytes - speed.bytes, end);
    speed.read_ns += ns_since(before);
  }
}

std::string file_system_at(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &::free);
  return file_system_of(real ? real.get() : path);
}

bool takes_sample(const std::string& folder) {
  return folder.starts_with('/') && !is_of_network(file_system_at(folder));
}

bool write_sample(const std::string& folder, MonotonicTime end) {
  constexpr int kFiles = 100;
  const std::string content(8 * 1024, 'x');  // about what a module has
  for (int i = 0; i < kFiles && monotonic_now() < end; ++i) {
    const std::string path = folder + '/' + std::to_string(i);
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || write_all(file.get(), content) != 0) return false;
  }
  return true;
}

}  // namespace

FolderSpeed read_folder(const std::string& path, const FolderSpeedLimits& limits) {
  FolderSpeed speed;
  speed.path = path;
  read_large(read_many(limits, speed), limits, speed);
  speed.file_system = file_system_at(path);
  return speed;
}

std::vector<FolderSpeed> read_folders(const std::vector<std::string>& folders,
                                      std::chrono::nanoseconds time) {
  constexpr std::size_t kMost = 6;  // more would have too little time each
  const MonotonicTime end = monotonic_now() + time;
  std::vector<FolderSpeed> speeds;
  const std::size_t count = std::min(folders.size(), kMost);
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = std::chrono::duration_cast<std::chrono::milliseconds>(
        (end - monotonic_now()) / static_cast<int>(count - i));
    if (part <= part.zero()) break;
    FolderSpeedLimits limits;
    limits.reading = std::min(limits.reading, part / 4);
    limits.time = std::min(limits.time, part - limits.reading);
    if (FolderSpeed speed = read_folder(folders[i], limits); speed.files > 0)
      speeds.push_back(std::move(speed));
  }
  return speeds;
}

FolderSpeed read_local_sample(const std::vector<std::string>& folders, const std::string& name) {
  FolderSpeedLimits limits;
  limits.time = std::chrono::milliseconds(250);
  for (const std::string& folder : folders) {
    if (!takes_sample(folder)) continue;
    const std::string own = folder + '/' + name;
    if (::mkdir(own.c_str(), 0700) != 0) continue;
    FolderSpeed speed;
    if (write_sample(own, monotonic_now() + limits.time)) speed = read_folder(own, limits);
    std::error_code ignored;
    fs::remove_all(own, ignored);
    if (speed.files == 0) continue;
    speed.path = folder;
    return speed;
  }
  return {};
}

void remove_local_sample(const std::vector<std::string>& folders, const std::string& name) {
  // The process that was killed may have been about to make one more file.
  constexpr int kTries = 10;
  constexpr std::chrono::milliseconds kPause{20};
  for (const std::string& folder : folders) {
    if (!takes_sample(folder)) continue;
    std::error_code error;
    for (int i = 0; i < kTries; ++i) {
      fs::remove_all(folder + '/' + name, error);
      if (!error) break;
      std::this_thread::sleep_for(kPause);
    }
  }
}

std::string environment_of(const std::string& program) {
  for (fs::path folder = fs::path(program).parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    std::error_code ignored;
    if (fs::exists(folder / "pyvenv.cfg", ignored) || fs::exists(folder / "conda-meta", ignored))
      return folder / "lib";
  }
  return "";
}

}  // namespace dlaunch
