#include "node/preemption/preemption_watch.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "node/preemption/notice.h"
#include "node/ranks/carried_environment.h"
#include "node/ranks/environment_block.h"
#include "node/terminals/beside_program.h"
#include "os/clock.h"
#include "os/job_tree.h"
#include "os/spawn.h"
#include "text/duration_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostKilled = 1000;
constexpr std::size_t kMostSaid = std::size_t{64} << 10;
constexpr int kReadsPerTurn = 16;
/// Time from a change of the file until it counts as complete.
constexpr std::chrono::milliseconds kSettled{50};

std::chrono::milliseconds limit_of(std::chrono::milliseconds every) {
  return std::max<std::chrono::milliseconds>(2 * every, std::chrono::seconds(1));
}

/// The answer of the process that looks for the file: begins with '+' if the file is there.
std::string read_notice(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return "-";
  std::string text = "+";  // a file that exists but cannot be read counts too
  char bytes[4096];
  while (file && text.size() < kMostSaid) {
    const ssize_t n = ::read(file.get(), bytes, sizeof bytes);
    if (n <= 0) break;
    text.append(bytes, static_cast<std::size_t>(n));
  }
  return text;
}

/// Whether a change in the folder concerns `name`, or may concern it. Limits its reads, as read()
/// does.
bool are_about(int changes, std::string_view name) {
  alignas(inotify_event) char events[4096];
  bool found = false;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t n = ::read(changes, events, sizeof events);
    if (n <= 0) break;
    for (const char* at = events; at < events + n;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(at);
      found = found || (event.mask & IN_Q_OVERFLOW) != 0 || (event.len > 0 && name == event.name);
      at += sizeof event + event.len;
    }
  }
  return found;
}

}  // namespace

struct PreemptionWatch::Call {
  pid_t pid = 0;
  bool is_late = false;
  std::unique_ptr<WatchedFd> out;
  std::unique_ptr<WatchedFd> err;
  std::string said;
  std::string errors;

  std::set<pid_t> kill_all() const {
    const std::vector<pid_t> members = members_of({pid});
    signal_each(members, SIGKILL);
    std::set<pid_t> killed(members.begin(), members.end());
    killed.insert(pid);
    return killed;
  }
};

PreemptionWatch::PreemptionWatch(EventLoop& loop, Enclosure& enclosure, Send send)
    : loop_(loop),
      enclosure_(enclosure),
      send_(std::move(send)),
      next_(loop),
      limit_(loop),
      settle_(loop),
      file_look_(loop) {}

PreemptionWatch::~PreemptionWatch() = default;

void PreemptionWatch::begin(const wire::StartRanks& start, const Environment& login) {
  const bool is_known = every_.count() > 0 && attempt_ == start.attempt;
  if (start.preemption_ms == 0 || is_known) return;
  (void)end();
  attempt_ = start.attempt;
  every_ = std::chrono::milliseconds(start.preemption_ms);
  command_ = start.preemption_command;
  workdir_ = start.workdir;
  const bool is_relative = !start.preemption_file.empty() && start.preemption_file.front() != '/';
  file_ = is_relative ? workdir_ + '/' + start.preemption_file : start.preemption_file;
  environment_ = EnvironmentBase(carried_environment(login, start.carried, workdir_, folder_exists),
                                 start.scrub, start.defaults, start.env)
                     .variables();
  told_problem_ = false;
  // In a later turn of the loop, after the ranks of this message have started.
  next_.after(std::chrono::nanoseconds(0), [this] {
    watch_folder();
    look();
  });
}

void PreemptionWatch::look() {
  next_.after(every_, [this] { look(); });
  look_for_file();
  if (!command_.empty() && !call_) start_call();
}

void PreemptionWatch::start_call() {
  auto out = make_pipe();
  auto err = make_pipe();
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!out || !err || !null) return;  // for lack of descriptors; the next call may have some
  const EnvironmentBlock environment(EnvironmentBase(environment_, {}, {}, {}), {});
  const Program program = find_program(command_.front(), environment.search_path(), workdir_);
  const std::vector<const char*> argv = argv_pointers(command_);
  SpawnRequest request;
  request.program = &program;
  request.argv = argv.data();
  request.envp = environment.pointers();
  request.workdir = workdir_.c_str();
  request.stdin_fd = null.get();
  request.stdout_fd = out->write.get();
  request.stderr_fd = err->write.get();
  request.cgroup = enclosure_.cgroup_fd();
  request.new_session = true;
  const auto spawned = spawn(request);
  if (!spawned) return tell_problem(describe(spawned.error()));
  // Processes of the previous call may not have ended yet.
  if (killed_.size() > kMostKilled) killed_.clear();
  call_ = std::make_unique<Call>();
  call_->pid = spawned->pid;
  call_->out = std::make_unique<WatchedFd>(loop_, std::move(out->read));
  call_->err = std::make_unique<WatchedFd>(loop_, std::move(err->read));
  read(call_->out, call_->said);
  read(call_->err, call_->errors);
  limit_.after(limit_of(every_), [this] {
    call_->is_late = true;
    kill_tree(call_->pid);
    killed_.merge(call_->kill_all());
  });
}

