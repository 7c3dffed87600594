#include "measure/run/plot_file.h"

#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "os/unique_fd.h"

namespace dlaunch {

Status check_plot_file(const std::string& file) {
  constexpr mode_t kMode = 0666;
  const bool was_there = ::faccessat(AT_FDCWD, file.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  const UniqueFd opened(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, kMode));
  if (!opened) return fail_errno(exit_code::kUsage, "--plot " + file, errno);
  if (!was_there) ::unlink(file.c_str());
  return {};
}

Status write_plot_file(const std::string& file, const measure::Plot& plot) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << to_svg(plot);
  out.close();
  return out ? Status() : fail_errno(exit_code::kInternal, "write " + file, errno);
}

}  // namespace dlaunch
