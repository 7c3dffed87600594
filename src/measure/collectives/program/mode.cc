#include "measure/collectives/program/mode.h"

#include <array>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace dlaunch::collectives {

namespace {

constexpr std::array<std::pair<std::string_view, Mode>, 4> kModes{{
    {"bench", bench_mode},
    {"pairs", pairs_mode},
    {"check", check_mode},
    {"alone", alone_mode},
}};

int records_fd = STDOUT_FILENO;

}  // namespace

void keep_stdout_for_records() {
  const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own < 0) return;  // no stdout, or no free descriptor: unchanged
  records_fd = own;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

void write(const Context& context, const measure::Record& record) {
  if (context.team.rank() != 0) return;
  const std::string line = to_json(record) + '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t n = ::write(records_fd, rest.data(), rest.size());
    if (n <= 0) return;  // the reader has left, and ends us
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

Mode mode_named(std::string_view name) {
  for (const auto& [known, mode] : kModes) {
    if (known == name) return mode;
  }
  return nullptr;
}

}  // namespace dlaunch::collectives
