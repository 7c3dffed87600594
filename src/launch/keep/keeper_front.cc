#include "launch/keep/keeper_front.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/socket.h>

#include "launch/front/front_link.h"
#include "model/result.h"

namespace dlaunch {

KeeperFront::KeeperFront(EventLoop& loop, UniqueFd link, NodeConnector& connector,
                         std::function<void(int)> on_end)
    : loop_(loop), link_(loop, std::move(link)), connector_(connector), on_end_(std::move(on_end)) {
  watch();
}

void KeeperFront::watch() {
  link_.on_readable([this] { read(); });
}

void KeeperFront::read() {
  char message[kMostFrontMessage];
  const ssize_t n = ::recv(link_.get(), message, sizeof message, MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    link_.close();
    if (!handed_over_) on_end_(exit_code::kInternal);
    return;
  }
  watch();
  if (n < 0) return;
  std::string body(message + 1, static_cast<std::size_t>(n) - 1);
  switch (static_cast<FrontMessage>(message[0])) {
    case FrontMessage::signal:
    case FrontMessage::interrupt:
      return on_end_(exit_code::kSignalBase + (body.empty() ? SIGINT : body.front()));
    case FrontMessage::hand_over:
      handed_over_ = true;
      return;
    case FrontMessage::answer:
      return answer(std::move(body));
    case FrontMessage::refuse:
      return answer(std::nullopt);
    case FrontMessage::ping:
      send_front_message(link_.get(), FrontMessage::pong, nullptr, 0, false);
      return;
    default:
      return;
  }
}

void KeeperFront::open_prompts() {
  prompts_ = PromptServer::open(
      loop_, {.ask = [this](const Prompt& prompt) { ask(prompt); },
              .withdraw = [this] { send_front_message(link_.get(), FrontMessage::withdraw); }});
  if (!prompts_) return;
  connector_.set_prompts(
      [this](const std::string& process) { return prompts_->environment(process); });
}

void KeeperFront::ask(const Prompt& prompt) {
  const std::string body = static_cast<char>(prompt.kind) + prompt.text;
  send_front_message(link_.get(), FrontMessage::ask, body.data(), body.size());
  connector_.user_asked();
}

void KeeperFront::answer(std::optional<std::string> text) {
  if (!prompts_ || !prompts_->asking()) return;
  connector_.user_asked();
  prompts_->answer(std::move(text));
}

void KeeperFront::withdraw() {
  if (prompts_ && prompts_->asking()) send_front_message(link_.get(), FrontMessage::withdraw);
}

void KeeperFront::started() {
  connector_.set_prompts({});
  prompts_.reset();
  send_front_message(link_.get(), FrontMessage::started);
}

}  // namespace dlaunch
