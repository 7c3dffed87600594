#include "os/memory_program.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/write_all.h"

namespace dlaunch {

namespace {

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3, memfd_create(2)
#endif

// The settings that cmake/DlaunchCarried.cmake packs with. The format has no header, so change both
// together.
constexpr std::uint32_t kDictionary = std::uint32_t{4} << 20;
#if defined(__aarch64__)
constexpr lzma_vli kFilter = LZMA_FILTER_ARM64;
#else
constexpr lzma_vli kFilter = LZMA_FILTER_X86;
#endif
constexpr std::size_t kPiece = std::size_t{128} << 10;

/// Returns what went wrong; empty: the whole program is in the file.
std::string unpack(const CarriedProgram& program, int file) {
  constexpr const char* kDamaged = "the copy of it inside dlaunch is damaged";
  lzma_options_lzma options{};
  options.dict_size = kDictionary;
  const lzma_filter filters[] = {
      {kFilter, nullptr}, {LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  lzma_stream stream = LZMA_STREAM_INIT;
  const std::unique_ptr<lzma_stream, decltype(&::lzma_end)> end(&stream, &::lzma_end);
  if (::lzma_raw_decoder(&stream, filters) != LZMA_OK)
    return "no memory for it: " + errno_text(ENOMEM);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(program.packed.data());
  stream.avail_in = program.packed.size();
  std::string piece(kPiece, '\0');
  std::size_t skip = program.skip;
  for (std::size_t left = program.size; left > 0;) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    stream.avail_out = piece.size();
    const lzma_ret state = ::lzma_code(&stream, LZMA_RUN);
    std::string_view made(piece.data(), piece.size() - stream.avail_out);
    if ((state != LZMA_OK && state != LZMA_STREAM_END) || made.empty()) return kDamaged;
    const std::size_t skipped = std::min(skip, made.size());
    made.remove_prefix(skipped);
    skip -= skipped;
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
