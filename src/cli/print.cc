#include "cli/print.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <unistd.h>

#include "os/own_machine.h"
#include "os/terminal.h"
#include "report/github.h"
#include "text/plain_text.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

int print_error(const Error& error) {
  const bool has_position = error.exit_code == exit_code::kJobFile &&
                            error.message.find(": error: ") != std::string::npos;
  // The text may quote a node or a file.
  std::fprintf(stderr, "%s%s",
               has_position ? "" : "dlaunch: ", plain_text(error.message + '\n').c_str());
  if (error.exit_code == exit_code::kJobFile && value_of("GITHUB_ACTIONS") == "true") {
    std::fputs(github_job_file_annotations(plain_text(error.message), value_of("GITHUB_WORKSPACE"),
                                           current_folder().value_or(""))
                   .c_str(),
               stderr);
  }
  return error.exit_code;
}

int print_text(const std::string& text) {
  // Text from nodes must not control the terminal; a file gets every byte.
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const std::string shown = ::isatty(STDOUT_FILENO) == 1 ? plain_text(text, kAll, kAll) : text;
  const bool newline = !shown.empty() && shown.back() != '\n';
  const bool ok = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() &&
                  (!newline || std::fputc('\n', stdout) != EOF) && std::fflush(stdout) == 0;
  if (ok || errno == EPIPE) return exit_code::kOk;
  return print_error(Error{exit_code::kInternal, "cannot write to stdout: " + errno_text(errno)});
}

void show_progress(const std::string& text) {
  const auto size = terminal_size(STDERR_FILENO);
  if (!size) return;
  constexpr std::size_t kNarrowest = 5;
  const std::size_t columns = size->columns >= kNarrowest ? size->columns : kScreenColumns;
  std::fprintf(stderr, "\r\033[K%s", plain_line(text).substr(0, columns - 1).c_str());
}

std::size_t output_columns() {
  constexpr std::size_t kUncut = 4096;
  constexpr std::size_t kLeast = 40;
  const auto terminal = terminal_size(STDOUT_FILENO);
  if (!terminal) return kUncut;
  return terminal->columns == 0 ? kScreenColumns : std::max(terminal->columns, kLeast);
}

}  // namespace dlaunch
