#include "launch/connect/node_connector.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include <sys/utsname.h>
#include <unistd.h>

#include "agent/session/attach.h"
#include "launch/connect/channel_opening.h"
#include "launch/connect/connect_failure.h"
#include "launch/connect/connect_queue.h"
#include "launch/connect/own_binary.h"
#include "launch/connect/remote_script.h"
#include "launch/connect/ssh_command.h"
#include "launch/connect/ssh_process.h"
#include "launch/slurm/srun.h"
#include "os/clock.h"
#include "supervise/wording.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr std::size_t kReadSize = 4096;
constexpr std::size_t kWriteSize = 256 * 1024;

/// Before the limit of whoever waits for us, so that each host is told of in its own words.
Duration limit_within(Duration timeout) {
  return timeout - std::min<Duration>(timeout / 20, std::chrono::milliseconds(500));
}

/// Shortly before our own limit, so that the words are ssh's; it counts whole seconds, and where
/// that would take too much of the time, ours comes first.
std::chrono::seconds ssh_timeout(MonotonicTime left) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  const bool near_enough = left - whole < left / 10;
  return std::max(near_enough ? whole : whole + std::chrono::seconds(1), std::chrono::seconds(1));
}

bool is_about_asking(const std::string& entry) {
  return entry.starts_with("SSH_ASKPASS=") || entry.starts_with("SSH_ASKPASS_REQUIRE=");
}

std::string architecture() {
  utsname system{};
  ::uname(&system);
  return system.machine;
}

/// A guardian and agent on this machine, as on another node but without a shell. The file at the
/// path may be another build by now, /proc/self/exe is not; but its name is what `ps` would show.
std::vector<std::string> local_agent(std::uint64_t session, NodeIndex node, bool pid_namespace) {
  const std::string own = "/proc/self/exe";
  std::error_code unknown;
  const std::string path = std::filesystem::read_symlink(own, unknown).string();
  const bool same = !unknown && std::filesystem::equivalent(path, own, unknown);
  std::vector<std::string> argv = {same ? path : own,     "agent",  "--session",
                                   session_text(session), "--node", std::to_string(node.value)};
  if (pid_namespace) argv.emplace_back("--pid-namespace");
  return argv;
}

/// The command as a user can type it on the node.
std::string staged_path(int place, const std::string& build_id) {
  std::string folder = kPlaces[place];
  if (const std::size_t at = folder.rfind("UID"); at != std::string::npos)
    folder.replace(at, 3, "$(id -u)");
  return folder + '/' + build_id + "/dlaunch";
}

std::string said(const std::string& errors) {
  const std::string line = telling_line(errors);
  return line.empty() ? "" : ": " + line;
}

/// One channel that is being opened, over as many ssh processes as it takes.
struct Opening {
  NodeIndex node;
  Purpose purpose = Purpose::fresh;
  NodeConnector::Opened done;
  MonotonicTime deadline{};
  Duration timeout{};

  enum class Step { agent, upload };
  Step step = Step::agent;
  int place = -1;                    // where the binary was put, or is being put
  std::string trouble;               // why earlier tries did not succeed
  bool without_new_options = false;  // SshRequest::old_ssh of this ssh
  std::shared_ptr<SshProcess> process;
  UniqueFd input;  // its stdin, while nothing is uploaded
  std::unique_ptr<WatchedFd> upload;
  std::size_t uploaded = 0;
  std::unique_ptr<WatchedFd> output;
  std::optional<ChannelOpening> opening;
};

struct Answer {
  NodeConnector::Opened done;
  Result<Connection> result;
};

}  // namespace

struct NodeConnector::State {
  State(EventLoop& event_loop, const std::vector<NodeTarget>& node_targets, Settings its)
      : loop(event_loop),
        targets(node_targets),
        settings(std::move(its)),
        queue(static_cast<std::size_t>(std::max(settings.connect.parallel, 1)), settings.seed),
        timer(loop) {
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    if (settings.connect.via != Connect::Via::slurm) return;
    gpus_of_steps = step_gpus(environment_from_block(environ));
    prepare_for_srun(environment);
  }

