#include "launch/connect/node_connector.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <optional>

#include <unistd.h>

#include "launch/connect/node_opening.h"
#include "launch/connect/remote_script.h"
#include "launch/connect/shared_masters.h"
#include "node/session/attach.h"
#include "os/child_process.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "supervise/wording.h"

namespace dlaunch {

namespace {

constexpr std::size_t kReadSize = 4096;
// Time for an agent to answer over a shared connection, which is already logged in.
constexpr std::chrono::seconds kMasterLimit{3};

/// Ends a little before the caller's own limit, so that each host is reported with its own reason.
Duration limit_within(Duration timeout) {
  return timeout - std::min<Duration>(timeout / 20, std::chrono::milliseconds(500));
}

/// Shortly before our own limit, so that the connector reports the reason; it counts whole seconds,
/// and where rounding would take too much of the time, our limit comes first.
std::chrono::seconds connector_timeout(MonotonicTime left) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  const bool near_enough = left - whole < left / 10;
  return std::max(near_enough ? whole : whole + std::chrono::seconds(1), std::chrono::seconds(1));
}

bool is_about_asking(const std::string& entry) {
  return entry.starts_with("SSH_ASKPASS=") || entry.starts_with("SSH_ASKPASS_REQUIRE=");
}

/// The command as a user can type it on the node.
std::string staged_path(int folder, const std::string& build_id) {
  std::string path = kFolders[folder];
  if (const std::size_t at = path.rfind("UID"); at != std::string::npos)
    path.replace(at, 3, "$(id -u)");
  return path + '/' + build_id + "/dlaunch";
}

}  // namespace

struct NodeConnector::Answer {
  Opened done;
  Result<Connection> result;
};

NodeConnector::NodeConnector(EventLoop& loop, const std::vector<NodeTarget>& targets,
                             Settings settings)
    : loop_(loop),
      targets_(targets),
      settings_(std::move(settings)),
      queue_(static_cast<std::size_t>(std::max(settings_.connect.parallel, 1)), settings_.seed),
      timer_(loop),
      forwarding_(loop, binary_, settings_.timeout, settings_.serve,
                  [this](NodeId node, const std::string& order) { feed(node, order); }) {
  for (char** entry = environ; *entry != nullptr; ++entry) environment_.emplace_back(*entry);
  const auto is_remote = [](const NodeTarget& target) { return !target.is_local(); };
  if (std::any_of(targets_.begin(), targets_.end(), is_remote))
    raise_open_file_limit();  // each connection takes three descriptors
  for (const NodeTarget& target : targets_) {
    if (target.connector->prepare == nullptr) continue;
    host_options_ = target.connector->prepare(environment_);
    break;  // except for this machine, all targets have the same connector
  }
}

NodeConnector::~NodeConnector() {
  *alive_ = false;
}

const NodeTarget& NodeConnector::target_of(const Opening& opening) const {
  return targets_[opening.node.value];
}

std::vector<pid_t> NodeConnector::processes() const {
  std::vector<pid_t> pids;
  for (const auto& [node, opening] : openings_) {
    if (opening->process) pids.push_back(opening->process->pid());
  }
  for (const auto& [node, answer] : answers_) {
    if (answer->result && answer->result->process > 0) pids.push_back(answer->result->process);
  }
  return pids;
}

void NodeConnector::user_asked() {
  queue_.extend_all(monotonic_now() + limit_within(settings_.timeout));
  advance_soon();
}

void NodeConnector::open(NodeId node, Purpose purpose, Opened done, Duration timeout) {
  cancel(node);
  auto opening = std::make_unique<Opening>();
  opening->node = node;
  opening->purpose = purpose;
  opening->done = std::move(done);
  opening->timeout = timeout == Duration(0) ? settings_.timeout : timeout;
  opening->deadline = monotonic_now() + limit_within(opening->timeout);
  queue_.add(node, opening->deadline);
  openings_[node.value] = std::move(opening);
  advance_soon();
}

