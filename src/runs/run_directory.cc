#include "runs/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "model/time.h"
#include "os/files.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr std::string_view kIgnoreAll = "# Made by dlaunch: its runs stay out of git.\n*\n";
// A summary of 1,000 ranks takes 200 KiB.
constexpr off_t kReservedRoom = off_t{256} << 10;

/// mkdir -p; 0 or an errno value. Sets `is_new`, unless null, if the folder did not exist.
int make_folders(const std::string& path, bool* is_new = nullptr) {
  struct stat known {};
  if (::stat(path.c_str(), &known) == 0) return S_ISDIR(known.st_mode) ? 0 : ENOTDIR;
  for (std::size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    const bool made = ::mkdir(part.c_str(), kFolderMode) == 0;
    if (made && at == std::string::npos && is_new != nullptr) *is_new = true;
    if (!made && errno != EEXIST) {
      // For an existing parent, mkdir(2) may also say EROFS or EACCES; only the last step counts.
      const int error = errno;
      struct stat found {};
      if (::stat(part.c_str(), &found) != 0) return error;
    }
  }
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno;
  return S_ISDIR(found.st_mode) ? 0 : ENOTDIR;
}

int write_file(const std::string& path, std::string_view text) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  if (fd < 0) return errno;
  const int error = write_all(fd, text);
  // close(2) may report an error of an earlier write (NFS, quota).
  const int close_error = ::close(fd) == 0 ? 0 : errno;
  return error != 0 ? error : close_error;
}

/// False if the file exists, if the file system does not support this, or after another error: the
/// caller then writes in another way, which reports the error.
bool write_in_one_step(const std::string& folder, const std::string& path, std::string_view text) {
  const UniqueFd file = open_unnamed_file(folder, kFileMode);
  return file && write_all(file.get(), text) == 0 && give_name(file, path) == 0;
}

Result<std::string> absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error)
    return fail_errno(exit_code::kInternal, "cannot find the current folder", error.value());
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace

Result<RunDirectory> RunDirectory::create_in(const std::string& base,
                                             const std::function<WallTime()>& clock) {
  // A clock that moves on gives a new id within 21 us; mkdir takes about 1 us.
  constexpr int kTries = 100'000;
  const Result<std::string> folder = absolute_path(base);
  if (!folder) return tl::unexpected(folder.error());
  bool is_new = false;
  if (const int error = make_folders(*folder, &is_new); error != 0) {
    return fail_errno(exit_code::kInternal, "cannot create " + *folder, error);
  }
  // An existing folder may hold other things, too. Runs do not need the file.
  if (is_new) (void)write_file(*folder + "/.gitignore", kIgnoreAll);
  std::string tried;
  for (int i = 0; i < kTries; ++i) {
    std::string id = make_run_id(clock());
    if (id == tried) continue;
    std::string path = *folder + '/' + id;
    if (::mkdir(path.c_str(), kFolderMode) == 0)
      return RunDirectory(std::move(id), std::move(path));
    if (errno != EEXIST) return fail_errno(exit_code::kInternal, "cannot create " + path, errno);
    tried = std::move(id);
  }
  return fail(exit_code::kInternal,
              "cannot create " + *folder + '/' + tried + ": it exists, and the clock stands still");
}

Result<RunDirectory> RunDirectory::create(const std::string& base, const std::string& state_base,
                                          const std::function<WallTime()>& clock) {
  Result<RunDirectory> run = create_in(base, clock);
  if (run || state_base.empty()) return run;
  Result<RunDirectory> fallback = create_in(state_base, clock);
  if (!fallback) {
    return fail(exit_code::kInternal, run.error().message + "; " + fallback.error().message);
  }
  fallback->fell_back_ = true;
  fallback->fallback_reason_ = run.error().message;
  return fallback;
}

RunDirectory RunDirectory::existing(const std::string& path) {
  return {path.substr(path.rfind('/') + 1), path};
}

void RunDirectory::reserve_room() {
  if (room_) return;
  room_ = open_unnamed_file(path_, kFileMode);
  if (room_ && ::fallocate(room_.get(), 0, 0, kReservedRoom) != 0) room_.reset();
}

Status RunDirectory::write(std::string_view name, std::string_view text) const {
  const std::string path = path_ + '/' + std::string(name);
  if (write_in_one_step(path_, path, text)) return {};
  const std::string temporary = path + ".tmp";
  int error = write_file(temporary, text);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return fail_errno(exit_code::kInternal, "cannot write " + path, error);
}

Status RunDirectory::write_stacks(WallTime at, std::string_view json) const {
  (void)::mkdir((path_ + "/stacks").c_str(), kFolderMode);
  return write("stacks/" + time_text(at) + ".json", json);
}

Status RunDirectory::write_last(std::string_view name, std::string_view text) {
  if (const UniqueFd file = std::move(room_)) {
    const bool is_written = write_all(file.get(), text) == 0;
    const bool is_cut = ::ftruncate(file.get(), static_cast<off_t>(text.size())) == 0;
    if (is_written && is_cut && give_name(file, path_ + '/' + std::string(name)) == 0) return {};
  }
  return write(name, text);
}

Result<std::string> RunDirectory::make_attempt_folder(Attempt attempt) const {
  std::string path = path_ + "/attempt-" + std::to_string(attempt.value);
  if (::mkdir(path.c_str(), kFolderMode) == 0) return path;
  if (const int error = make_folders(path); error != 0) {
    return fail_errno(exit_code::kInternal, "cannot create " + path, error);
  }
  return path;
}

std::string make_run_id(WallTime time) {
  static constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  constexpr std::int64_t kUnits = 36 * 36 * 36;
  const DateParts parts = date_parts(time);
  std::string id;
  append_digits(id, parts.year, 4);
  append_digits(id, parts.month, 2);
  append_digits(id, parts.day, 2);
  id += '-';
  append_digits(id, parts.hour, 2);
  append_digits(id, parts.minute, 2);
  append_digits(id, parts.second, 2);
  id += '-';
  const std::int64_t units = parts.nanosecond * kUnits / 1'000'000'000;
  for (const std::int64_t weight : {36 * 36, 36, 1}) id += kDigits[units / weight % 36];
  return id;
}

std::string default_state_folder(const Environment& env) {
  const auto is_usable = [](const std::optional<std::string>& folder) {
    return folder && !folder->empty() && folder->front() == '/';
  };
  if (const auto state = find_variable(env, "XDG_STATE_HOME"); is_usable(state)) {
    return *state + "/dlaunch/runs";
  }
  if (const auto home = find_variable(env, "HOME"); is_usable(home)) {
    return *home + "/.local/state/dlaunch/runs";
  }
  return {};
}

}  // namespace dlaunch
