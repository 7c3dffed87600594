#include "node/checkpoint/checkpoint_list.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "os/clock.h"

namespace dlaunch {

namespace {

/// Depth of folders within a checkpoint.
constexpr int kMostLevels = 16;

std::vector<std::string> parts_of(const std::string& pattern) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', at), pattern.size());
    std::string part = pattern.substr(at, end - at);
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    at = end + 1;
  }
  return parts;
}

bool is_literal(const std::string& part) {
  return part.find_first_of("*?[\\") == std::string::npos;
}

std::string below(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.ends_with('/') ? folder + name : folder + '/' + name;
}

WallTime changed(const struct stat& info) {
  return WallTime(std::chrono::seconds(info.st_mtim.tv_sec) +
                  std::chrono::nanoseconds(info.st_mtim.tv_nsec));
}

class Lister {
 public:
  Lister(std::string workdir, const CheckpointLimits& limits)
      : workdir_(std::move(workdir)), limits_(limits), end_(monotonic_now() + limits.time) {}

  void find(const std::string& pattern) {
    descend(pattern.starts_with('/') ? "/" : "", parts_of(pattern), 0);
  }

  CheckpointList list() {
    std::sort(list_.items.begin(), list_.items.end(),
              [](const auto& a, const auto& b) { return a.written > b.written; });
    if (list_.items.size() > limits_.items) {
      list_.items.resize(limits_.items);
      list_.is_whole = false;
    }
    return std::move(list_);
  }

 private:
  /// Visits every name in the folder until a limit is reached.
  template <class Visit>
  void read(const std::string& folder, Visit visit) {
    const std::string path = folder.empty() ? workdir_ : absolute(folder);
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(path.c_str()), ::closedir);
    while (open && list_.is_whole) {
      const dirent* const entry = ::readdir(open.get());
      if (entry == nullptr) return;
      const std::string name = entry->d_name;
      if (++entries_ > limits_.entries || monotonic_now() > end_) list_.is_whole = false;
      if (name != "." && name != "..") visit(name);
    }
  }

  void descend(const std::string& folder, const std::vector<std::string>& parts, std::size_t at) {
    if (at == parts.size()) return;
    const std::string& part = parts[at];
    const bool is_last = at + 1 == parts.size();
    const auto enter = [&](const std::string& name, int how) {
      const std::string path = below(folder, name);
      is_last ? add(path, how) : descend(path, parts, at + 1);
    };
    if (is_literal(part)) return enter(part, 0);
    read(folder, [&](const std::string& name) {
      if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) enter(name, AT_SYMLINK_NOFOLLOW);
    });
  }

  void add(const std::string& path, int how) {
    struct stat info {};
    if (::fstatat(AT_FDCWD, absolute(path).c_str(), &info, how) != 0) return;
    if (!known_.insert(path).second) return;
    CheckpointItem item;
    item.path = path;
    count(path, info, item, 0);
    if (item.files > 0) list_.items.push_back(std::move(item));
  }

  void count(const std::string& path, const struct stat& info, CheckpointItem& item, int level) {
    if (S_ISREG(info.st_mode)) {
      item.bytes += static_cast<std::uint64_t>(info.st_size);
      item.written = item.files++ == 0 ? changed(info) : std::max(item.written, changed(info));
    }
    if (!S_ISDIR(info.st_mode) || level == kMostLevels) return;
    read(path, [&](const std::string& name) {
      const std::string inner = below(path, name);
      struct stat found {};
      if (::fstatat(AT_FDCWD, absolute(inner).c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0)
        count(inner, found, item, level + 1);
    });
  }

  [[nodiscard]] std::string absolute(const std::string& path) const {
    return path.starts_with('/') ? path : below(workdir_, path);
  }

  const std::string workdir_;
  const CheckpointLimits limits_;
  const MonotonicTime end_;
  CheckpointList list_;
  std::set<std::string> known_;
  std::size_t entries_ = 0;
};

}  // namespace

CheckpointList list_checkpoints(const std::string& workdir,
                                const std::vector<std::string>& patterns,
                                const CheckpointLimits& limits) {
  Lister lister(workdir, limits);
  for (const std::string& pattern : patterns) lister.find(pattern);
  return lister.list();
}

}  // namespace dlaunch