void NodeConnector::cancel(NodeId node) {
  queue_.over(node);
  forwarding_.over(node, false);
  openings_.erase(node.value);
  const auto unwanted = answers_.find(node.value);
  if (unwanted == answers_.end()) return;
  const Result<Connection>& made = unwanted->second->result;
  if (made && made->process > 0) ::kill(-made->process, SIGKILL);
  answers_.erase(unwanted);
}

/// Starts together what was requested in one turn of the event loop, and never answers from within
/// open().
void NodeConnector::advance_soon() {
  if (std::exchange(advance_posted_, true)) return;
  loop_.post([this, living = alive_] {
    if (!*living) return;
    advance_posted_ = false;
    advance();
  });
}

void NodeConnector::advance() {
  const MonotonicTime now = monotonic_now();
  for (const NodeId node : queue_.expire(now)) expire(node);
  for (const NodeId node : queue_.start(now)) begin(*openings_.at(node.value));
  const auto next = queue_.next();
  if (!next) return timer_.cancel();
  timer_.after(std::max(*next - monotonic_now(), MonotonicTime(0)), [this] { advance(); });
}

std::uint64_t NodeConnector::session_of(NodeId node) const {
  const auto found = sessions_.find(node);
  return found == sessions_.end() ? settings_.session : found->second;
}

RemoteAgent NodeConnector::agent_of(const Opening& opening) {
  const auto lost = lost_sessions_.find(opening.node);
  const auto own = binary_.bytes();  // mapped, not read
  return {settings_.build_id,
          own ? own->size() : 0,
          session_of(opening.node),
          opening.node.value,
          opening.purpose,
          settings_.pid_namespace,
          lost == lost_sessions_.end() ? 0 : lost->second};
}

Result<std::vector<std::string>> NodeConnector::argv_for(Opening& opening,
                                                         std::vector<std::string>& variables) {
  const auto& [host, connector] = target_of(opening);
  ConnectRequest request;
  request.remote_command = agent_script(agent_of(opening), opening.folder >= 0);
  request.session = session_of(opening.node);
  request.node = opening.node;
  request.pid_namespace = settings_.pid_namespace;
  request.old_program = opening.old_program = old_program_;
  request.master = opening.master;
  request.may_ask = connector->can_attach && prompts_ && opening.purpose == Purpose::fresh;
  if (request.may_ask) {
    std::erase_if(variables, is_about_asking);
    for (std::string& entry : prompts_(std::to_string(++process_count_)))
      variables.push_back(entry);
  }
  request.timeout = connector_timeout(opening.deadline - monotonic_now());
  if (const auto option = host_options_.find(host.name); option != host_options_.end())
    request.host_option = option->second;
  return connector->argv(settings_.connect, host, request);
}

void NodeConnector::begin(Opening& opening) {
  const MasterSupport* const support = target_of(opening).connector->master;
  // A shared connection may hang with the network that has just lost the node, so a connection
  // after a loss is not shared.
  const bool shares = support != nullptr && settings_.connect.persist.has_value() &&
                      opening.purpose == Purpose::fresh && !lost_sessions_.contains(opening.node);
  opening.master.clear();
  shares ? look_for_master(opening) : start(opening);
}

void NodeConnector::look_for_master(Opening& opening) {
  const auto known = masters_.find(opening.node);
  const std::string socket = known != masters_.end()
                                 ? known->second
                                 : master_socket(target_key(settings_.connect, target_of(opening)));
  const bool is_there = !socket.empty() && has_master(socket);
  // If a shared connection exists, the user's settings were checked when it was made.
  if (known == masters_.end() && !socket.empty() && !is_there) return ask_for_settings(opening);
  masters_[opening.node] = socket;
  opening.master = socket;
  if (is_there) {
    opening.master_limit = std::make_unique<Timer>(loop_);
    opening.master_limit->after(kMasterLimit, [this, &opening] { go_without_master(opening); });
  }
  start(opening);
}