  void open(NodeIndex node, Purpose purpose, Opened done, Duration timeout);
  void cancel(NodeIndex node);
  void advance_soon();
  void advance();
  void begin(Opening& opening);
  void begin_upload(Opening& opening);
  void watch_output(Opening& opening);
  void watch_upload(Opening& opening);
  void read_output(Opening& opening);
  void write_upload(Opening& opening);
  void found(Opening& opening);
  void hand_over(Opening& opening);
  void needs_binary(Opening& opening);
  void stage(Opening& opening);
  void not_staged(Opening& opening);
  void process_ended(Opening& opening, int status);
  void next_step(Opening& opening);
  void answer(NodeIndex node, Result<Connection> result);
  void give(NodeIndex node, const Answer* which);
  void expire(NodeIndex node);
  void drop(Opening& opening);
  [[nodiscard]] std::uint64_t session_of(NodeIndex node) const;
  [[nodiscard]] bool is_local(NodeIndex node) const;
  [[nodiscard]] Result<std::vector<std::string>> argv_for(Opening& opening,
                                                          std::vector<std::string>& variables);
  [[nodiscard]] ConnectEnd end_of(Opening& opening, int status) const;
  [[nodiscard]] std::string command_for(const Opening& opening);

  EventLoop& loop;
  const std::vector<NodeTarget>& targets;
  Settings settings;
  std::vector<std::string> environment;
  std::map<std::string, int> gpus_of_steps;
  NodeConnector::Prompts prompts;
  std::uint64_t processes = 0;
  ConnectQueue queue;
  Timer timer;
  OwnBinary binary;
  std::map<std::uint32_t, std::unique_ptr<Opening>> openings;
  std::map<std::uint32_t, std::unique_ptr<Answer>> answers;  // to be given in this turn's end
  std::map<NodeIndex, std::uint64_t> sessions;       // where another one than that of the settings
  std::map<NodeIndex, std::uint64_t> lost_sessions;  // the last one, where one was lost
  bool advance_posted = false;
  bool old_ssh = false;  // set when the first ssh refuses an option
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

NodeConnector::NodeConnector(EventLoop& loop, const std::vector<NodeTarget>& targets,
                             Settings settings)
    : state_(std::make_unique<State>(loop, targets, std::move(settings))) {}

NodeConnector::~NodeConnector() {
  *state_->alive = false;
}

void NodeConnector::open(NodeIndex node, Purpose purpose, Opened done, Duration timeout) {
  state_->open(node, purpose, std::move(done), timeout);
}

void NodeConnector::cancel(NodeIndex node) {
  state_->cancel(node);
}

void NodeConnector::set_session(NodeIndex node, std::uint64_t session) {
  state_->sessions[node] = session;
}

void NodeConnector::set_lost_session(NodeIndex node, std::uint64_t session) {
  state_->lost_sessions[node] = session;
}

std::vector<pid_t> NodeConnector::processes() const {
  std::vector<pid_t> pids;
  for (const auto& [node, opening] : state_->openings) {
    if (opening->process) pids.push_back(opening->process->pid());
  }
  for (const auto& [node, answer] : state_->answers) {
    if (answer->result && answer->result->process > 0) pids.push_back(answer->result->process);
  }
  return pids;
}

void NodeConnector::set_prompts(Prompts environment) {
  state_->prompts = std::move(environment);
}

void NodeConnector::user_asked() {
  state_->queue.extend_all(monotonic_now() + limit_within(state_->settings.timeout));
  state_->advance_soon();
}

void NodeConnector::State::open(NodeIndex node, Purpose purpose, Opened done, Duration timeout) {
  cancel(node);
  auto opening = std::make_unique<Opening>();
  opening->node = node;
  opening->purpose = purpose;
  opening->done = std::move(done);
  opening->timeout = timeout == Duration(0) ? settings.timeout : timeout;
  opening->deadline = monotonic_now() + limit_within(opening->timeout);
  queue.add(node, opening->deadline);
  openings[node.value] = std::move(opening);
  advance_soon();
}

void NodeConnector::State::cancel(NodeIndex node) {
  queue.over(node);
  openings.erase(node.value);
  const auto unwanted = answers.find(node.value);
  if (unwanted == answers.end()) return;
  const Result<Connection>& made = unwanted->second->result;
  if (made && made->process > 0) ::kill(-made->process, SIGKILL);
  answers.erase(unwanted);
}

/// All that are asked for in one turn of the loop are begun together, and nobody is answered from
/// within open().
void NodeConnector::State::advance_soon() {
  if (std::exchange(advance_posted, true)) return;
  loop.post([this, living = alive] {
    if (!*living) return;
    advance_posted = false;
    advance();
  });
}

void NodeConnector::State::advance() {
  const MonotonicTime now = monotonic_now();
  for (const NodeIndex node : queue.expire(now)) expire(node);
  for (const NodeIndex node : queue.start(now)) begin(*openings.at(node.value));
  const auto next = queue.next();
  if (!next) return timer.cancel();
  timer.after(std::max(*next - monotonic_now(), MonotonicTime(0)), [this] { advance(); });
}

std::uint64_t NodeConnector::State::session_of(NodeIndex node) const {
  const auto found = sessions.find(node);
  return found == sessions.end() ? settings.session : found->second;
}

bool NodeConnector::State::is_local(NodeIndex node) const {
  return targets[node.value].way == NodeTarget::Way::fork;
}

std::string NodeConnector::State::command_for(const Opening& opening) {
  const std::uint64_t session = session_of(opening.node);
  if (opening.step == Opening::Step::upload) {
    return stage_script(settings.build_id, session, binary.bytes()->size(),
                        static_cast<std::size_t>(opening.place));
  }
  const auto lost = lost_sessions.find(opening.node);
  const auto own = binary.bytes();  // mapped, not read
  return agent_script(
      {settings.build_id, own ? own->size() : 0, session, opening.node.value, opening.purpose,
       settings.pid_namespace, lost == lost_sessions.end() ? 0 : lost->second},
      opening.place);
}

Result<std::vector<std::string>> NodeConnector::State::argv_for(
    Opening& opening, std::vector<std::string>& variables) {
  if (is_local(opening.node))
    return local_agent(session_of(opening.node), opening.node, settings.pid_namespace);
  SshRequest request;
  request.old_ssh = opening.without_new_options = old_ssh;
  request.remote_command = command_for(opening);
  request.may_ask = prompts && opening.purpose == Purpose::fresh;
  if (request.may_ask) {
    std::erase_if(variables, is_about_asking);
    for (std::string& entry : prompts(std::to_string(++processes))) variables.push_back(entry);
  }
  request.connect_timeout = ssh_timeout(opening.deadline - monotonic_now());
  const HostSpec& host = targets[opening.node.value].host;
  if (const auto gpus = gpus_of_steps.find(host.name); gpus != gpus_of_steps.end())
    request.step_gpus = gpus->second;
  return connect_command(settings.connect, host, request);
}

void NodeConnector::State::begin(Opening& opening) {
  std::vector<std::string> variables = environment;
  const auto argv = argv_for(opening, variables);
  if (!argv) return answer(opening.node, tl::unexpected(argv.error()));
  auto process = SshProcess::start(loop, *argv, variables);
  if (!process) return answer(opening.node, tl::unexpected(process.error()));
  opening.process = std::move(*process);
  opening.opening.emplace(session_of(opening.node));
  opening.input = opening.process->take_stdin();
  opening.output = std::make_unique<WatchedFd>(loop, opening.process->take_stdout());
  opening.process->on_end([this, &opening](int status) { process_ended(opening, status); });
  watch_output(opening);
  if (opening.step == Opening::Step::upload) begin_upload(opening);
}

void NodeConnector::State::begin_upload(Opening& opening) {
  opening.uploaded = 0;
  opening.upload = std::make_unique<WatchedFd>(loop, std::move(opening.input));
  watch_upload(opening);
}

void NodeConnector::State::watch_upload(Opening& opening) {
  opening.upload->on_writable([this, &opening] { write_upload(opening); });
}

void NodeConnector::State::write_upload(Opening& opening) {
  const std::string_view bytes = *binary.bytes();
  const std::size_t size = std::min(bytes.size() - opening.uploaded, kWriteSize);
  const ssize_t n = ::write(opening.upload->get(), bytes.data() + opening.uploaded, size);
  if (n > 0) opening.uploaded += static_cast<std::size_t>(n);
  const bool wait = n >= 0 || errno == EAGAIN || errno == EINTR;
  // Whoever does not take it has said, or will say, why.
  if (!wait || opening.uploaded == bytes.size()) return opening.upload.reset();
  watch_upload(opening);
}

void NodeConnector::State::watch_output(Opening& opening) {
  opening.output->on_readable([this, &opening] { read_output(opening); });
}

void NodeConnector::State::read_output(Opening& opening) {
  char bytes[kReadSize];
  const ssize_t n = ::read(opening.output->get(), bytes, sizeof bytes);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    opening.output.reset();  // the end of the process says why
    return;
  }
  const auto found_now =
      n < 0 ? ChannelOpening::Found::nothing
            : opening.opening->feed(std::string_view(bytes, static_cast<std::size_t>(n)));
  if (found_now == ChannelOpening::Found::nothing) return watch_output(opening);
  found(opening);
}

