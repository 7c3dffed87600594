#include "runs/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "model/signal_names.h"
#include "model/time.h"
#include "text/json_text.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMaxKept = std::size_t{1} << 20;

const char* name_of(StartFailure::Step step) {
  switch (step) {
    case StartFailure::Step::workdir:
      return "workdir";
    case StartFailure::Step::execute:
      return "execute";
    case StartFailure::Step::interpreter:
      return "interpreter";
    case StartFailure::Step::resources:
      return "resources";
    case StartFailure::Step::file:
      return "file";
    case StartFailure::Step::module:
      return "module";
    case StartFailure::Step::container:
      return "container";
  }
  return "";
}

/// Writes the members of each event, its name first.
struct MemberWriter {
  JsonText& json;

  void name(std::string_view event) const { json.key("event").string(event); }
  void node(NodeId index) const { json.key("node").number(index.value); }
  void rank(Attempt attempt, Rank rank) const {
    json.key("attempt").number(attempt.value).key("rank").number(rank.value);
  }
  void at(WallTime time) const { json.key("at").string(time_text(time)); }

  void operator()(const event::NodeReady& e) const {
    name("node-ready");
    node(e.node);
  }
  void operator()(const event::NodeLost& e) const {
    name("node-lost");
    node(e.node);
    json.key("what").string(e.what);
    if (e.heard_at) json.key("heard_at").string(time_text(*e.heard_at));
  }
  void operator()(const event::NodeAdded& e) const {
    name("node-added");
    node(e.node);
    json.key("name").string(e.name);
  }
  void operator()(const event::NodeWithdrawn& e) const {
    name("node-withdrawn");
    node(e.node);
  }
  void operator()(const event::PlanMade& e) const {
    name("plan-made");
    json.key("attempt").number(e.attempt.value).key("node_of_rank").begin_array();
    for (const NodeId index : e.node_of_rank) json.number(index.value);
    json.end_array().key("nodes").begin_array();
    for (const auto& [index, its_name] : e.names) {
      json.begin_object().key("node").number(index.value);
      json.key("name").string(its_name).end_object();
    }
    json.end_array();
  }
  void operator()(const event::PlanFailed& e) const {
    name("plan-failed");
    json.key("exit_code").number(e.error.exit_code).key("message").string(e.error.message);
  }
  void operator()(const event::RankStarted& e) const {
    name("rank-started");
    rank(e.attempt, e.rank);
    json.key("pid").number(e.pid);
    at(e.at);
  }
  void operator()(const event::RankNotStarted& e) const {
    name("rank-not-started");
    rank(e.attempt, e.rank);
    json.key("step").string(name_of(e.failure.step)).key("errno").number(e.failure.error_number);
    json.key("path").string(e.failure.path).key("message").string(describe(e.failure));
    at(e.at);
  }
  void operator()(const event::RankExited& e) const {
    name("rank-exited");
    rank(e.attempt, e.rank);
    if (e.status.signaled) {
      json.key("signal").string(signal_name(e.status.value));
      json.key("core_dumped").boolean(e.status.core_dumped);
    } else {
      json.key("code").number(e.status.value);
    }
    json.key("after_signal").boolean(e.after_signal);
    if (!e.status.out_of_memory.empty()) json.key("out_of_memory").string(e.status.out_of_memory);
    if (!e.status.gpu_fault.empty()) json.key("gpu_fault").string(e.status.gpu_fault);
    if (e.status.mpi != MpiEnd::fine) json.key("mpi").string(name_of(e.status.mpi));
    at(e.at);
  }
  void operator()(const event::NodeEmpty& e) const {
    name("node-empty");
    json.key("attempt").number(e.attempt.value);
    node(e.node);
    json.key("leftovers").number(e.leftovers);
  }
  void operator()(const event::StarterEnded& e) const {
    name("mpirun-ended");
    json.key("attempt").number(e.attempt.value);
    node(e.node);
    if (e.status.signaled) {
      json.key("signal").string(signal_name(e.status.value));
    } else {
      json.key("code").number(e.status.value);
    }
    json.key("after_signal").boolean(e.after_signal);
    at(e.at);
  }
  void operator()(const event::PortTaken& e) const {
    name("port-taken");
    rank(e.attempt, e.rank);
    json.key("port").number(e.taken.port).key("holder").string(e.taken.holder);
  }
  void operator()(const event::Hang& e) const {
    name("hang");
    json.key("attempt").number(e.attempt.value).key("what").string(e.what);
  }
  void operator()(const event::Preempted& e) const {
    name("preempted");
    json.key("attempt").number(e.attempt.value);
    node(e.node);
    json.key("reason").string(e.reason).key("left_s");
    e.left ? json.billionths(MonotonicTime(*e.left).count()) : json.null();
  }
  void operator()(const event::CancelSignal& e) const {
    name("cancel");
    json.key("signal").string(signal_name(e.number));
  }
  void operator()(const event::Progress&) const {}
  void operator()(const event::Stall&) const {}
  void operator()(const event::Deadline&) const { name("deadline"); }
  void operator()(const event::FrontGone&) const { name("front-gone"); }
  void operator()(const event::UserAsked&) const { name("user-asked"); }
  void operator()(const event::Copying& e) const {
    name("copying");
    json.key("under_way").boolean(e.under_way);
  }
  void operator()(const event::Tick&) const { name("tick"); }

