#include "os/folder_watch.h"

#include <algorithm>

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kUnwatched{250};

}  // namespace

FolderWatch::FolderWatch() : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

bool FolderWatch::add(const std::string& folder) {
  if (!inotify_) return false;
  if (::inotify_add_watch(inotify_.get(), folder.c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO) >= 0)
    return true;
  inotify_.reset();  // the user's watches are used up: fall back to polling all folders
  return false;
}

void FolderWatch::wait(std::chrono::milliseconds limit) {
  if (!inotify_) limit = std::min(limit, kUnwatched);
  pollfd watched{inotify_.get(), POLLIN, 0};  // poll(2) ignores a negative one
  if (::poll(&watched, 1, static_cast<int>(limit.count())) <= 0) return;
  alignas(inotify_event) char events[16384];
  while (::read(inotify_.get(), events, sizeof events) > 0) {
  }
}

}  // namespace dlaunch