void NodeConnector::State::found(Opening& opening) {
  using Found = ChannelOpening::Found;
  switch (opening.opening->found()) {
    case Found::nothing:
      return;
    case Found::ready:
      return hand_over(opening);
    case Found::missing:
      return needs_binary(opening);
    case Found::staged:
      opening.step = Opening::Step::agent;
      return next_step(opening);
    case Found::gone:
      return answer(opening.node, fail(kSessionGone, opening.opening->argument()));
    case Found::hidden:
      return answer(opening.node, fail(kSessionHidden, opening.opening->argument()));
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

ConnectEnd NodeConnector::State::end_of(Opening& opening, int status) const {
  const std::string by_hand =
      is_local(opening.node) ? ""
                             : line_by_hand(settings.connect, targets[opening.node.value].host);
  return {status,
          program_of(settings.connect),
          opening.process->errors(),
          opening.opening->last_banner_line(),
          opening.opening->started(),
          by_hand};
}

void NodeConnector::State::hand_over(Opening& opening) {
  Connection connection;
  connection.read = duplicate(opening.output->get());
  connection.write = std::move(opening.input);
  connection.process = opening.process->pid();
  connection.early = opening.opening->rest();
  connection.remote = !is_local(opening.node);
  opening.process->release();
  connection.last_words = [process = opening.process, program = program_of(settings.connect),
                           remote = connection.remote](int status) {
    return remote ? end_of_connection({status, program, process->errors(), ""}) : std::string();
  };
  if (!connection.read) {
    return answer(opening.node, fail(exit_code::kNodeLost, "too many open files (ulimit -n)"));
  }
  answer(opening.node, std::move(connection));
}

void NodeConnector::State::needs_binary(Opening& opening) {
  const std::string there = opening.opening->argument();
  if (there != architecture()) {
    return answer(opening.node, fail(exit_code::kNodeLost,
                                     "its processor is " + there + ", this dlaunch is for " +
                                         architecture() + "; all nodes must be of one kind"));
  }
  if (opening.place >= 0) {
    return answer(opening.node, fail(exit_code::kNodeLost,
                                     std::string("what was put into ") + kPlaces[opening.place] +
                                         " is not there in the next connection"));
  }
  stage(opening);
}

void NodeConnector::State::stage(Opening& opening) {
  if (const auto bytes = binary.bytes(); !bytes)
    return answer(opening.node, tl::unexpected(bytes.error()));
  opening.step = Opening::Step::upload;
  opening.place = 0;
  next_step(opening);
}

void NodeConnector::State::not_staged(Opening& opening) {
  const std::string why = opening.opening->argument();
  // Of the agent itself; nothing was to be staged.
  if (opening.step == Opening::Step::agent)
    return answer(opening.node, fail(exit_code::kNodeLost, why));
  opening.trouble += (opening.trouble.empty() ? "" : "; ") + why;
  if (opening.step == Opening::Step::upload &&
      static_cast<std::size_t>(opening.place) + 1 < kPlaceCount) {
    ++opening.place;
    return next_step(opening);
  }
  answer(opening.node,
         fail(exit_code::kNodeLost, "no folder there takes a program: " + opening.trouble));
}

/// Another ssh for the same opening, in the same place of the queue.
void NodeConnector::State::next_step(Opening& opening) {
  drop(opening);
  loop.post([this, living = alive, node = opening.node, asked = opening.deadline] {
    if (!*living) return;
    const auto found = openings.find(node.value);
    if (found != openings.end() && found->second->deadline == asked) begin(*found->second);
  });
}

void NodeConnector::State::process_ended(Opening& opening, int status) {
  // What it said last is still in the pipe.
  while (opening.output && opening.opening->found() == ChannelOpening::Found::nothing) {
    char bytes[kReadSize];
    const ssize_t n = ::read(opening.output->get(), bytes, sizeof bytes);
    if (n <= 0) break;
    (void)opening.opening->feed(std::string_view(bytes, static_cast<std::size_t>(n)));
  }
  using Found = ChannelOpening::Found;
  const Found what = opening.opening->found();
  // An agent that has ended already is a channel that has: its session tells better.
  if (what != Found::nothing && what != Found::ready) return found(opening);
  if (is_local(opening.node)) {
    return answer(opening.node, fail(exit_code::kNodeLost, "its agent ended before it was ready" +
                                                               said(opening.process->errors())));
  }
  if (!opening.without_new_options && is_too_new_an_option(opening.process->errors())) {
    old_ssh = true;
    return next_step(opening);
  }
  const ConnectFailure failure = failure_of(end_of(opening, status));
  using Kind = ConnectFailure::Kind;
  if (failure.kind == Kind::refused_for_now) {
    opening.trouble = failure.text;
    drop(opening);
    queue.refused(opening.node, monotonic_now());
    return advance_soon();
  }
  if (failure.kind == Kind::cannot_execute && opening.step == Opening::Step::agent) {
    if (opening.place < 0) return stage(opening);
    return answer(opening.node,
                  fail(exit_code::kNodeLost, failure.text + "; try there: " +
                                                 staged_path(opening.place, settings.build_id) +
                                                 " --version"));
  }
  answer(opening.node, fail(exit_code::kNodeLost, failure.text));
}

void NodeConnector::State::drop(Opening& opening) {
  opening.upload.reset();
  opening.output.reset();
  opening.input.reset();
  opening.process.reset();
}

void NodeConnector::State::answer(NodeIndex node, Result<Connection> result) {
  const auto found = openings.find(node.value);
  if (found == openings.end()) return;
  auto& mine = answers[node.value];
  mine = std::make_unique<Answer>(Answer{std::move(found->second->done), std::move(result)});
  drop(*found->second);
  // Callbacks of it may be under way above us.
  const std::shared_ptr<Opening> over(std::move(found->second));
  openings.erase(found);
  queue.over(node);
  advance_soon();
  // In a later turn: the one who asked may ask again, or cancel.
  loop.post([this, living = alive, node, over, which = mine.get()] {
    if (*living) give(node, which);
  });
}

void NodeConnector::State::give(NodeIndex node, const Answer* which) {
  const auto found = answers.find(node.value);
  if (found == answers.end() || found->second.get() != which) return;
  const std::unique_ptr<Answer> mine = std::move(found->second);
  answers.erase(found);
  mine->done(std::move(mine->result));
}

void NodeConnector::State::expire(NodeIndex node) {
  Opening& opening = *openings.at(node.value);
  std::string what = "no connection within " + wording::duration(opening.timeout);
  if (!opening.process) {
    if (!opening.trouble.empty()) what += ": " + opening.trouble;
  } else if (opening.step == Opening::Step::upload) {
    what += ": dlaunch itself was still being copied there";
  } else if (const std::string line = telling_line(opening.process->errors()); !line.empty()) {
    what += ": " + line;
  } else if (opening.opening->started()) {
    what += ": dlaunch was started there and does not answer";
  } else if (const std::string said = opening.opening->last_banner_line(); !said.empty()) {
    what += ": its login shell has printed \"" + said + "\" and does not go on";
  } else {
    what += ": the host does not answer, or its login shell does not go on";
  }
  answer(node, fail(exit_code::kNodeLost, what));
}

}  // namespace dlaunch
