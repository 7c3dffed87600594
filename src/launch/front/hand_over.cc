#include "launch/front/hand_over.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/descriptors.h"

namespace dlaunch {

void HandOver::before_fork() {
  if (!wanted_) return;
  agent_stderr_.reset(::memfd_create("dlaunch-agent-stderr", MFD_CLOEXEC));
  own_stderr_ = duplicate(STDERR_FILENO);
  if (!own_stderr_) return;
  if (agent_stderr_) {
    ::dup2(agent_stderr_.get(), STDERR_FILENO);
  } else {
    redirect_to_null({STDERR_FILENO});
  }
}

void HandOver::agents_forked() {
  if (own_stderr_) ::dup2(own_stderr_.get(), STDERR_FILENO);
  own_stderr_.reset();
}

bool HandOver::rank_started(Attempt attempt, std::size_t ranks) {
  if (attempt != attempt_) started_ = 0;  // the last attempt failed before all had started
  attempt_ = attempt;
  if (!wanted_ || ++started_ != ranks) return false;
  wanted_ = false;
  return true;
}

Status HandOver::let_go(const std::string& file) {
  const UniqueFd log(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  const int error = errno;
  if (!log) {
    redirect_to_null({STDOUT_FILENO, STDERR_FILENO});
    return fail_errno(exit_code::kInternal, "cannot create " + file, error);
  }
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(log.get(), fd);
  return {};
}

std::string HandOver::agent_errors() const {
  std::string text;
  char buffer[4096];
  ssize_t n = 0;
  while (agent_stderr_ && (n = ::pread(agent_stderr_.get(), buffer, sizeof buffer,
                                       static_cast<off_t>(text.size()))) > 0)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

}  // namespace dlaunch
