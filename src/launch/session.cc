#include "launch/session.h"

#include <csignal>

#include <sys/wait.h>

#include "agent/guardian.h"
#include "model/signal_names.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/containment.h"

namespace dlaunch {

namespace {

// What a guardian may take to kill everything of a dead agent before we go on without its word.
constexpr std::chrono::seconds kEndOfProcess{5};

}  // namespace

Session::Session(EventLoop& loop, NodeIndex node, Connection connection, Settings settings,
                 Callbacks callbacks)
    : loop_(loop),
      node_(node),
      settings_(std::move(settings)),
      callbacks_(std::move(callbacks)),
      channel_(loop, std::move(connection.read), std::move(connection.write), node.value,
               settings_.session),
      heartbeat_(loop),
      process_(connection.process),
      remote_(connection.remote),
      early_(std::move(connection.early)),
      last_words_(std::move(connection.last_words)) {}

void Session::start(const wire::FactsRequest& request) {
  started_ = true;
  channel_.start(
      {[this](wire::Message message) { std::visit([this](auto& m) { on(m); }, message); },
       [this](const std::string& reason) { channel_ended(reason); },
       {},
       [this](const wire::OutputView& output) { callbacks_.on_output(output); }},
      early_);
  wire::Hello hello;
  hello.build_id = own_build_id();
  hello.node_name = settings_.node_name;
  hello.heartbeat_ms = static_cast<std::uint32_t>(kHeartbeat.count());
  hello.fence_after_ms = static_cast<std::uint32_t>(settings_.fence_after.count());
  channel_.send(hello);
  channel_.send(request);
  beat();
}

void Session::release() {
  if (released_ || ended_) return;
  released_ = true;
  if (!started_) {  // nobody listens for an answer; the end of the channel says the same
    ended_ = true;
    return channel_.close();
  }
  channel_.send(wire::Bye{});
}

void Session::on(wire::Hello& hello) {
  if (hello.protocol != wire::kProtocolVersion || hello.build_id != own_build_id()) {
    lose("its agent is build " + hello.build_id + " with protocol " +
         std::to_string(hello.protocol) + ", this is build " + own_build_id() + " with protocol " +
         std::to_string(wire::kProtocolVersion));
  }
}

void Session::on(wire::Facts& facts) {
  callbacks_.on_facts(std::move(facts.facts));
  callbacks_.on_event(event::NodeReady{node_, facts.attempt});
}

void Session::on(wire::RanksStarted& started) {
  for (const auto& one : started.ranks) {
    callbacks_.on_event(event::RankStarted{started.attempt, one.rank, one.pid, one.at});
  }
}

void Session::on(wire::RankNotStarted& failed) {
  callbacks_.on_event(
      event::RankNotStarted{failed.attempt, failed.rank, std::move(failed.failure), failed.at});
}

void Session::on(wire::RankExited& exited) {
  callbacks_.on_event(event::RankExited{exited.attempt, exited.rank, exited.status, exited.at,
                                        exited.after_signal});
}

void Session::on(wire::AttemptEnded& ended) {
  callbacks_.on_event(event::NodeEmpty{ended.attempt, node_, ended.leftovers});
}

void Session::on(wire::PortTaken& taken) {
  callbacks_.on_event(event::PortTaken{taken.attempt, taken.rank, std::move(taken.taken)});
}

void Session::on(wire::Notice& notice) {
  callbacks_.on_notice(std::move(notice.text));
}

void Session::on(wire::Bye&) {
  ended_ = true;
  heartbeat_.cancel();
  channel_.close();
}

void Session::beat() {
  if (ended_) return;
  // Silence is counted in our own beats: an engine that was stopped itself does not accuse its
  // agents.
  silence_ = channel_.frames_received() == frames_seen_ ? silence_ + kHeartbeat : Duration(0);
  frames_seen_ = channel_.frames_received();
  if (silence_ > settings_.lost_after) {
    return lose("no sign of life for " + std::to_string(settings_.lost_after.count() / 1000) +
                " s");
  }
  channel_.send(wire::Heartbeat{wall_now()});
  heartbeat_.after(kHeartbeat, [this] { beat(); });
}

void Session::channel_ended(const std::string& reason) {
  if (ended_) return;
  if (!reason.empty() || process_ <= 0)
    return lose(reason.empty() ? "its agent ended without a word" : reason);
  lose_when_process_ends();
}

void Session::lose(std::string what) {
  ended_ = true;
  heartbeat_.cancel();
  channel_.close();
  // It may wait long for a network that is gone; it would be its end anyway.
  if (remote_ && process_ > 0) ::kill(-process_, SIGKILL);
  // A peer that still lives but speaks nonsense is not left behind; the agents clean up when their
  // channel ends.
  callbacks_.on_event(event::NodeLost{node_, std::move(what)});
}

void Session::lose_when_process_ends() {
  // The guardian ends after its agent, when it has cleaned up; its exit code says what it saw.
  UniqueFd pidfd(open_pidfd(process_));
  heartbeat_.cancel();
  if (!pidfd) return lose(reason_from_process());
  process_end_ = std::make_unique<WatchedFd>(loop_, std::move(pidfd));
  process_end_->on_readable([this] {
    if (!ended_) lose(reason_from_process());
  });
  heartbeat_.after(kEndOfProcess, [this] {
    if (!ended_) lose(reason_from_process());
  });
}

std::string Session::reason_from_process() {
  int status = 0;
  if (process_ <= 0 || ::waitpid(process_, &status, WNOHANG) != process_)
    return "its agent ended without a word";
  process_ = 0;
  if (last_words_) {
    if (std::string words = last_words_(status); !words.empty()) return words;
  }
  if (WIFSIGNALED(status)) return "its guardian was killed by " + signal_name(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code == kAgentStopped) return "its agent was stopped and did not go on";
  if (code > exit_code::kSignalBase)
    return "its agent was killed by " + signal_name(code - exit_code::kSignalBase);
  return "its agent ended with code " + std::to_string(code);
}

}  // namespace dlaunch