void NodeConnector::ask_for_settings(Opening& opening) {
  const auto& [host, connector] = target_of(opening);
  auto process = ChildProcess::start(
      loop_, connector->master->settings_argv(settings_.connect, host), environment_);
  if (!process) return answer(opening.node, fail(exit_code::kNodeLost, process.error().message));
  opening.process = std::move(*process);
  opening.process->take_stdin().reset();
  opening.output = std::make_unique<WatchedFd>(loop_, opening.process->take_stdout());
  opening.process->on_end([this, &opening, connector = connector](std::optional<int>) {
    std::string settings;
    char bytes[kReadSize];
    for (ssize_t n = 0; (n = ::read(opening.output->get(), bytes, sizeof bytes)) > 0;)
      settings.append(bytes, static_cast<std::size_t>(n));
    // An ssh that prints no settings says why when it connects.
    const bool is_free = !settings.empty() && !connector->master->is_users_own(settings);
    masters_[opening.node] =
        is_free ? master_socket(target_key(settings_.connect, target_of(opening))) : "";
    opening.master = masters_[opening.node];
    drop(opening);
    start(opening);
  });
}

/// The shared connection does not answer, or the ssh that used it has ended.
void NodeConnector::go_without_master(Opening& opening) {
  masters_[opening.node].clear();
  next_step(opening);
}

void NodeConnector::start(Opening& opening) {
  std::vector<std::string> variables = environment_;
  const auto argv = argv_for(opening, variables);
  if (!argv) return answer(opening.node, tl::unexpected(argv.error()));
  auto process = ChildProcess::start(loop_, *argv, variables);
  if (!process) return answer(opening.node, fail(exit_code::kNodeLost, process.error().message));
  opening.process = std::move(*process);
  opening.opening.emplace(session_of(opening.node));
  opening.input = opening.process->take_stdin();
  opening.output = std::make_unique<WatchedFd>(loop_, opening.process->take_stdout());
  opening.process->on_end([this, &opening](std::optional<int> status) {
    process_ended(opening, status.value_or(0));  // nothing else reaps it
  });
  watch_output(opening);
}

void NodeConnector::watch_output(Opening& opening) {
  opening.output->on_readable([this, &opening] { read_output(opening); });
}

void NodeConnector::read_output(Opening& opening) {
  char bytes[kReadSize];
  const ssize_t n = ::read(opening.output->get(), bytes, sizeof bytes);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    opening.output.reset();  // the end of the process gives the reason
    return;
  }
  const auto found_now =
      n < 0 ? ChannelOpening::Found::nothing
            : opening.opening->feed(std::string_view(bytes, static_cast<std::size_t>(n)));
  if (found_now != ChannelOpening::Found::nothing) return found(opening);
  if (opening.upload) opening.upload->taken(opening.opening->parts_taken());
  watch_output(opening);
}

void NodeConnector::found(Opening& opening) {
  using Found = ChannelOpening::Found;
  opening.master_limit.reset();
  switch (opening.opening->found()) {
    case Found::nothing:
      return;
    case Found::ready:
      return hand_over(opening);
    case Found::missing:
      return needs_binary(opening);
    case Found::gone:
      return answer(opening.node, fail(kSessionGone, opening.opening->argument()));
    case Found::hidden:
      return answer(opening.node, fail(kSessionHidden, opening.opening->argument()));
    case Found::unfetched:
      return has_not_fetched(opening);
    case Found::failed:
      return not_staged(opening);
    case Found::too_much:
      return answer(opening.node,
                    fail(exit_code::kNodeLost,
                         "its shell printed more than 64 KiB before the agent could start; the "
                         "last line was: " +
                             opening.opening->last_banner_line()));
  }
}

ConnectEnd NodeConnector::end_of(Opening& opening, int status) const {
  const auto& [host, connector] = target_of(opening);
  return {status,
          connector->program(settings_.connect),
          opening.process->errors(),
          opening.opening ? opening.opening->last_banner_line() : "",
          opening.opening && opening.opening->started(),
          connector->by_hand == nullptr ? "" : connector->by_hand(settings_.connect, host),
          opening.old_program};
}

void NodeConnector::hand_over(Opening& opening) {
  forwarding_.over(opening.node, true);
  Connection connection;
  connection.read = duplicate(opening.output->get());
  connection.write = std::move(opening.input);
  connection.process = opening.process->pid();
  connection.early = opening.opening->rest();
  const Connector* connector = target_of(opening).connector;
  connection.remote = connector->can_attach;
  opening.process->release();
  connection.last_words = [process = opening.process, connector,
                           program = connector->program(settings_.connect)](int status) {
    return connector->end({status, program, process->errors(), ""});
  };
  if (!connection.read) {
    return answer(opening.node,
                  fail(exit_code::kNodeLost, "too many open files (raise ulimit -n)"));
  }
  answer(opening.node, std::move(connection));
}

