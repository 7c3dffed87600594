#include "launch/output/collected_files.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "os/write_all.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostOpen = 128;

}  // namespace

int CollectedFiles::open(const std::string& path) {
  const auto known = open_.find(path);
  if (known != open_.end()) return known->second.get();
  if (order_.size() == kMostOpen) {
    open_.erase(order_.front());
    order_.pop_front();
  }
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return -1;
  order_.push_back(path);
  return open_.emplace(path, std::move(fd)).first->second.get();
}

int CollectedFiles::write(const std::string& path, std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return 0;
  const int fd = open(path);
  return fd < 0 ? errno : write_all_at(fd, offset, bytes);
}

}  // namespace dlaunch
