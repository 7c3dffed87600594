#include "launch/keep/keeper.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "launch/connect/connection_process.h"
#include "launch/connect/node_connector.h"
#include "launch/connect/node_targets.h"
#include "launch/keep/keeper_clients.h"
#include "launch/keep/keeper_front.h"
#include "launch/keep/keeper_socket.h"
#include "launch/keep/kept_nodes.h"
#include "launch/keep/kept_row.h"
#include "launch/session/session.h"
#include "model/signal_names.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/process_title.h"
#include "os/random.h"
#include "os/signals.h"
#include "supervise/wording.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// For the Byes at the end.
constexpr std::chrono::seconds kGoodbye{2};
// For a connection that was given up to say why.
constexpr Duration kEndOfConnection = std::chrono::seconds(2);
// A run waits no longer for an agent to be free (kept_connections.cc).
constexpr std::chrono::seconds kPartingLimit{1};
// A node that was given back is lent again as it is for so long, before a session is begun with its
// agent; less than an agent waits between sessions (cli/agent_command.cc).
constexpr std::chrono::seconds kRest{3};
constexpr std::chrono::seconds kInspection{4};

/// A kept connection needs no shared one beside it.
Connect without_persist(Connect connect) {
  connect.persist.reset();
  return connect;
}

int give_up(const Error& error) {
  std::fprintf(stderr, "dlaunch: %s\n", error.message.c_str());
  return error.exit_code;
}

class Keeper {
 public:
  Keeper(const KeeperOptions& options, std::vector<NodeTarget> targets, UniqueFd link,
         KeeperSocket socket)
      : options_(options),
        targets_(std::move(targets)),
        socket_(std::move(socket)),
        nodes_(options.idle_limit, monotonic_now()),
        connector_(
            loop_, targets_,
            {without_persist(options.spec.connect), random_number(), false,
             options.spec.timeouts.connect, own_build_id(), random_number(),
             options.spec.stage_via == StageVia::launcher
                 ? nullptr
                 : NodeConnector::Serve([this](NodeId node, const wire::ServeProgram& order) {
                     const auto& session = held_[node.value]->session;
                     if (!session || session->ended()) return false;
                     session->send(order);
                     return true;
                   })}),
        front_(loop_, std::move(link), connector_, [this](int code) { end_with(code); }),
        clients_(loop_, listener()),
        listing_limit_(loop_),
        timer_(loop_),
        goodbye_(loop_) {
    for (const NodeTarget& target : targets_) {
      nodes_.add(target.host.name, target_key(options.spec.connect, target), monotonic_now());
      held_.push_back(std::make_unique<Held>(loop_));
    }
  }

  int run() {
    watch_signals();
    if (options_.may_ask) front_.open_prompts();
    for (std::size_t i = 0; i < held_.size(); ++i) connect(i);
    loop_.run();
    // The processes of the connections end when their agents have.
    const MonotonicTime limit = monotonic_now() + kGoodbye;
    for (bool none_left = false; !none_left && monotonic_now() < limit;) {
      if (!reap_one(none_left) && !none_left) wait_for_child(std::chrono::milliseconds(50));
    }
    kill_descendants(kGoodbye);
    return exit_code_;
  }

 private:
  /// What belongs to a node beside its entry in nodes_.
  struct Held {
    explicit Held(EventLoop& loop) : limit(loop) {}
    std::unique_ptr<Session> session;
    std::optional<Connection> connection;  // while a run has it, and for kRest afterwards
    std::uint64_t last_session = 0;
    std::uint32_t number = 0;  // which of its holder's wanted nodes it is
    Timer limit;               // for parting, and for the rest
    bool was_connected = false;
    std::optional<NodeCondition> condition;
  };

  // ---- nodes

  void connect(std::size_t i) {
    Held& held = *held_[i];
    const NodeId node(static_cast<std::uint32_t>(i));
    if (held.last_session != 0) connector_.set_lost_session(node, held.last_session);
    held.last_session = random_number();
    connector_.set_session(node, held.last_session);
    connector_.open(node, Purpose::fresh, [this, i](Result<Connection> connection) {
      if (!connection) return lost(i, connection.error().message);
      begin_session(i, std::move(*connection), false);
    });
  }

