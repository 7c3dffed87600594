#include "cli/print.h"

#include <cerrno>
#include <climits>
#include <cstdio>

#include <unistd.h>

namespace dlaunch {

int print_error(const Error& error) {
  const bool has_place = error.exit_code == exit_code::kJobFile &&
                         error.message.find(": error: ") != std::string::npos;
  std::fprintf(stderr, "%s%s\n", has_place ? "" : "dlaunch: ", error.message.c_str());
  return error.exit_code;
}

int print_text(const std::string& text) {
  const bool newline = !text.empty() && text.back() != '\n';
  const bool ok = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
                  (!newline || std::fputc('\n', stdout) != EOF) && std::fflush(stdout) == 0;
  if (ok || errno == EPIPE) return exit_code::kOk;
  return print_error(Error{exit_code::kInternal, "cannot write to stdout: " + errno_text(errno)});
}

Result<std::string> current_folder() {
  char path[PATH_MAX];
  if (::getcwd(path, sizeof path) == nullptr) {
    return fail_errno(exit_code::kUsage, "the folder that dlaunch was started in", errno);
  }
  return std::string(path);
}

}  // namespace dlaunch
