#include "os/file_lock.h"

#include <cerrno>

#include <fcntl.h>

namespace dlaunch {

namespace {

struct flock one_byte(std::int64_t byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool set_byte_lock(int fd, std::int64_t byte, bool locked) {
  struct flock lock = one_byte(byte, locked ? F_WRLCK : F_UNLCK);
  int done = 0;
  do {
    done = ::fcntl(fd, F_OFD_SETLK, &lock);
  } while (done != 0 && errno == EINTR);
  return done == 0;
}

LockSeen look_at_byte_lock(int fd, std::int64_t byte) {
  // A read lock conflicts with the holder's write lock and needs only a descriptor for reading.
  struct flock lock = one_byte(byte, F_RDLCK);
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return LockSeen::unknown;
  return lock.l_type == F_UNLCK ? LockSeen::free : LockSeen::held;
}

}  // namespace dlaunch
