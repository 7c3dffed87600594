#include "node/unpack/arriving_file.h"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace dlaunch {

bool ArrivingFile::has_news() const {
  pollfd one{arrived_.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

int ArrivingFile::wait_for(std::uint64_t count) {
  while (told_ < count || has_news()) {
    std::uint64_t more = 0;
    const ssize_t n = ::read(arrived_.get(), &more, sizeof more);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof more) return n < 0 ? errno : EIO;
    told_ += more;
  }
  return told_ >= kGiveUp ? ECANCELED : 0;
}

int ArrivingFile::read(std::size_t most, std::string& bytes) {
  bytes.clear();
  if (position_ >= size_) return 0;
  if (const int error = wait_for(position_ + 1); error != 0) return error;
  const std::uint64_t there = std::min(told_, size_) - position_;
  bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(there, most)));
  ssize_t n = 0;
  do {
    n = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(position_));
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return n < 0 ? errno : EIO;  // it cannot end before its size
  bytes.resize(static_cast<std::size_t>(n));
  position_ += static_cast<std::uint64_t>(n);
  return 0;
}

}  // namespace dlaunch