/// Starts another process for the same opening, which keeps its place in the queue.
void NodeConnector::next_step(Opening& opening) {
  drop(opening);
  loop_.post([this, living = alive_, node = opening.node, asked = opening.deadline] {
    if (!*living) return;
    const auto found = openings_.find(node.value);
    if (found != openings_.end() && found->second->deadline == asked) begin(*found->second);
  });
}

void NodeConnector::process_ended(Opening& opening, int status) {
  // Its last output is still in the pipe.
  while (opening.output && opening.opening->found() == ChannelOpening::Found::nothing) {
    char bytes[kReadSize];
    const ssize_t n = ::read(opening.output->get(), bytes, sizeof bytes);
    if (n <= 0) break;
    (void)opening.opening->feed(std::string_view(bytes, static_cast<std::size_t>(n)));
  }
  using Found = ChannelOpening::Found;
  const Found what = opening.opening->found();
  // If the agent has ended already, its session reports that better than this could. A shell
  // without a binary should have waited for it.
  if (what != Found::nothing && what != Found::ready && what != Found::missing &&
      what != Found::unfetched)
    return found(opening);
  const ConnectFailure failure = target_of(opening).connector->failure(end_of(opening, status));
  using Kind = ConnectFailure::Kind;
  if (!opening.master.empty() && failure.kind == Kind::final) return go_without_master(opening);
  if (failure.kind == Kind::too_old) {
    old_program_ = true;
    return next_step(opening);
  }
  if (failure.kind == Kind::refused_for_now) {
    opening.trouble = failure.text;
    drop(opening);
    queue_.refused(opening.node, monotonic_now());
    return advance_soon();
  }
  if (failure.kind == Kind::cannot_execute) {
    if (opening.folder < 0) {
      opening.folder = 0;
      return next_step(opening);
    }
    return answer(opening.node,
                  fail(exit_code::kNodeLost, failure.text + "; try on the node: " +
                                                 staged_path(opening.folder, settings_.build_id) +
                                                 " --version"));
  }
  answer(opening.node, fail(exit_code::kNodeLost, failure.text));
}

void NodeConnector::drop(Opening& opening) {
  forwarding_.over(opening.node, false);
  opening.staging = opening.is_fetching = false;
  opening.master_limit.reset();
  opening.upload.reset();
  opening.output.reset();
  opening.input.reset();
  opening.process.reset();
}

void NodeConnector::answer(NodeId node, Result<Connection> result) {
  const auto found = openings_.find(node.value);
  if (found == openings_.end()) return;
  auto& mine = answers_[node.value];
  mine = std::make_unique<Answer>(Answer{std::move(found->second->done), std::move(result)});
  drop(*found->second);
  // Its callbacks may be on the stack.
  const std::shared_ptr<Opening> over(std::move(found->second));
  openings_.erase(found);
  queue_.over(node);
  advance_soon();
  // In a later turn: the caller may call open() again, or cancel().
  loop_.post([this, living = alive_, node, over, which = mine.get()] {
    if (*living) give(node, which);
  });
}

void NodeConnector::give(NodeId node, const Answer* which) {
  const auto found = answers_.find(node.value);
  if (found == answers_.end() || found->second.get() != which) return;
  const std::unique_ptr<Answer> mine = std::move(found->second);
  answers_.erase(found);
  mine->done(std::move(mine->result));
}

void NodeConnector::expire(NodeId node) {
  Opening& opening = *openings_.at(node.value);
  const std::string why =
      opening.process ? why_late(end_of(opening, 0), opening.staging) : opening.trouble;
  answer(node,
         fail(exit_code::kNodeLost, "no connection within " + wording::duration(opening.timeout) +
                                        (why.empty() ? "" : ": " + why)));
}

}  // namespace dlaunch