  void operator()(const action::Restart& restart) const {
    const FailedAttempt& failed = restart.failed;
    name("restart");
    json.key("attempt").number(restart.next.value);
    json.key("wait_s").billionths(failed.wait.count());
    json.key("cause").string(dlaunch::name_of(failed.outcome.cause));
    json.key("exit_code").number(failed.outcome.exit_code).key("first");
    failed.outcome.first ? json.number(failed.outcome.first->value) : json.null();
  }

  void operator()(const StagedNode& staged) const {
    name("staged");
    node(staged.node);
    json.key("bytes").number(staged.bytes).key("from_launcher").number(staged.from_launcher);
    json.key("removed").number(staged.removed);
    if (!staged.source.empty()) json.key("source").string(staged.source);
  }
  void operator()(const SyncedNode& synced) const {
    name("synced");
    node(synced.node);
    json.key("shared").boolean(synced.is_shared);
    json.key("files").number(synced.files).key("bytes").number(synced.bytes);
    json.key("removed").number(synced.removed).key("replaced").number(synced.replaced);
  }
};

}  // namespace

Result<EventLog> EventLog::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return fail_errno(exit_code::kInternal, "cannot open " + path, errno);
  return EventLog(fd, path);
}

EventLog::EventLog(EventLog&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      buffer_(std::exchange(other.buffer_, {})),
      missing_(std::exchange(other.missing_, 0)),
      flush_at_(std::exchange(other.flush_at_, kBuffer)),
      due_(std::exchange(other.due_, {})) {}

EventLog& EventLog::operator=(EventLog&& other) noexcept {
  std::swap(fd_, other.fd_);
  path_.swap(other.path_);
  buffer_.swap(other.buffer_);
  std::swap(missing_, other.missing_);
  std::swap(flush_at_, other.flush_at_);
  std::swap(due_, other.due_);
  return *this;
}

EventLog::~EventLog() {
  if (fd_ < 0) return;
  (void)flush();
  ::close(fd_);
}

template <class WriteMembers>
void EventLog::add_line(WallTime now, WriteMembers&& write_members) {
  if (buffer_.size() > kMaxKept && !flush()) {
    ++missing_;
    return;
  }
  JsonText json(buffer_);
  json.begin_object().key("time").string(time_text(now));
  write_members(json);
  json.end_object();
  buffer_ += '\n';
  if (!due_) due_ = now + kMostWait;
  if (buffer_.size() >= flush_at_) (void)flush();
}

void EventLog::add(const Event& event, WallTime now) {
  // Progress occurs up to once a second, and a stall has a note of its own.
  const bool is_account_only =
      std::holds_alternative<event::Progress>(event) || std::holds_alternative<event::Stall>(event);
  if (is_account_only) return;
  add_line(now, [&](JsonText& json) { std::visit(MemberWriter{json}, event); });
}

void EventLog::add(const action::Restart& restart, WallTime now) {
  add_line(now, [&](JsonText& json) { MemberWriter{json}(restart); });
}

void EventLog::add(const SyncedNode& synced, WallTime now) {
  add_line(now, [&](JsonText& json) { MemberWriter{json}(synced); });
}

void EventLog::add(const StagedNode& staged, WallTime now) {
  add_line(now, [&](JsonText& json) { MemberWriter{json}(staged); });
}

void EventLog::note(std::string_view kind, std::string_view text, WallTime now,
                    const std::function<void(JsonText&)>& more) {
  add_line(now, [&](JsonText& json) {
    json.key("event").string(kind).key("text").string(text);
    if (more) more(json);
  });
}

Status EventLog::flush() {
  std::size_t done = 0;
  int error = 0;
  due_.reset();
  while (done < buffer_.size() && error == 0) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  buffer_.erase(0, done);
  // After an error it retries with every further 64 KiB, not with every line.
  flush_at_ = buffer_.size() + kBuffer;
  if (error != 0) return fail_errno(exit_code::kInternal, "cannot write " + path_, error);
  if (missing_ == 0) return {};
  buffer_ = "{\"event\": \"gap\", \"lines\": " + std::to_string(std::exchange(missing_, 0)) + "}\n";
  return flush();
}

}  // namespace dlaunch
