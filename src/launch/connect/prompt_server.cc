#include "launch/connect/prompt_server.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/connect/askpass.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostAskers = 4096;

/// The path of our program file; empty if the file has been deleted or replaced.
std::string own_program() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0 || size == sizeof path) return "";
  const std::string program(path, static_cast<std::size_t>(size));
  return ::access(program.c_str(), X_OK) == 0 ? program : "";
}

}  // namespace

std::unique_ptr<PromptServer> PromptServer::open(EventLoop& loop, Callbacks callbacks) {
  std::string program = own_program();
  if (program.empty()) return nullptr;
  auto server = std::unique_ptr<PromptServer>(
      new PromptServer(loop, PromptSocket::open(), std::move(program), std::move(callbacks)));
  return server->acceptor_.listens() ? std::move(server) : nullptr;
}

PromptServer::PromptServer(EventLoop& loop, PromptSocket socket, std::string program,
                           Callbacks callbacks)
    : loop_(loop),
      socket_(std::move(socket)),
      acceptor_(loop, socket_.take_listener(), [this](UniqueFd fd) { let_in(std::move(fd)); }),
      program_(std::move(program)),
      callbacks_(std::move(callbacks)) {}

std::vector<std::string> PromptServer::environment(const std::string& process) const {
  return {"SSH_ASKPASS=" + program_, "SSH_ASKPASS_REQUIRE=force",
          std::string(kAskpassVariable) + '=' + process + ':' + socket_.path()};
}

void PromptServer::let_in(UniqueFd fd) {
  if (!peer_is_our_user(fd.get()) || askers_.size() >= kMostAskers) return;
  const std::uint64_t id = next_id_++;
  askers_[id] = std::make_unique<WatchedFd>(loop_, std::move(fd));
  watch_asker(id);
}

void PromptServer::watch_asker(std::uint64_t id) {
  askers_.at(id)->on_readable([this, id] { read_asker(id); });
}

void PromptServer::read_asker(std::uint64_t id) {
  char bytes[kMostPrompt];
  const ssize_t n = ::recv(askers_.at(id)->get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return watch_asker(id);
  const std::string question(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t end = question.find('\0');
  if (end == std::string::npos || end == 0) {  // end of connection, or malformed
    askers_.erase(id);
    queue_.gone(id);
    return go_on();
  }
  Prompt prompt;
  prompt.asker = id;
  prompt.kind = static_cast<Prompt::Kind>(question[0]);
  prompt.process = question.substr(1, end - 1);
  prompt.text = question.substr(end + 1);
  queue_.add(std::move(prompt));
  watch_asker(id);
  go_on();
}

void PromptServer::answer(std::optional<std::string> text) {
  queue_.answer(std::move(text));
  go_on();
}

void PromptServer::go_on() {
  for (PromptQueue::Reply& reply : queue_.replies()) {
    const auto asker = askers_.find(reply.asker);
    if (asker == askers_.end()) continue;
    std::string answer = reply.text ? kAnswered + *reply.text : std::string(1, kRefused);
    (void)::send(asker->second->get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::explicit_bzero(answer.data(), answer.size());
    askers_.erase(asker);
  }
  if (queue_.withdrawn()) callbacks_.withdraw();
  if (const auto question = queue_.next_question()) callbacks_.ask(*question);
}

}  // namespace dlaunch