/// Reads within limits, because endless output must not keep the agent from its heartbeats.
void PreemptionWatch::read(std::unique_ptr<WatchedFd>& stream, std::string& said) {
  char bytes[4096];
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t n = ::read(stream->get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return;
    said.append(bytes, std::min(static_cast<std::size_t>(n), kMostSaid - said.size()));
  }
  stream->on_readable([this, &stream, &said] { read(stream, said); });
}

bool PreemptionWatch::was_reaped(const Reaped& reaped) {
  if (!call_ || reaped.pid != call_->pid) return false;
  read(call_->out, call_->said);
  read(call_->err, call_->errors);
  limit_.cancel();
  killed_.merge(call_->kill_all());  // what the command has left in the background
  judge(reaped.status);
  call_.reset();
  return true;
}

void PreemptionWatch::judge(const ExitStatus& status) {
  if (every_.count() == 0) return;
  if (call_->is_late)
    return tell_problem("it did not end within " + duration_text(limit_of(every_)) +
                        " and was killed");
  const bool cannot_run = !status.signaled && (status.value == exit_code::kCannotExecute ||
                                               status.value == exit_code::kNotFound);
  if (cannot_run) {
    const std::string why = first_line(call_->errors);
    return tell_problem(describe(status) + (why.empty() ? "" : ": " + why));
  }
  if (status.ok()) notice(call_->said);
}

/// Looks in a process of its own, because the file system may hang.
void PreemptionWatch::look_for_file() {
  if (file_.empty() || file_look_.is_under_way()) return;
  file_look_.begin([path = file_] { return read_notice(path); }, limit_of(every_),
                   [this](const Result<std::string>& answer) {
                     if (answer && answer->starts_with('+'))
                       notice(std::string_view(*answer).substr(1));
                   });
}

/// Lets the agent notice the file at once. inotify(7) reports neither changes by other machines nor
/// those in a folder that does not exist yet; the regular looks find those.
void PreemptionWatch::watch_folder() {
  if (file_.empty()) return;
  UniqueFd changes(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const std::string folder = file_.substr(0, std::max<std::size_t>(file_.rfind('/'), 1));
  constexpr std::uint32_t kMade = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE;
  if (!changes || ::inotify_add_watch(changes.get(), folder.c_str(), kMade) < 0) return;
  folder_ = std::make_unique<WatchedFd>(loop_, std::move(changes));
  await_change();
}

void PreemptionWatch::await_change() {
  folder_->on_readable([this] {
    if (are_about(folder_->get(), std::string_view(file_).substr(file_.rfind('/') + 1)))
      settle_.after(kSettled, [this] { look_for_file(); });
    await_change();
  });
}

void PreemptionWatch::tell_problem(const std::string& problem) {
  if (std::exchange(told_problem_, true)) return;
  send_(wire::Notice{"preemption.command gave no answer: " + problem});
}

void PreemptionWatch::notice(std::string_view text) {
  if (command_.empty() && file_.empty()) return;  // sent already
  const Notice said = parse_notice(text, wall_now());
  send_(wire::PreemptionNotice{attempt_, said.reason, said.left ? said.left->count() : -1});
  // folder_ is reset later, because its callback may be what called this function.
  command_.clear();
  file_.clear();
  next_.cancel();
  loop_.post([this] {
    if (file_.empty()) folder_.reset();
  });
}

std::set<pid_t> PreemptionWatch::end() {
  every_ = std::chrono::milliseconds(0);
  next_.cancel();
  limit_.cancel();
  settle_.cancel();
  folder_.reset();
  std::set<pid_t> killed = std::exchange(killed_, {});
  if (const auto looking = file_look_.pid()) killed.insert(*looking);
  file_look_.cancel();
  // Twice, because a process may have forked another one while the first round looked for them.
  for (int round = 0; call_ && round < 2; ++round) killed.merge(call_->kill_all());
  call_.reset();
  return killed;
}

}  // namespace dlaunch
