#include "os/memory_program.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "os/write_all.h"

namespace dlaunch {

namespace {

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3, memfd_create(2)
#endif

/// Empty once all of it is in the file.
std::string unpack(const CarriedProgram& program, int file) {
  constexpr const char* kDamaged = "the copy of it inside dlaunch is damaged";
  const std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> stream(::ZSTD_createDCtx(),
                                                                      &::ZSTD_freeDCtx);
  if (!stream) return "no memory for it: " + errno_text(ENOMEM);
  ZSTD_inBuffer in{program.packed.data(), program.packed.size(), 0};
  std::string piece(::ZSTD_DStreamOutSize(), '\0');
  std::size_t skip = program.skip;
  for (std::size_t left = program.size; left > 0;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t state = ::ZSTD_decompressStream(stream.get(), &out, &in);
    if (::ZSTD_isError(state) != 0 || (out.pos == 0 && in.pos == in.size)) return kDamaged;
    std::string_view made(piece.data(), out.pos);
    made.remove_prefix(std::min(skip, made.size()));
    skip -= out.pos - made.size();
    made = made.substr(0, left);
    if (const int error = write_all(file, made); error != 0)
      return "no memory for it: " + errno_text(error);
    left -= made.size();
  }
  return "";
}

}  // namespace

Result<UniqueFd> memory_file(const std::string& name) {
  UniqueFd file(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_EXEC));
  if (!file && errno == EINVAL) file.reset(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file) return fail_errno(exit_code::kPreflight, name + " cannot run: memfd_create", errno);
  return file;
}

Result<UniqueFd> memory_program(const std::string& name, const CarriedProgram& program) {
  auto file = memory_file(name);
  if (!file) return file;
  if (const std::string trouble = unpack(program, file->get()); !trouble.empty())
    return fail(exit_code::kPreflight, name + " cannot run: " + trouble);
  return file;
}

std::string path_of(const UniqueFd& program) {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(program.get());
}

}  // namespace dlaunch
