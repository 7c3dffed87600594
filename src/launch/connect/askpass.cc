#include "launch/connect/askpass.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/connect/prompt_queue.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd || path.empty() || path.size() >= sizeof address.sun_path) return {};
  path.copy(address.sun_path, path.size());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return fd;
}

}  // namespace

int askpass(const std::string& where, const std::string& text) {
  const std::size_t colon = where.find(':');
  const char* hint = ::getenv("SSH_ASKPASS_PROMPT");
  const UniqueFd engine = connect_to(colon == std::string::npos ? "" : where.substr(colon + 1));
  if (!engine) return EXIT_FAILURE;
  std::string question(1, static_cast<char>(kind_of_prompt(text, hint == nullptr ? "" : hint)));
  question += where.substr(0, colon) + '\0' + text;
  question.resize(std::min(question.size(), kMostPrompt));
  if (::send(engine.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return EXIT_FAILURE;
  char answer[kMostPrompt];
  const ssize_t n = ::recv(engine.get(), answer, sizeof answer, 0);
  if (n < 1 || answer[0] != kAnswered) return EXIT_FAILURE;
  const bool written = std::fwrite(answer + 1, 1, static_cast<std::size_t>(n) - 1, stdout) ==
                           static_cast<std::size_t>(n) - 1 &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  ::explicit_bzero(answer, sizeof answer);
  return written ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace dlaunch