  void begin_session(std::size_t i, Connection connection, bool is_kept) {
    Held& held = *held_[i];
    const NodeId node(static_cast<std::uint32_t>(i));
    if (is_kept) {
      held.last_session = random_number();
      connector_.set_session(node, held.last_session);
    }
    Session::Settings settings{targets_[i].host.name, held.last_session,
                               options_.spec.timeouts.fence_after,
                               options_.spec.timeouts.lost_after};
    settings.way_back = {.open =
                             [this, node](Reconnection::Opened done, Duration limit) {
                               connector_.open(node, Purpose::attach, std::move(done), limit);
                             },
                         .cancel = [this, node] { connector_.cancel(node); }};
    settings.codes_are_its_own = targets_[i].connector->own_exit_codes;
    settings.is_kept = is_kept;
    const auto is_present = [this, i, id = held.last_session] {
      return held_[i]->last_session == id && held_[i]->session != nullptr;
    };
    retire(i);
    held.session = std::make_unique<Session>(
        loop_, node, std::move(connection), std::move(settings),
        Session::Listener{.on_message =
                              [this, i, is_present](const wire::FromAgent& message) {
                                if (is_present()) hear(i, message);
                              },
                          .on_news =
                              [this, i, is_present](const NodeNews& news) {
                                const auto* gone = std::get_if<event::NodeLost>(&news);
                                if (gone == nullptr || !is_present()) return;
                                loop_.post([this, i, is_present, why = gone->what] {
                                  if (is_present()) lost(i, why);
                                });
                              },
                          .on_parted =
                              [this, i, is_present] {
                                loop_.post([this, i, is_present] {
                                  if (is_present()) parted(i);
                                });
                              },
                          .on_served =
                              [this, node, is_present](const wire::ProgramServed& answer) {
                                if (is_present()) connector_.served(node, answer);
                              }});
    held.session->start(std::nullopt);
    if (!is_kept) connector_.has_program(node);
    // A new agent is one once it has answered; a kept one has answered before.
    is_kept ? connected(i) : held.session->send(question(false));
  }

