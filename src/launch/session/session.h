// One node as the engine sees it: greets the agent, translates its messages into events, watches
// that it is alive, and tells why it was lost.
//
// Where there is a way back (Settings::way_back), the end of a connection, or the silence of a few
// beats, is nothing that the engine hears of: a new connection is made, over which the session goes
// on where it stood. The node is lost when nothing was heard of its agent for lost_after, at once
// when the way back leads to no agent any more, and at once when what comes is no frame of this
// session. Ranks may outlive the loss by what is left of their agent's lease; NodeLost says how
// long.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/connect/connection_process.h"
#include "launch/connect/connector.h"
#include "launch/connect/reconnection.h"
#include "launch/session/node_clock.h"
#include "launch/session/node_notices.h"
#include "model/event.h"
#include "model/job_spec.h"
#include "os/channel.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class Session {
 public:
  struct Settings {
    std::string node_name;
    std::uint64_t session = 0;
    Duration fence_after;
    Duration lost_after;
    Reconnection::Way way_back{};  // none: the end of the connection is the end of the session
    /// 128 + n may be how the program that connects ended, and not how the agent did. ssh(1) ends
    /// with the code of its command.
    bool codes_are_its_own = false;
  };
  struct Callbacks {
    std::function<void(Event)> on_event;
    std::function<void(NodeFacts)> on_facts;  // before the NodeReady event
    std::function<void(const wire::OutputView&)> on_output;
    std::function<void(const wire::OutputEnd&)> on_output_end;
    std::function<void(const wire::StdinTaken&)> on_stdin_taken;
    std::function<void(std::string)> on_notice;
    std::function<void(const wire::PlacesMissing&)> on_places = {};
    std::function<void(const wire::FetchedOutput&)> on_fetched = {};
    /// The session goes on, over a new connection or, where on_silent was called, over the old one,
    /// after so long without news of the node.
    std::function<void(Duration outage, std::string cause)> on_resumed = {};
    std::function<void(const wire::Message&)> on_reach = {};  // DoorOpen, Knocked
    /// SyncPlace, SyncWants, SyncTaken, SyncDone
    std::function<void(const wire::Message&)> on_sync = {};
    /// Once in each outage that people may notice, with what has passed of it.
    std::function<void(Duration silence)> on_silent = {};
    std::function<void(wire::Message)> on_pmix = {};  // PmixReady, -Fence, -Wanted, -Data
    std::function<void(int signal)> on_signalled = {};
    std::function<void(const wire::Inspected&)> on_inspected = {};
  };

  Session(EventLoop& loop, NodeIndex node, Connection connection, Settings settings,
          Callbacks callbacks);

  /// Says hello and asks for facts.
  void start(const wire::FactsRequest& request);
  /// Asks for facts again; they come as NodeReady of the request's attempt.
  void gather(const wire::FactsRequest& request) { channel_.send(request); }
  void send(const wire::Message& message) { channel_.send(message); }
  /// Says Bye; the session has ended when the agent answers or the connection ends.
  void release();
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Of its connections, those that nobody has reaped.
  [[nodiscard]] std::vector<pid_t> processes() const;
  /// Of the node, as far as it is known.
  [[nodiscard]] const NodeClock& clock() const { return clock_; }

 private:
  using StreamKey = std::pair<Rank, Stream>;

  void on(wire::Heartbeat& beat);
  void on(wire::Hello& hello);
  void on(wire::Facts& facts);
  void on(wire::RanksStarted& started);
  void on(wire::RankNotStarted& failed);
  void on(wire::RankExited& exited);
  void on(wire::AttemptEnded& ended);
  void on(wire::OutputEnd& end);
  void on(wire::StdinTaken& taken) { callbacks_.on_stdin_taken(taken); }
  void on(wire::Notice& notice);
  void on(wire::PortTaken& taken);
  void on(wire::PlacesMissing& answer) {
    if (callbacks_.on_places) callbacks_.on_places(answer);
  }
  void on(wire::FetchedOutput& fetched) {
    if (callbacks_.on_fetched) callbacks_.on_fetched(fetched);
  }
  void on(wire::DoorOpen& open) { reach(open); }
  void on(wire::Knocked& knocked) { reach(knocked); }
  void on(wire::Signalled& signalled) {
    if (callbacks_.on_signalled) callbacks_.on_signalled(signalled.signal);
  }
  void reach(const wire::Message& answer) {
    if (callbacks_.on_reach) callbacks_.on_reach(answer);
  }
  void on(wire::SyncPlace& place) { sync(place); }
  void on(wire::SyncWants& wants) { sync(wants); }
  void on(wire::SyncTaken& taken) { sync(taken); }
  void on(wire::SyncDone& done) { sync(done); }
  void sync(const wire::Message& answer) {
    if (callbacks_.on_sync) callbacks_.on_sync(answer);
  }
  void on(wire::Inspected& answer) {
    if (callbacks_.on_inspected) callbacks_.on_inspected(answer);
  }
  void on(wire::PmixReady& ready) { pmix(std::move(ready)); }
  void on(wire::PmixFence& fence) { pmix(std::move(fence)); }
  void on(wire::PmixWanted& wanted) { pmix(wanted); }
  void on(wire::PmixData& data) { pmix(std::move(data)); }
  void on(wire::RanksAwaited& awaited) { pmix(awaited); }
  void on(wire::MpirunOutput& output) { pmix(std::move(output)); }
  void on(wire::MpirunEnded& ended);
  void pmix(wire::Message message) {
    if (callbacks_.on_pmix) callbacks_.on_pmix(std::move(message));
  }
  void on(wire::Bye&);
  template <class Other>
  void on(Other&) {}  // what only a launcher sends, or the channel keeps for itself

  [[nodiscard]] Channel::Callbacks channel_callbacks();
  void greet(const wire::FactsRequest& request);
  void output(wire::OutputView output);
  void beat();
  void count_silence();
  void send_heartbeat();
  void channel_ended(const std::string& reason);
  void connection_lost(const std::string& cause);
  void connection_silent();
  void silence_broken();
  void retire_process(bool kill);
  void old_process_ended(std::uint32_t connection, const ConnectionEnd& end);
  void go_on_over(Connection connection);
  void resumed();
  enum class Fate : std::uint8_t { ended, unknown };  // of the ranks of a lost agent
  [[nodiscard]] Fate fate_after(int code) const;
  void agent_is_gone(std::string how, Fate ranks);
  void end_quietly();
  void lose(std::string what, Fate ranks = Fate::unknown);
  [[nodiscard]] Duration lease_left() const;
  void tell_silence();
  [[nodiscard]] bool agent_is_stuck();
  [[nodiscard]] std::string silence_text() const;

  EventLoop& loop_;
  NodeIndex node_;
  Settings settings_;
  Callbacks callbacks_;
  Channel channel_;
  Reconnection way_back_;
  const Duration beat_every_;
  Timer heartbeat_;
  NodeClock clock_;
  std::unique_ptr<ConnectionProcess> process_;
  std::vector<std::unique_ptr<ConnectionProcess>> old_processes_;  // of connections that were lost
  std::string early_;
  bool started_ = false;
  bool released_ = false;
  bool ended_ = false;
  std::uint64_t frames_seen_ = 0;
  Duration silence_{0};
  NodeNotices notices_;
  WallTime heard_at_wall_;            // the last frame, as far as beats can tell
  bool told_silence_ = false;         // of this outage
  bool told_stuck_ = false;           // the same
  Duration connection_silence_{0};    // the same of the present connection only
  std::uint64_t agent_sent_ = 0;      // `sent` of the agent's latest heartbeat
  MonotonicTime agent_sent_came_{0};  // when it came
  // For the Resume of a later connection:
  std::uint32_t connection_ = 1;
  Attempt attempt_;
  std::map<StreamKey, std::uint64_t> received_;  // of attempt_, streams that have not ended
  std::string cause_;                            // why the last connection was lost
  std::optional<MonotonicTime> lost_at_;         // none while there is a connection
};

}  // namespace dlaunch
