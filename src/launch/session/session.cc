#include "launch/session/session.h"

#include <algorithm>

#include "node/guardian.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/stuck.h"
#include "text/duration_text.h"

namespace dlaunch {

namespace {

// Time for a guardian to kill what a dead agent left before we go on without its report.
constexpr Duration kEndOfGuardian = std::chrono::seconds(5);
// Time for an ssh whose connection was cut to say why, before it is killed.
constexpr Duration kEndOfConnection = std::chrono::seconds(2);
// Heartbeat intervals without a frame after which another connection is tried.
constexpr int kSilentBeats = 3;
constexpr std::size_t kMostStreams = 2 * 100'000;  // as many ranks as a job may have
// Shorter outages are not reported.
constexpr Duration kNoticeable = std::chrono::seconds(3);
// Time for an agent to notice that its lease has expired, and for its ranks to end
// (jobfile/validate.cc).
constexpr Duration kFencing = std::chrono::seconds(2);
constexpr Duration kFastestBeat = std::chrono::milliseconds(100);

/// An agent on another node may run its ranks for fence_after without an answer: a late heartbeat
/// must not use up much of that.
Duration beat_for(const Session::Settings& settings) {
  if (!settings.way_back.open) return kHeartbeat;
  return std::clamp(settings.fence_after / 8, kFastestBeat, Duration(kHeartbeat));
}

/// Codes that a connecting program does not return by itself; after other codes, reconnecting shows
/// the state of the agent.
bool is_agents_end(int code) {
  return code == kAgentStopped || code == kAgentFenced || code == kAgentStuck ||
         (code > exit_code::kSignalBase && code < 255);  // 255 is ssh's own, ssh(1)
}

std::string whole_seconds(Duration duration) {
  return duration.count() % 1000 == 0 ? std::to_string(duration.count() / 1000) + " s"
                                      : duration_text(duration);
}

}  // namespace

Session::Session(EventLoop& loop, NodeId node, Connection connection, Settings settings,
                 Listener listener)
    : loop_(loop),
      node_(node),
      settings_(std::move(settings)),
      listener_(std::move(listener)),
      channel_(loop, std::move(connection.read), std::move(connection.write), node.value,
               settings_.session),
      way_back_(
          loop, settings_.way_back,
          {.on_made = [this](Connection made) { go_on_over(std::move(made)); },
           // The agent there may not know the ranks' fate, or belong to another boot of the node.
           .on_gone = [this](std::string how) { agent_is_gone(std::move(how), Fate::unknown); },
           .on_hidden =
               [this] {
                 if (released_ && !ended_) end_quietly();
               }}),
      beat_every_(beat_for(settings_)),
      heartbeat_(loop),
      process_(std::make_unique<ConnectionProcess>(loop, connection.process, connection.remote,
                                                   std::move(connection.last_words))),
      early_(std::move(connection.early)) {
  if (!connection.remote) clock_.is_ours();
}

void Session::start(const std::optional<wire::FactsRequest>& request) {
  started_ = true;
  channel_.start(channel_callbacks(), early_);
  greet(request);
  heard_at_wall_ = wall_now();
  heartbeat_.after(beat_every_, [this] { beat(); });
}

LauncherChannel::Callbacks Session::channel_callbacks() {
  LauncherChannel::Callbacks callbacks;
  callbacks.on_message = [this](wire::FromAgent message) { hear(std::move(message)); };
  callbacks.on_end = [this](const std::string& reason) { channel_ended(reason); };
  if (!way_back_.possible()) return callbacks;
  callbacks.on_lost = [this](const std::string& reason) {
    connection_lost(reason.empty() ? "its connection ended" : reason);
  };
  callbacks.on_resume = [this](const wire::Resume&) { resumed(); };
  return callbacks;
}

void Session::greet(const std::optional<wire::FactsRequest>& request) {
  wire::Hello hello;
  hello.build_id = own_build_id();
  hello.node_name = settings_.node_name;
  hello.heartbeat_ms = static_cast<std::uint32_t>(beat_every_.count());
  hello.fence_after_ms = static_cast<std::uint32_t>(settings_.fence_after.count());
  hello.keep_on_channel_loss = way_back_.possible();
  channel_.send(hello);
  send_heartbeat();  // first, so that its answer does not wait for the facts
  if (request) channel_.send(*request);
}

void Session::release(bool stays) {
  if (released_ || ended_) return;
  released_ = true;
  if (!started_) {  // there is no listener yet; the end of the channel reports the same
    ended_ = true;
    return channel_.close();
  }
  channel_.send(wire::Bye{stays});
}

void Session::hear(wire::FromAgent message) {
  const bool passes = std::visit([this](auto& one) { return take(one); }, message);
  if (passes && !ended_) listener_.on_message(std::move(message));
}

bool Session::take(wire::Hello& hello) {
  greeted_ = true;
  if (hello.protocol != wire::kProtocolVersion || hello.build_id != own_build_id()) {
    lose("its agent is build " + hello.build_id + " with protocol " +
         std::to_string(hello.protocol) + ", but this is build " + own_build_id() +
         " with protocol " + std::to_string(wire::kProtocolVersion));
  }
  return false;
}

bool Session::take(wire::Notice& notice) {
  auto text = notices_.take(notice.text);
  if (text) notice.text = std::move(*text);
  return text.has_value();
}

bool Session::take(wire::OutputEnd& end) {
  if (end.attempt == attempt_) received_.erase({end.rank, end.stream});
  return true;
}

/// The answer to our Bye. If the agent was not told to exit, its Bye says nothing about its ranks.
bool Session::take(wire::Bye& bye) {
  if (released_ && bye.stays) left_ = channel_.leave();
  released_ ? end_quietly() : lose("its agent exited without being told to");
  return false;
}

bool Session::take(wire::Heartbeat& beat) {
  const MonotonicTime now = monotonic_now();
  clock_.add(beat, now, wall_now());
  agent_sent_ = beat.sent;
  agent_sent_came_ = now;
  // The agent's ranks depend on the answers (node/session/lease.h), so these do not wait for our
  // next heartbeat. An agent that reads nothing gets only our own heartbeats: otherwise it could
  // fill our memory.
  if (way_back_.possible() && channel_.queued() < LauncherChannel::kLowWater) send_heartbeat();
  return false;
}

/// Records what has arrived, for a Resume. Bytes that arrived before are left out: an agent that
/// knows our position sends none.
bool Session::take(wire::OutputData& output) {
  if (!way_back_.possible() || output.attempt < attempt_) return true;
  if (output.attempt > attempt_) received_.clear();
  attempt_ = output.attempt;
  std::uint64_t& received = received_[{output.rank, output.stream}];
  if (received_.size() > kMostStreams) {
    lose("its agent sends the output of more ranks than a node can have");
    return false;
  }
  if (output.offset < received) {
    const auto known = std::min<std::uint64_t>(received - output.offset, output.bytes.size());
    output.bytes.remove_prefix(static_cast<std::size_t>(known));
    output.offset += known;
    if (output.bytes.empty()) return false;
  }
  received = output.offset + output.bytes.size();
  return true;
}

void Session::send_heartbeat() {
  const MonotonicTime now = monotonic_now();
  const auto held = agent_sent_ == 0 ? MonotonicTime(0) : now - agent_sent_came_;
  channel_.send(wire::Heartbeat{wall_now(), static_cast<std::uint64_t>(now.count()), agent_sent_,
                                static_cast<std::uint64_t>(held.count())});
}

// Silence is counted in our own heartbeats: an engine that was stopped itself does not blame its
// agents.
void Session::count_silence() {
  const bool heard = channel_.frames_received() != frames_seen_;
  frames_seen_ = channel_.frames_received();
  silence_ = heard ? Duration(0) : silence_ + beat_every_;
  connection_silence_ = heard ? Duration(0) : connection_silence_ + beat_every_;
  if (!heard) return tell_silence();
  heard_at_wall_ = wall_now();
  silence_broken();
  told_silence_ = told_stuck_ = false;
}

void Session::tell_silence() {
  if (silence_ <= kNoticeable || released_ || !way_back_.possible()) return;
  if (!std::exchange(told_silence_, true)) listener_.on_news(node_news::Silent{silence_});
}

void Session::beat() {
  if (ended_) return;
  count_silence();
  if (silence_ > kNoticeable && agent_is_stuck()) silence_ = Duration(0);
  if (silence_ > settings_.lost_after) return lose(silence_text());
  const bool is_silent = connection_silence_ >= kSilentBeats * beat_every_;
  if (way_back_.possible() && is_silent) connection_silent();
  send_heartbeat();
  heartbeat_.after(beat_every_, [this] { beat(); });
}

/// An agent on this machine that waits for a file system is not lost: it continues when the
/// file system answers, and until then the output of its ranks waits in their pipes. On other
/// nodes the agent's lease decides.
bool Session::agent_is_stuck() {
  if (way_back_.possible()) return false;
  std::vector<pid_t> below;
  for (const pid_t guardian : processes()) {
    const std::vector<pid_t> agents = children_of(guardian);
    below.insert(below.end(), agents.begin(), agents.end());
  }
  const std::vector<StuckProcess> stuck = find_stuck(below);
  if (!stuck.empty() && !std::exchange(told_stuck_, true)) {
    listener_.on_news(node_news::Remark{
        settings_.node_name + ": the agent is stuck: " + describe(stuck) +
        "; the output of its ranks waits in their pipes, and a rank whose pipe is full waits too; "
        "Ctrl-C twice ends the job"});
  }
  return !stuck.empty();
}

std::string Session::silence_text() const {
  std::string text = "no sign of life for " + whole_seconds(settings_.lost_after);
  if (!lost_at_) return text;
  if (!cause_.empty() && !cause_.starts_with("no sign of life")) text += " after: " + cause_;
  if (!way_back_.trouble().empty()) text += "; reconnecting failed: " + way_back_.trouble();
  return text;
}

void Session::channel_ended(const std::string& reason) {
  if (ended_) return;
  if (!reason.empty()) return lose(reason);
  // The guardian ends after its agent, when it has cleaned up; its exit code says what happened.
  heartbeat_.cancel();
  process_->wait_for_end(kEndOfGuardian, [this](const ConnectionEnd& end) {
    if (ended_) return;
    if (end.exit_code) return lose(how_agent_ended(*end.exit_code), fate_after(*end.exit_code));
    lose(end.words.text.empty() ? "its agent ended without a message" : end.words.text);
  });
}

void Session::connection_lost(const std::string& cause) {
  if (ended_) return;
  if (settings_.is_kept && !greeted_) return lose(cause);
  cause_ = cause;
  cause_ends_agent_ = false;
  if (!lost_at_) lost_at_ = monotonic_now() - silence_;
  retire_process(false);
  way_back_.begin();
}

/// The connection stays until there is another one: TCP recovers from a brief interruption sooner
/// than ssh can log in again.
void Session::connection_silent() {
  if (way_back_.trying()) return;
  if (settings_.is_kept && !greeted_)
    return lose("no sign of life for " + whole_seconds(connection_silence_));
  cause_ = "no sign of life for " + whole_seconds(connection_silence_);
  cause_ends_agent_ = false;
  if (!lost_at_) lost_at_ = monotonic_now() - silence_;
  way_back_.begin();
}

void Session::silence_broken() {
  if (!lost_at_ || !channel_.is_connected()) return;
  const MonotonicTime outage = monotonic_now() - *lost_at_;
  lost_at_.reset();
  way_back_.stop();
  way_back_.succeeded();
  if (told_silence_)
    listener_.on_news(node_news::Resumed{std::chrono::duration_cast<Duration>(outage), cause_});
}

void Session::retire_process(bool kill) {
  if (!process_) return;
  if (kill) process_->kill();
  process_->wait_for_end(kEndOfConnection,
                         [this, connection = connection_](const ConnectionEnd& end) {
                           old_process_ended(connection, end);
                         });
  old_processes_.push_back(std::move(process_));
}

void Session::old_process_ended(std::uint32_t connection, const ConnectionEnd& end) {
  if (ended_) return;
  // The first connection's remote command is the guardian.
  const bool guardian_ended = connection == 1 && end.exit_code && is_agents_end(*end.exit_code);
  if (guardian_ended && lost_at_)
    return agent_is_gone(how_agent_ended(*end.exit_code), fate_after(*end.exit_code));
  if (lost_at_ && connection == connection_ && !end.words.text.empty()) {
    cause_ = end.words.text;
    cause_ends_agent_ = end.words.agent_ended;
  }
  if (lost_at_ && connection == 1 && end.words.agent_ended)
    agent_is_gone(end.words.text, Fate::unknown);
}

Session::Fate Session::fate_after(int code) const {
  return settings_.codes_are_its_own && code > exit_code::kSignalBase ? Fate::unknown : Fate::ended;
}

void Session::go_on_over(Connection connection) {
  if (ended_) return;
  retire_process(true);
  process_ = std::make_unique<ConnectionProcess>(loop_, connection.process, connection.remote,
                                                 std::move(connection.last_words));
  connection_silence_ = Duration(0);
  wire::Resume mine;
  mine.connection = ++connection_;
  for (const auto& [key, received] : received_)
    mine.streams.push_back({attempt_, key.first, key.second, received});
  channel_.go_on_over(std::move(connection.read), std::move(connection.write), std::move(mine),
                      connection.early);
}

void Session::resumed() {
  const MonotonicTime outage = monotonic_now() - lost_at_.value_or(monotonic_now());
  lost_at_.reset();
  way_back_.succeeded();
  for (const auto& old : old_processes_) old->kill();
  listener_.on_news(node_news::Resumed{std::chrono::duration_cast<Duration>(outage), cause_});
}

void Session::agent_is_gone(std::string how, Fate ranks) {
  if (ended_) return;
  if (cause_ends_agent_) how = cause_;  // says more than "it was killed"
  released_ ? end_quietly() : lose(std::move(how), ranks);
}

void Session::abandon() {
  if (ended_) return;
  end_quietly();
  retire_process(true);
}

/// An agent that stays sends nothing after its last frame until it is greeted again.
std::optional<Connection> Session::take_connection() {
  if (!left_ || !left_->early.empty() || !process_) return std::nullopt;
  Connection connection;
  connection.read = std::move(left_->read);
  connection.write = std::move(left_->write);
  left_.reset();
  connection.remote = true;
  connection.last_words = process_->last_words();
  connection.process = std::exchange(process_, nullptr)->pid();
  return connection;
}

std::vector<pid_t> Session::processes() const {
  std::vector<pid_t> pids;
  if (process_ && process_->pid() > 0) pids.push_back(process_->pid());
  for (const auto& old : old_processes_) {
    if (old->pid() > 0) pids.push_back(old->pid());
  }
  return pids;
}

void Session::end_quietly() {
  ended_ = true;
  heartbeat_.cancel();
  way_back_.stop();
  channel_.close();
  if (released_ && listener_.on_parted) listener_.on_parted();
}

/// The agent has received no heartbeat that was sent after the last one that we received
/// (node/session/lease.h). An agent that cannot be reconnected ends its ranks when its connection
/// ends.
Duration Session::lease_left() const {
  if (!way_back_.possible()) return Duration(0);
  return std::max(settings_.fence_after + kHeartbeat + kFencing - silence_, Duration(0));
}

void Session::lose(std::string what, Fate ranks) {
  const Duration left = ranks == Fate::ended ? Duration(0) : lease_left();
  end_quietly();
  // The process may wait long for a network that is gone, although the session is over.
  retire_process(true);
  if (released_ && way_back_.possible()) return;
  // A peer that is alive but sends malformed frames is disconnected; agents clean up when their
  // channel ends.
  listener_.on_news(event::NodeLost{node_, std::move(what), heard_at_wall_, left,
                                    ranks == Fate::ended, silence_});
}

}  // namespace dlaunch