  static wire::Inspect question(bool gpus) {
    wire::Inspect question;
    question.gpus = gpus;
    question.collectives = false;
    question.limit_ms = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(kInspection).count());
    return question;
  }

  void hear(std::size_t i, const wire::FromAgent& message) {
    const auto* inspected = std::get_if<wire::Inspected>(&message);
    if (inspected == nullptr) return;
    if (!std::exchange(held_[i]->was_connected, true)) return connected(i);
    held_[i]->condition = inspected->condition;
    answer_listings();
  }

  void connected(std::size_t i) {
    held_[i]->was_connected = true;
    nodes_.connected(i, monotonic_now());
    release_if_gone(i);
    after_change();
  }

  void lost(std::size_t i, const std::string& why) {
    Held& held = *held_[i];
    refuse_holder(i, "has been lost: " + why);
    abandon(i);
    if (held.connection) drop(*std::exchange(held.connection, std::nullopt));
    held.was_connected = false;
    if (!is_up_) failures_ += "\n         " + targets_[i].host.name + ": " + why;
    nodes_.lost(i, why, monotonic_now());
    after_change();
  }

  /// A session that has not ended would go on to connect its agent, in place of a new one.
  void abandon(std::size_t i) {
    if (const auto& session = held_[i]->session) session->abandon();
    retire(i);
  }

  /// Its processes end by themselves or are killed; the session is not destroyed from inside one of
  /// its callbacks.
  void retire(std::size_t i) {
    Held& held = *held_[i];
    if (!held.session) return;
    held.limit.cancel();
    connector_.has_no_agent(NodeId(static_cast<std::uint32_t>(i)));
    retired_.push_back(std::move(held.session));
    std::erase_if(retired_,
                  [](const auto& one) { return one->ended() && one->processes().empty(); });
  }

  /// A connection that no session has any more.
  void drop(Connection connection) {
    auto process = std::make_unique<ConnectionProcess>(loop_, connection.process, true,
                                                       std::move(connection.last_words));
    process->kill();
    process->wait_for_end(kEndOfConnection, [](const ConnectionEnd&) {});
    std::erase_if(dropped_, [](const auto& one) { return one->pid() == 0; });
    dropped_.push_back(std::move(process));
  }

  // ---- lending

  void on(ClientId client, const WantNodes& wanted) {
    const MonotonicTime now = monotonic_now();
    for (std::size_t k = 0; k < wanted.keys.size(); ++k) {
      const auto number = wanted.first + static_cast<std::uint32_t>(k);
      if (!wanted.lends) {
        say(client, NotLent{number, nodes_.has(wanted.keys[k]), "is kept"});
        continue;
      }
      const auto node = nodes_.want(wanted.keys[k], client, wanted.run, now);
      if (!node) {
        say(client, NotLent{number, node.error().is_known, node.error().why});
        continue;
      }
      Held& held = *held_[*node];
      held.number = number;
      if (!held.session) {
        lend(*node);
        continue;
      }
      connector_.has_no_agent(NodeId(static_cast<std::uint32_t>(*node)));
      held.session->release(true);
      held.limit.after(kPartingLimit, [this, i = *node] { lost(i, "its agent did not answer"); });
    }
    after_change();
  }

  /// The agent has said that it waits for another Hello, or that it goes.
  void parted(std::size_t i) {
    Held& held = *held_[i];
    auto connection = held.session->take_connection();
    if (nodes_.nodes()[i].state == KeptNode::State::parting && !connection)
      return lost(i, "its agent has ended");
    for (const pid_t process : held.session->processes()) {  // of one that was given up
      Connection over;
      over.process = process;
      drop(std::move(over));
    }
    retire(i);
    if (!connection) return;
    held.connection = std::move(connection);
    lend(i);
  }

  /// Its agent waits for a Hello.
  void lend(std::size_t i) {
    Held& held = *held_[i];
    held.limit.cancel();
    if (!nodes_.lent(i, monotonic_now())) return rest(i);
    std::vector<UniqueFd> ends;
    ends.push_back(duplicate(held.connection->read.get()));
    ends.push_back(duplicate(held.connection->write.get()));
    say(nodes_.nodes()[i].holder, Lent{held.number}, std::move(ends));
  }

  void refuse_holder(std::size_t i, const std::string& why) {
    const KeptNode& node = nodes_.nodes()[i];
    if (node.state == KeptNode::State::parting && node.holder != 0)
      say(node.holder, NotLent{held_[i]->number, true, cut_for_packet(why)});
  }

  void on(ClientId client, const GiveBack& back) {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      Held& held = *held_[i];
      if (held.number == back.number && nodes_.given_back(i, client, monotonic_now())) rest(i);
    }
    after_change();
  }

  /// Runs that follow each other find the agent as the last one has left it.
  void rest(std::size_t i) {
    held_[i]->limit.after(kRest, [this, i] { end_rest(i); });
    release_if_gone(i);
  }

  void end_rest(std::size_t i) {
    Held& held = *held_[i];
    if (!held.session && held.connection)
      begin_session(i, *std::exchange(held.connection, std::nullopt), true);
  }

  // ---- lists

  void on(ClientId client, const ListNodes&) {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      held_[i]->condition.reset();
      if (!is_idle(i)) continue;
      end_rest(i);
      held_[i]->session->send(question(true));
    }
    if (listings_.empty())
      listing_limit_.after(kInspection + std::chrono::seconds(1),
                           [this] { answer_listings(true); });
    listings_.insert(client);
    answer_listings();
  }

  [[nodiscard]] bool is_idle(std::size_t i) const {
    return nodes_.nodes()[i].state == KeptNode::State::idle;
  }

  void answer_listings(bool at_once = false) {
    for (std::size_t i = 0; i < held_.size() && !at_once; ++i) {
      if (is_idle(i) && !held_[i]->condition) return;
    }
    listing_limit_.cancel();
    for (const ClientId client : std::exchange(listings_, {})) send_list(client);
  }

  void send_list(ClientId client) {
    const MonotonicTime now = monotonic_now();
    std::vector<KeptRow> rows;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (nodes_.nodes()[i].state != KeptNode::State::gone)
        rows.push_back(kept_row(nodes_.nodes()[i], held_[i]->condition, now));
    }
    const auto end = nodes_.idle_end();
    for (const KeptList& list : kept_lists(std::move(rows), end ? *end - now : MonotonicTime(0)))
      say(client, list);
  }

  // ---- the end

  void on(ClientId client, const GiveUp& wish) {
    std::size_t known = 0;
    const std::vector<std::size_t> gone = nodes_.give_up(wish.hosts, monotonic_now(), known);
    say(client,
        GivenUp{static_cast<std::uint32_t>(known), static_cast<std::uint32_t>(known - gone.size()),
                nodes_.is_over(monotonic_now())});
    for (const std::size_t i : gone) release_if_gone(i);
    after_change();
  }

  void go_away() {
    std::size_t known = 0;
    for (const std::size_t i : nodes_.give_up({}, monotonic_now(), known)) release_if_gone(i);
    after_change();
  }

  void release_if_gone(std::size_t i) {
    if (nodes_.nodes()[i].state != KeptNode::State::gone) return;
    connector_.cancel(NodeId(static_cast<std::uint32_t>(i)));
    end_rest(i);
    if (held_[i]->session) held_[i]->session->release();
  }

  void after_change() {
    const MonotonicTime now = monotonic_now();
    if (!is_up_) return look_whether_up();
    if (!is_ending_ && nodes_.is_over(now)) return end();
    for (const std::size_t i : nodes_.start(now)) connect(i);
    const auto next = nodes_.next();
    if (!next || is_ending_) return timer_.cancel();
    timer_.after(std::max(*next - now, MonotonicTime(0)), [this] { after_change(); });
  }

  /// Every idle agent gets its Bye.
  void end() {
    if (std::exchange(is_ending_, true)) return;
    socket_.reset();
    clients_.let_in_no_more();
    go_away();
    look_whether_ended(monotonic_now() + kGoodbye);
  }

  void look_whether_ended(MonotonicTime limit) {
    const auto has_ended = [](const auto& held) {
      return !held->session || held->session->ended();
    };
    const bool all = std::all_of(held_.begin(), held_.end(), has_ended);
    if (all || monotonic_now() >= limit) return loop_.stop();
    goodbye_.after(std::chrono::milliseconds(10), [this, limit] { look_whether_ended(limit); });
  }

  // ---- the start

  void end_with(int code) {
    if (exit_code_ == exit_code::kOk) exit_code_ = code;
    is_up_ = true;  // no further failure is told
    front_.withdraw();
    end();
  }

  void look_whether_up() {
    const auto& all = nodes_.nodes();
    if (std::any_of(all.begin(), all.end(),
                    [](const KeptNode& node) { return node.state == KeptNode::State::connecting; }))
      return;
    if (!failures_.empty()) {
      std::fprintf(stderr, "dlaunch: not all nodes can be connected, so none is kept:%s\n",
                   failures_.c_str());
      return end_with(exit_code::kNodeLost);
    }
    if (const auto found = socket_->appear(); !found)
      return end_with(give_up(found.error()));
    is_up_ = true;
    clients_.let_in(socket_->take_listener());
    if (!options_.quiet) {
      std::fprintf(stderr,
                   "dlaunch: %s kept for your runs from this machine, until %s have passed "
                   "without one; dlaunch down ends it\n",
                   all.size() == 1 ? "1 node is" : (counted(all.size(), "node") + " are").c_str(),
                   wording::duration(options_.idle_limit).c_str());
    }
    redirect_to_null({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
    front_.started();
    nodes_.begin(monotonic_now());
    after_change();
  }

  void watch_signals() {
    auto fd = open_signal_fd({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
    if (!fd) return;
    signals_ = std::make_unique<WatchedFd>(loop_, std::move(*fd));
    signals_->on_readable([this] { end_with(exit_code::kOk); });
  }

  // ---- other processes of the user

  KeeperClients::Listener listener() {
    return {.on_message =
                [this](ClientId id, const ToKeeper& message) {
                  std::visit([&](const auto& one) { on(id, one); }, message);
                },
            .on_go_away = [this] { go_away(); },
            .on_gone = [this](ClientId id) { client_gone(id); }};
  }

  void client_gone(ClientId id) {
    listings_.erase(id);
    for (const std::size_t i : nodes_.client_gone(id, monotonic_now())) {
      Held& held = *held_[i];
      if (held.connection) drop(*std::exchange(held.connection, std::nullopt));
      held.was_connected = false;
    }
    after_change();
  }

  void say(ClientId client, const FromKeeper& message, std::vector<UniqueFd> descriptors = {}) {
    clients_.say(client, message, std::move(descriptors));
  }

  const KeeperOptions& options_;
  const std::vector<NodeTarget> targets_;
  EventLoop loop_;
  std::optional<KeeperSocket> socket_;
  KeptNodes nodes_;
  NodeConnector connector_;
  std::vector<std::unique_ptr<Held>> held_;        // as nodes_
  std::vector<std::unique_ptr<Session>> retired_;  // whose processes may not have ended
  std::vector<std::unique_ptr<ConnectionProcess>> dropped_;
  std::unique_ptr<WatchedFd> signals_;
  KeeperFront front_;
  KeeperClients clients_;
  std::set<ClientId> listings_;  // who awaits a list, while nodes are asked for their condition
  Timer listing_limit_;
  Timer timer_;
  Timer goodbye_;
  bool is_up_ = false;
  bool is_ending_ = false;
  std::string failures_;  // of the start, a line each
  int exit_code_ = exit_code::kOk;
};

}  // namespace

int keeper_main(const KeeperOptions& options, UniqueFd front_link) {
  take_all_signals();
  become_subreaper();
  set_process_title("dlaunch: keeper");
  redirect_to_null({STDIN_FILENO});
  auto targets = node_targets(options.spec, this_machine());
  if (!targets) return give_up(targets.error());
  auto socket = KeeperSocket::open();
  if (!socket) return give_up(socket.error());
  return Keeper(options, std::move(*targets), std::move(front_link), std::move(*socket)).run();
}

}  // namespace dlaunch
