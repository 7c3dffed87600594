#include "launch/keep/kept_agents.h"

#include <algorithm>
#include <utility>

#include "os/build_id.h"
#include "os/descriptors.h"
#include "os/random.h"

namespace dlaunch {

namespace {

// Time for a dropped connection to say why it ended.
constexpr Duration kEndOfConnection = std::chrono::seconds(2);
// A run does not wait longer than this for a free agent (kept_connections.cc).
constexpr std::chrono::seconds kPartingLimit{1};
// Less than an agent waits between sessions (cli/agent_command.cc).
constexpr std::chrono::seconds kRest{3};

/// A kept connection needs no shared one beside it.
Connect without_persist(Connect connect) {
  connect.persist.reset();
  return connect;
}

wire::Inspect question(bool gpus) {
  wire::Inspect question;
  question.gpus = gpus;
  question.collectives = false;
  question.limit_ms = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(KeptAgents::kInspection).count());
  return question;
}

}  // namespace

KeptAgents::KeptAgents(EventLoop& loop, const JobSpec& spec, std::vector<NodeTarget> targets,
                       Listener listener)
    : loop_(loop),
      spec_(spec),
      listener_(std::move(listener)),
      targets_(std::move(targets)),
      connector_(loop_, targets_,
                 {without_persist(spec.connect), random_number(), false, spec.timeouts.connect,
                  own_build_id(), random_number(),
                  spec.stage_via == StageVia::launcher
                      ? nullptr
                      : NodeConnector::Serve([this](NodeId node, const wire::ServeProgram& order) {
                          return serve(node, order);
                        })}) {
  for (std::size_t i = 0; i < targets_.size(); ++i) held_.push_back(std::make_unique<Held>(loop_));
}

bool KeptAgents::serve(NodeId node, const wire::ServeProgram& order) {
  const auto& session = held_[node.value]->session;
  if (!session || session->ended()) return false;
  session->send(order);
  return true;
}

void KeptAgents::add_beside(std::size_t other) {
  NodeTarget target = targets_[other];
  targets_.push_back(std::move(target));
  held_.push_back(std::make_unique<Held>(loop_));
}

void KeptAgents::connect(std::size_t i) {
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

Session::Settings KeptAgents::settings(std::size_t i, bool is_kept) {
  const NodeId node(static_cast<std::uint32_t>(i));
  Session::Settings settings{targets_[i].host.name, held_[i]->last_session,
                             spec_.timeouts.fence_after, spec_.timeouts.lost_after};
  settings.way_back = {.open =
                           [this, node](Reconnection::Opened done, Duration limit) {
                             connector_.open(node, Purpose::attach, std::move(done), limit);
                           },
                       .cancel = [this, node] { connector_.cancel(node); }};
  settings.codes_are_its_own = targets_[i].connector->own_exit_codes;
  settings.is_kept = is_kept;
  return settings;
}

void KeptAgents::begin_session(std::size_t i, Connection connection, bool is_kept) {
  Held& held = *held_[i];
  const NodeId node(static_cast<std::uint32_t>(i));
  if (is_kept) {
    held.last_session = random_number();
    connector_.set_session(node, held.last_session);
  }
  const auto is_present = [this, i, id = held.last_session] {
    return held_[i]->last_session == id && held_[i]->session != nullptr;
  };
  retire(i);
  held.session = std::make_unique<Session>(
      loop_, node, std::move(connection), settings(i, is_kept),
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
  // A new agent counts only once it has answered; a kept one has answered before.
  is_kept ? answered(i) : held.session->send(question(false));
}

void KeptAgents::hear(std::size_t i, const wire::FromAgent& message) {
  const auto* inspected = std::get_if<wire::Inspected>(&message);
  if (inspected == nullptr) return;
  if (!held_[i]->was_connected) return answered(i);
  held_[i]->condition = inspected->condition;
  listener_.on_condition();
}

void KeptAgents::answered(std::size_t i) {
  held_[i]->was_connected = true;
  listener_.on_answer(i);
}

void KeptAgents::lost(std::size_t i, const std::string& why) {
  // A session that has not ended would go on connecting to its agent, instead of a new one.
  if (const auto& session = held_[i]->session) session->abandon();
  retire(i);
  cut(i);
  listener_.on_loss(i, why);
}

void KeptAgents::cut(std::size_t i) {
  Held& held = *held_[i];
  if (held.connection) drop(*std::exchange(held.connection, std::nullopt));
  held.was_connected = false;
}

/// The session's processes end by themselves or are killed; the session is not destroyed from
/// inside one of its callbacks.
void KeptAgents::retire(std::size_t i) {
  Held& held = *held_[i];
  if (!held.session) return;
  held.limit.cancel();
  held.is_parting = false;
  connector_.has_no_agent(NodeId(static_cast<std::uint32_t>(i)));
  retired_.push_back(std::move(held.session));
  std::erase_if(retired_, [](const auto& one) { return one->ended() && one->processes().empty(); });
}

/// Ends a connection that no session uses any more.
void KeptAgents::drop(Connection connection) {
  auto process = std::make_unique<ConnectionProcess>(loop_, connection.process, true,
                                                     std::move(connection.last_words));
  process->kill();
  process->wait_for_end(kEndOfConnection, [](const ConnectionEnd&) {});
  std::erase_if(dropped_, [](const auto& one) { return one->pid() == 0; });
  dropped_.push_back(std::move(process));
}

void KeptAgents::part(std::size_t i) {
  Held& held = *held_[i];
  held.limit.cancel();
  if (!held.session) return listener_.on_free(i);
  held.is_parting = true;
  connector_.has_no_agent(NodeId(static_cast<std::uint32_t>(i)));
  held.session->release(true);
  held.limit.after(kPartingLimit, [this, i] { lost(i, "its agent did not answer"); });
}

/// The agent has said that it waits for another Hello, or that it goes.
void KeptAgents::parted(std::size_t i) {
  Held& held = *held_[i];
  auto connection = held.session->take_connection();
  if (held.is_parting && !connection) return lost(i, "its agent ended");
  for (const pid_t process : held.session->processes()) {  // of a node that was given up
    Connection over;
    over.process = process;
    drop(std::move(over));
  }
  retire(i);
  if (!connection) return;
  held.connection = std::move(connection);
  listener_.on_free(i);
}

std::vector<UniqueFd> KeptAgents::ends(std::size_t i) const {
  const Connection& connection = *held_[i]->connection;
  std::vector<UniqueFd> ends;
  ends.push_back(duplicate(connection.read.get()));
  ends.push_back(duplicate(connection.write.get()));
  return ends;
}

void KeptAgents::rest(std::size_t i) {
  held_[i]->limit.after(kRest, [this, i] { end_rest(i); });
}

void KeptAgents::end_rest(std::size_t i) {
  Held& held = *held_[i];
  if (!held.session && held.connection)
    begin_session(i, *std::exchange(held.connection, std::nullopt), true);
}

void KeptAgents::give_up(std::size_t i) {
  connector_.cancel(NodeId(static_cast<std::uint32_t>(i)));
  end_rest(i);
  if (held_[i]->session) held_[i]->session->release();
}

bool KeptAgents::all_have_ended() const {
  return std::all_of(held_.begin(), held_.end(),
                     [](const auto& held) { return !held->session || held->session->ended(); });
}

void KeptAgents::ask_for_condition(std::size_t i) {
  end_rest(i);
  held_[i]->session->send(question(true));
}

}  // namespace dlaunch
