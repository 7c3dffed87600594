#include "launch/engine/front_side.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "launch/front/front_link.h"

namespace dlaunch {

FrontSide::FrontSide(EventLoop& loop, const RunOptions& options, UniqueFd link, HandOver hand_over,
                     Nodes& nodes, RunStore& store, Screen& screen, OutputSide& output,
                     Callbacks callbacks)
    : loop_(loop),
      options_(options),
      nodes_(nodes),
      store_(store),
      screen_(screen),
      output_(output),
      callbacks_(std::move(callbacks)),
      link_(loop, std::move(link)),
      stdin_({.ask_front = [this] { send_front_message(link_.get(), FrontMessage::stdin_more); },
              .send = [this](wire::StdinData data) { nodes_.send(stdin_node_, std::move(data)); }}),
      progress_(loop, [this](std::string text) { screen_.show_status(std::move(text)); }),
      hand_over_(std::move(hand_over)) {
  watch();
}

void FrontSide::announce() {
  const std::string paths = store_.folder().path() + '\0' + store_.shown_path();
  send_front_message(link_.get(), FrontMessage::run_folder, paths.data(), paths.size());
}

void FrontSide::watch() {
  link_.on_readable([this] { read(); });
}

void FrontSide::read() {
  char message[1 + kStdinChunk];
  const ssize_t n = ::recv(link_.get(), message, sizeof message, MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    gone_ = !hand_over_.accepted();
    if (gone_) callbacks_.push(event::FrontGone{});
    return;
  }
  watch();
  if (n < 0) return;
  const std::string body(message + 1, static_cast<std::size_t>(n) - 1);
  switch (static_cast<FrontMessage>(message[0])) {
    case FrontMessage::signal:
      end_echo_line(body.empty() ? 0 : body.front());
      return callbacks_.signalled(body.empty() ? 0 : body.front());
    case FrontMessage::interrupt:
      end_echo_line(SIGINT);
      if (!stdin_.interrupt()) callbacks_.signalled(SIGINT);
      return;
    case FrontMessage::stdin_data:
    case FrontMessage::stdin_end:
      if (body.ends_with('\n')) screen_.answered();
      return stdin_.add(body);
    case FrontMessage::hand_over:
      return hand_over_.accept();
    case FrontMessage::answer:
      return answer(body);
    case FrontMessage::refuse:
      return answer(std::nullopt);
    case FrontMessage::ping:
      send_front_message(link_.get(), FrontMessage::pong, nullptr, 0, false);
      break;
    case FrontMessage::pong:
    case FrontMessage::stdin_more:
    case FrontMessage::run_folder:
    case FrontMessage::started:
    case FrontMessage::ask:
    case FrontMessage::withdraw:
      break;
  }
}

/// The terminal has printed "^C", and the cursor is after it.
void FrontSide::end_echo_line(int signal) {
  if ((signal == SIGINT || signal == SIGQUIT) && ::isatty(STDERR_FILENO) == 1) screen_.write("\n");
}

void FrontSide::connecting(NodeId node) {
  open_prompts();
  progress_.waits_for(node, nodes_.cluster().name_of(node));
}

void FrontSide::connected() {
  if (prompts_) {
    if (prompts_->asking()) send_front_message(link_.get(), FrontMessage::withdraw);
    nodes_.set_prompts({});
    prompts_.reset();
  }
  progress_.end();
}

/// Opens the prompts only if an ssh may have a question.
void FrontSide::open_prompts() {
  const auto& nodes = nodes_.cluster().nodes;
  const bool all_forked =
      std::all_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.is_launcher; });
  if (!options_.may_ask || prompts_ || all_forked) return;
  prompts_ =
      PromptServer::open(loop_, {.ask = [this](const Prompt& prompt) { ask(prompt); },
                                 .withdraw =
                                     [this] {
                                       send_front_message(link_.get(), FrontMessage::withdraw);
                                       progress_.hold(false);
                                     }});
  if (!prompts_) return;
  nodes_.set_prompts([this](const std::string& process) { return prompts_->environment(process); });
}

void FrontSide::ask(const Prompt& prompt) {
  progress_.hold(true);
  screen_.catch_up();
  const std::string body = static_cast<char>(prompt.kind) + prompt.text;
  if (!send_front_message(link_.get(), FrontMessage::ask, body.data(), body.size())) return;
  nodes_.user_asked();
  callbacks_.push(event::UserAsked{});
}

void FrontSide::answer(std::optional<std::string> text) {
  if (!prompts_ || !prompts_->asking()) return;
  nodes_.user_asked();
  callbacks_.push(event::UserAsked{});
  prompts_->answer(std::move(text));
  if (!prompts_->asking()) progress_.hold(false);
}

void FrontSide::begin_stdin(const LaunchPlan& plan, Rank rank) {
  stdin_node_ = plan.node_of(rank);
  stdin_.begin(plan.attempt);
}

void FrontSide::tell(const Event& event, const LaunchPlan* plan) {
  if (const auto* started = std::get_if<event::RankStarted>(&event)) {
    const bool is_current = plan != nullptr && started->attempt == plan->attempt &&
                            started->rank.value < plan->ranks.size();
    // Not from within a callback of a channel: hand_over() waits for the console.
    if (is_current && hand_over_.rank_started(started->attempt, plan->ranks.size()))
      loop_.post([this] { hand_over(); });
  } else if (const auto* ready = std::get_if<event::NodeReady>(&event)) {
    progress_.connected(ready->node);
  } else if (const auto* lost = std::get_if<event::NodeLost>(&event)) {
    progress_.failed(lost->node);
  }
}

void FrontSide::hand_over() {
  output_.drain();
  const Status logging = hand_over_.let_go(store_.folder().path() + "/dlaunch.log");
  output_.console_moved();
  if (!logging) store_.note("notice", logging.error().message);
  send_front_message(link_.get(), FrontMessage::started);
}

}  // namespace dlaunch
