#include "os/memory_program.h"

#include <cerrno>

#include <sys/mman.h>

#include "os/write_all.h"

namespace dlaunch {

namespace {

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3, memfd_create(2)
#endif

}  // namespace

Result<UniqueFd> memory_program(const std::string& name, std::string_view bytes) {
  UniqueFd file(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_EXEC));
  if (!file && errno == EINVAL) file.reset(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file) return fail_errno(exit_code::kPreflight, name + " cannot run: memfd_create", errno);
  if (const int error = write_all(file.get(), bytes); error != 0)
    return fail_errno(exit_code::kPreflight, name + " cannot run: memory for it", error);
  return file;
}

}  // namespace dlaunch
