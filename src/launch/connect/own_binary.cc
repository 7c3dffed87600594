#include "launch/connect/own_binary.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/unique_fd.h"

namespace dlaunch {

OwnBinary::~OwnBinary() {
  if (mapped_ != nullptr) ::munmap(mapped_, size_);
}

Result<std::string_view> OwnBinary::bytes() {
  if (mapped_ == nullptr) {
    const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0)
      return fail_errno(exit_code::kInternal, "open /proc/self/exe", errno);
    size_ = static_cast<std::size_t>(info.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) return fail_errno(exit_code::kInternal, "map /proc/self/exe", errno);
    mapped_ = mapped;
  }
  return std::string_view(static_cast<const char*>(mapped_), size_);
}

}  // namespace dlaunch
