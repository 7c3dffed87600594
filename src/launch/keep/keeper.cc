#include "launch/keep/keeper.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "launch/connect/node_targets.h"
#include "launch/keep/keeper_clients.h"
#include "launch/keep/keeper_front.h"
#include "launch/keep/keeper_socket.h"
#include "launch/keep/kept_agents.h"
#include "launch/keep/kept_nodes.h"
#include "launch/keep/kept_row.h"
#include "model/signal_names.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/process_title.h"
#include "os/signals.h"
#include "report/own_messages.h"
#include "supervise/wording.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// Time for the Byes at the end.
constexpr std::chrono::seconds kGoodbye{2};

int give_up(const Error& error) {
  std::fprintf(stderr, "dlaunch: %s\n", error.message.c_str());
  return error.exit_code;
}

class Keeper {
 public:
  Keeper(const KeeperOptions& options, std::vector<NodeTarget> targets, UniqueFd link,
         KeeperSocket socket)
      : options_(options),
        socket_(std::move(socket)),
        nodes_(options.idle_limit, monotonic_now()),
        agents_(loop_, options.spec, std::move(targets), agents_listener()),
        front_(loop_, std::move(link), agents_.connector(), [this](int code) { end_with(code); }),
        clients_(loop_, listener()),
        listing_limit_(loop_),
        timer_(loop_),
        goodbye_(loop_) {
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      const NodeTarget& target = agents_.target(i);
      nodes_.add(target.host.name, target_key(options.spec.connect, target), monotonic_now());
    }
  }

  int run() {
    watch_signals();
    if (options_.may_ask) front_.open_prompts();
    for (std::size_t i = 0; i < agents_.size(); ++i) agents_.connect(i);
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
  // ---- nodes

  KeptAgents::Listener agents_listener() {
    return {.on_answer = [this](std::size_t i) { connected(i); },
            .on_loss = [this](std::size_t i, const std::string& why) { lost(i, why); },
            .on_free = [this](std::size_t i) { lend(i); },
            .on_condition = [this] { answer_listings(); }};
  }

  void connected(std::size_t i) {
    nodes_.connected(i, monotonic_now());
    release_if_gone(i);
    after_change();
  }

  void lost(std::size_t i, const std::string& why) {
    refuse_holder(i, "was lost: " + why);
    if (!is_up_) failures_.push_back({agents_.target(i).host.name, why});
    nodes_.lost(i, why, monotonic_now());
    after_change();
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
      numbers_[*node] = number;
      agents_.part(*node);
    }
    after_change();
  }

  /// The node's agent waits for a Hello.
  void lend(std::size_t i) {
    if (!nodes_.lent(i, monotonic_now())) return rest(i);
    say(nodes_.nodes()[i].holder, Lent{numbers_[i]}, agents_.ends(i));
  }

  void refuse_holder(std::size_t i, const std::string& why) {
    const KeptNode& node = nodes_.nodes()[i];
    if (node.state == KeptNode::State::parting && node.holder != 0)
      say(node.holder, NotLent{numbers_[i], true, cut_for_packet(why)});
  }

  void on(ClientId client, const GiveBack& back) {
    for (const auto& [i, number] : numbers_) {
      if (number == back.number && nodes_.given_back(i, client, monotonic_now())) rest(i);
    }
    after_change();
  }

  /// Runs that follow each other find the agent as the run before has left it.
  void rest(std::size_t i) {
    agents_.rest(i);
    release_if_gone(i);
  }

  // ---- lists

  void on(ClientId client, const ListNodes&) {
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      agents_.forget_condition(i);
      if (is_idle(i)) agents_.ask_for_condition(i);
    }
    if (listings_.empty())
      listing_limit_.after(KeptAgents::kInspection + std::chrono::seconds(1),
                           [this] { answer_listings(true); });
    listings_.insert(client);
    answer_listings();
  }

  [[nodiscard]] bool is_idle(std::size_t i) const {
    return nodes_.nodes()[i].state == KeptNode::State::idle;
  }

  void answer_listings(bool at_once = false) {
    for (std::size_t i = 0; i < agents_.size() && !at_once; ++i) {
      if (is_idle(i) && !agents_.condition(i)) return;
    }
    listing_limit_.cancel();
    for (const ClientId client : std::exchange(listings_, {})) send_list(client);
  }

  void send_list(ClientId client) {
    const MonotonicTime now = monotonic_now();
    std::vector<KeptRow> rows;
    for (const std::size_t i : nodes_.by_host())
      rows.push_back(kept_row(nodes_.nodes()[i], agents_.condition(i), now));
    const auto end = nodes_.idle_end();
    for (const KeptList& list : kept_lists(std::move(rows), end ? *end - now : MonotonicTime(0)))
      say(client, list);
  }

  // ---- the end

  void on(ClientId client, const GiveUp& wish) {
    const KeptNodes::Farewell farewell = nodes_.give_up(wish.hosts, monotonic_now());
    say(client, GivenUp{farewell.hosts, farewell.in_use, nodes_.is_over(monotonic_now())});
    for (const std::size_t i : farewell.gone) release_if_gone(i);
    after_change();
  }

  void go_away() {
    for (const std::size_t i : nodes_.give_up({}, monotonic_now()).gone) release_if_gone(i);
    after_change();
  }

  void release_if_gone(std::size_t i) {
    if (nodes_.nodes()[i].state == KeptNode::State::gone) agents_.give_up(i);
  }

  void after_change() {
    const MonotonicTime now = monotonic_now();
    if (!is_up_) return look_whether_up();
    if (!is_ending_ && nodes_.is_over(now)) return end();
    for (const std::size_t other : nodes_.add_beside(now)) agents_.add_beside(other);
    for (const std::size_t i : nodes_.start(now)) agents_.connect(i);
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
    if (agents_.all_have_ended() || monotonic_now() >= limit) return loop_.stop();
    goodbye_.after(std::chrono::milliseconds(10), [this, limit] { look_whether_ended(limit); });
  }

  // ---- the start

  void end_with(int code) {
    if (exit_code_ == exit_code::kOk) exit_code_ = code;
    is_up_ = true;  // no further failure is reported
    front_.withdraw();
    end();
  }

  void look_whether_up() {
    const auto& all = nodes_.nodes();
    if (std::any_of(all.begin(), all.end(),
                    [](const KeptNode& node) { return node.state == KeptNode::State::connecting; }))
      return;
    if (!failures_.empty()) {
      std::fprintf(stderr, "dlaunch: cannot connect to all nodes, so none is kept:\n         %s\n",
                   trouble_text(failures_).c_str());
      return end_with(exit_code::kNodeLost);
    }
    if (const auto found = socket_->appear(); !found) return end_with(give_up(found.error()));
    is_up_ = true;
    clients_.let_in(socket_->take_listener());
    if (!options_.quiet) {
      std::fprintf(stderr,
                   "dlaunch: %s kept for your runs from this machine until %s have passed "
                   "without a run; dlaunch down ends this sooner\n",
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
    for (const std::size_t i : nodes_.client_gone(id, monotonic_now())) agents_.cut(i);
    after_change();
  }

  void say(ClientId client, const FromKeeper& message, std::vector<UniqueFd> descriptors = {}) {
    clients_.say(client, message, std::move(descriptors));
  }

  const KeeperOptions& options_;
  EventLoop loop_;
  std::optional<KeeperSocket> socket_;
  KeptNodes nodes_;
  KeptAgents agents_;                             // same indices as nodes_
  std::map<std::size_t, std::uint32_t> numbers_;  // the number by which a node's holder knows it
  std::unique_ptr<WatchedFd> signals_;
  KeeperFront front_;
  KeeperClients clients_;
  std::set<ClientId> listings_;  // await a list, while nodes are asked for their condition
  Timer listing_limit_;
  Timer timer_;
  Timer goodbye_;
  bool is_up_ = false;
  bool is_ending_ = false;
  std::vector<HostTrouble> failures_;  // of the start
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
