#include "node/preload/preload_service.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "model/rank_variables.h"
#include "node/preload/preload_hook.h"
#include "os/containment.h"
#include "os/memory_program.h"
#include "os/packet.h"
#include "os/proc_file.h"
#include "os/write_all.h"
#include "text/number.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// One for each combination of role and environment; each costs the memory of an interpreter.
constexpr std::size_t kMostTemplates = 4;
constexpr std::size_t kMostText = 4096;
// A file system may be slow, but imports must end at some time.
constexpr std::chrono::minutes kImportLimit{15};
constexpr std::chrono::seconds kHandOverLimit{30};
// Limit until a forked template reports itself, or a kept one has checked the files that it has
// imported.
constexpr std::chrono::seconds kStartLimit{30};
// A template forks twice for each order: ranks that start together share one.
constexpr std::chrono::milliseconds kGather{10};
constexpr std::size_t kMostHandedOver = 64;

constexpr std::string_view kLeave = "x";
constexpr std::string_view kGoOn = "g";

ProcessTexts texts_of(pid_t pid) {
  constexpr std::size_t kFirstLine = 256;
  const std::string folder = "/proc/" + std::to_string(pid) + '/';
  ProcessTexts texts{link_target(folder + "exe"),
                     link_target(folder + "cwd"),
                     read_proc_file(folder + "cmdline"),
                     read_proc_file(folder + "environ"),
                     read_proc_file(folder + "limits"),
                     read_proc_file(folder + "status"),
                     read_proc_file(folder + "stat"),
                     read_proc_file(folder + "numa_maps", kFirstLine),
                     {}};
  for (const char* name : {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"})
    texts.namespaces += link_target(folder + "ns/" + name) + '\n';
  return texts;
}

}  // namespace

/// A connection from a rank's process that waits, or from a template that has not reported itself
/// yet.
struct PreloadService::Caller {
  Caller(EventLoop& loop, UniqueFd fd, std::uint32_t n)
      : pid(peer_process(fd.get())), number(n), socket(loop, std::move(fd)), limit(loop) {}
  pid_t pid;
  std::uint32_t number;
  WatchedFd socket;
  UniqueFd handed;  // the socket, when a fork of the template reads from it
  Timer limit;
  TemplateKey key;
  Template* which = nullptr;
};

struct PreloadService::Template {
  enum class State { kept, checking, forking, importing, ready, unfit };
  Template(EventLoop& loop, std::uint32_t n, std::string k)
      : number(n), key(std::move(k)), limit(loop) {}
  std::uint32_t number;
  std::string key;
  State state = State::forking;
  std::uint32_t maker = 0;  // while forking: the caller that was told to fork it
  bool is_used = false;  // by a rank of this session
  bool gathers = false;
  pid_t pid = 0;
  std::unique_ptr<WatchedFd> link;
  Timer limit;
};

PreloadService::PreloadService(EventLoop& loop, Enclosure& enclosure, Notice notice)
    : loop_(loop), enclosure_(enclosure), notice_(std::move(notice)) {}

PreloadService::~PreloadService() = default;

void PreloadService::tell_once(std::string text) {
  if (told_.insert(text).second) notice_("preload: " + text);
}

void PreloadService::begin(const wire::StartRanks& start) {
  modules_ = joined(start.preload, ",");
  if (modules_.empty()) return;
  if (!acceptor_) open();
  for (const auto& one : templates_) {
    if (one->state != Template::State::kept) continue;
    one->state = Template::State::checking;
    (void)send_packet(one->link->get(), "check");
    one->limit.after(kStartLimit, [this, kept = one.get()] {
      ::kill(kept->pid, SIGKILL);
      forget(*kept);
    });
  }
  if (start.ranks.empty()) return;
  const Environment& first = start.ranks.front().env;
  for (const wire::StartRank& rank : start.ranks) {
    for (const auto& [name, value] : rank.env) {
      // Variables that libraries read while they are imported must be the same in the template.
      if (find_variable(first, name) != value && !name.ends_with("_NUM_THREADS"))
        varying_.insert(name);
    }
  }
}

void PreloadService::open() {
  auto archive = memory_file("dlaunch-preload");
  auto listener = listen_for_packets();
  if (!archive || !listener || write_all(archive->get(), preload_archive()) != 0) {
    tell_once("the ranks import for themselves: no in-memory file or socket can be created");
    return modules_.clear();
  }
  archive_ = std::move(*archive);
  address_ = std::move(listener->name);
  acceptor_ = std::make_unique<Acceptor>(loop_, std::move(listener->socket),
                                         [this](UniqueFd socket) { accept(std::move(socket)); });
}

void PreloadService::add_variables(const Environment& base, Environment& own) {
  if (modules_.empty()) return;
  auto path = find_variable(own, "PYTHONPATH");
  if (!path) path = find_variable(base, "PYTHONPATH");
  const std::string rest = path.value_or("");
  own["PYTHONPATH"] = path_of(archive_) + (rest.empty() ? "" : ':' + rest);
  ++expected_;
  has_offered_ = true;
  own[kPreloadVariable] = address_ + ':' + path_of(archive_);
}

void PreloadService::end_attempt() {
  if (has_offered_ && !met_python_)
    tell_once("no rank started a Python interpreter (3.8 or newer) that reads PYTHONPATH");
  callers_.clear();
  // A template that is not forked yet ends with the rank that was told to fork it.
  std::erase_if(templates_,
                [](const auto& one) { return one->state == Template::State::forking; });
  expected_ = 0;
}

void PreloadService::adopt(std::vector<LeftTemplate> left) {
  for (LeftTemplate& one : left) {
    templates_.push_back(std::make_unique<Template>(loop_, ++last_number_, std::move(one.key)));
    Template& made = *templates_.back();
    made.state = Template::State::kept;
    made.pid = one.pid;
    made.link = std::make_unique<WatchedFd>(loop_, std::move(one.link));
    listen_to(made);
  }
}

std::vector<LeftTemplate> PreloadService::leave() {
  std::vector<LeftTemplate> left;
  for (const auto& one : templates_) {
    const bool is_whole = one->state == Template::State::kept || one->state == Template::State::ready;
    if (is_whole)
      left.push_back({std::move(one->key), one->pid, duplicate(one->link->get())});
    else if (one->link)
      ::kill(one->pid, SIGKILL);
  }
  templates_.clear();
  return left;
}

std::set<pid_t> PreloadService::templates() const {
  std::set<pid_t> pids;
  for (const auto& one : templates_) {
    if (one->link) pids.insert(one->pid);
  }
  return pids;
}

void PreloadService::accept(UniqueFd socket) {
  if (!peer_is_our_user(socket.get())) return;
  callers_.push_back(std::make_unique<Caller>(loop_, std::move(socket), ++last_number_));
  wait(*callers_.back());
}

void PreloadService::wait(Caller& caller) {
  caller.socket.on_readable([this, &caller] { receive(caller); });
}

void PreloadService::drop(Caller& caller) {
  std::erase_if(callers_, [&](const auto& one) { return one.get() == &caller; });
}

void PreloadService::receive(Caller& caller) {
  std::vector<UniqueFd> none;
  const auto packet = receive_packet(caller.socket.get(), kMostText, 0, none, false);
  if (!packet && errno == EAGAIN) return wait(caller);
  if (!packet) return lost(caller);
  std::string_view text = *packet;
  const std::string_view word = take_until(text, ' ');
  const auto number = number_of<std::uint32_t>(take_until(text, ' '));
  if (word == "rank" && number && caller.which == nullptr) {
    if (expected_ > 0) --expected_;
    wait(caller);
    return on_rank(caller, *number);
  }
  if (word == "template" && number && caller.which == nullptr) return on_template(caller, *number);
  drop(caller);
}

/// Call when the process has ended or goes on without a template. If it was to fork a template,
/// another waiting process is told to fork it.
void PreloadService::lost(Caller& caller) {
  Template* which = caller.which;
  const bool is_maker = which != nullptr && which->state == Template::State::forking &&
                        which->maker == caller.number;
  drop(caller);
  if (is_maker) forget(*which);
}

/// Removes the template and assigns its callers anew.
void PreloadService::forget(Template& over) {
  std::vector<std::uint32_t> waiting;
  for (Caller* caller : callers_of(over)) {
    caller->which = nullptr;
    waiting.push_back(caller->number);
  }
  std::erase_if(templates_, [&](const auto& one) { return one.get() == &over; });
  for (const std::uint32_t number : waiting) {
    // Assigning one caller may also remove or assign others.
    const auto found = std::find_if(callers_.begin(), callers_.end(), [number](const auto& one) {
      return one->number == number && one->which == nullptr;
    });
    if (found != callers_.end()) assign(**found);
  }
}

void PreloadService::go_on(Caller& caller) {
  const int socket = caller.handed ? caller.handed.get() : caller.socket.get();
  (void)send_packet(socket, std::string(kGoOn));
  drop(caller);
}

bool PreloadService::is_own(std::string_view name) const {
  return varying_.contains(name) || is_rank_variable(Framework::mpi, name) ||
         is_rank_variable(Framework::jax, name);
}

void PreloadService::on_rank(Caller& caller, std::size_t arguments) {
  const std::vector<std::string>* command = ranks_.command_of(caller.pid);
  ProcessTexts texts = texts_of(caller.pid);
  // The archive's path in the value of PYTHONPATH differs between sessions.
  const std::string archive = '=' + path_of(archive_);
  const std::size_t at = texts.environment.find(archive);
  if (at != std::string::npos) texts.environment.erase(at, archive.size());
  auto key = template_key(texts, arguments, [this](auto name) { return is_own(name); });
  if (!key) return go_on(caller);
  key->text += modules_;
  if (command == nullptr) {
    constexpr int kParent = 4;
    command = ranks_.command_of(number_of<pid_t>(stat_field(texts.stat, kParent)).value_or(0));
    if (command != nullptr && is_named_in(*command, key->target)) {
      met_python_ = true;
      tell_once(
          "the ranks import for themselves, because the command's shell waits for Python; "
          "write exec before the name of the interpreter");
    }
    return go_on(caller);
  }
  met_python_ = true;
  if (!is_named_in(*command, key->target)) {
    tell_once("the ranks import for themselves, because the command does not name " +
              plain_line(key->target) + " itself: a script that it runs does");
    return go_on(caller);
  }
  caller.key = std::move(*key);
  assign(caller);
}

/// Assigns the caller to the template that it can use, or makes the caller make one.
void PreloadService::assign(Caller& caller) {
  const auto known = std::find_if(templates_.begin(), templates_.end(), [&](const auto& one) {
    return one->key == caller.key.text;
  });
  if (known != templates_.end() && (*known)->state == Template::State::unfit) return go_on(caller);
  if (known != templates_.end()) {
    caller.which = known->get();
    caller.which->is_used = true;
    if (caller.which->state == Template::State::ready) gather(*caller.which);
    return;
  }
  make_room();
  if (templates_.size() >= kMostTemplates) {
    tell_once("some ranks import for themselves, because their environments differ: a node has at "
              "most " + std::to_string(kMostTemplates) + " templates");
    return go_on(caller);
  }
  templates_.push_back(std::make_unique<Template>(loop_, ++last_number_, caller.key.text));
  Template& made = *templates_.back();
  made.is_used = true;
  caller.which = &made;
  std::string order = 't' + std::to_string(made.number) + '\0' + modules_;
  for (const std::string& name : caller.key.dropped) order.append(1, '\0').append(name);
  made.maker = caller.number;
  made.limit.after(kStartLimit,
                   [this, &made] { give_up(made, "the template did not start in time"); });
  if (!send_packet(caller.socket.get(), order)) lost(caller);
}

/// If there are too many, drops the oldest template that no rank of this session has used.
void PreloadService::make_room() {
  if (templates_.size() < kMostTemplates) return;
  const auto unused = std::find_if(templates_.begin(), templates_.end(),
                                   [](const auto& one) { return !one->is_used; });
  if (unused != templates_.end()) templates_.erase(unused);  // it ends when its connection does
}

void PreloadService::on_template(Caller& caller, std::uint32_t number) {
  const auto found = std::find_if(templates_.begin(), templates_.end(),
                                  [&](const auto& one) { return one->number == number; });
  if (found == templates_.end() || (*found)->state != Template::State::forking) return drop(caller);
  Template& made = **found;
  made.state = Template::State::importing;
  made.pid = caller.pid;
  made.link = std::make_unique<WatchedFd>(loop_, duplicate(caller.socket.get()));
  enclosure_.take_out(made.pid);
  made.limit.after(kImportLimit, [this, &made] {
    ::kill(made.pid, SIGKILL);
    give_up(made, "the imports took too long");
  });
  drop(caller);
  listen_to(made);
}

void PreloadService::listen_to(Template& made) {
  made.link->on_readable([this, &made] {
    std::vector<UniqueFd> none;
    const auto packet = receive_packet(made.link->get(), kMostText, 0, none, false);
    if (!packet && errno != EAGAIN) return template_ended(made);
    if (packet) on_template_says(made, *packet);
    if (made.link) listen_to(made);
  });
}

void PreloadService::on_template_says(Template& made, const std::string& packet) {
  std::string_view text = packet;
  const std::string_view word = take_until(text, ' ');
  if (word == "unfit") return give_up(made, plain_line(std::string(text)));
  if (word == "ready") {
    made.state = Template::State::ready;
    made.limit.cancel();
    hand_over(made);
  } else if (word == "set") {
    const auto number = number_of<std::uint32_t>(take_until(text, ' '));
    const auto pid = number_of<pid_t>(text);
    if (number && pid) on_set(*number, *pid);
  }
}

void PreloadService::gather(Template& made) {
  if (expected_ == 0) return hand_over(made);
  if (!std::exchange(made.gathers, true))
    made.limit.after(kGather, [this, &made] { hand_over(made); });
}

/// Hands the template all callers that wait for it.
void PreloadService::hand_over(Template& made) {
  made.limit.cancel();
  made.gathers = false;
  std::string numbers;
  std::vector<int> sockets;
  const auto send = [&] {
    // If the template has ended, template_ended() tells its callers.
    if (!sockets.empty()) (void)send_packet(made.link->get(), numbers, sockets);
    numbers.clear();
    sockets.clear();
  };
  for (Caller* caller : callers_of(made)) {
    if (caller->handed) continue;
    // The fork reads from this socket, which must not be watched any more.
    caller->handed = duplicate(caller->socket.get());
    caller->socket.close();
    caller->limit.after(kHandOverLimit, [this, caller] { go_on(*caller); });
    numbers.append(numbers.empty() ? "" : " ").append(std::to_string(caller->number));
    sockets.push_back(caller->handed.get());
    if (sockets.size() == kMostHandedOver) send();
  }
  send();
}

void PreloadService::on_set(std::uint32_t number, pid_t successor) {
  const auto found = std::find_if(callers_.begin(), callers_.end(), [&](const auto& one) {
    return one->number == number && one->handed;
  });
  if (found == callers_.end()) return;  // the successor ends when its connection does
  Caller& caller = **found;
  // If the successor was reaped already, the rank would never end.
  const bool is_there = is_child(successor);
  if (is_there) enclosure_.take_in(successor);
  if (is_there && ranks_.replace(caller.pid, successor)) {
    (void)send_packet(caller.handed.get(), std::string(kLeave));
  } else {
    // The successor ends by itself when the rank goes on without it.
    (void)send_packet(caller.handed.get(), std::string(kGoOn));
  }
  drop(caller);
}

/// A template that ended by itself, or was killed for its memory, is replaced at the next attempt.
void PreloadService::template_ended(Template& made) {
  if (made.state == Template::State::importing)
    return give_up(made, "the template ended during its imports");
  if (made.state == Template::State::checking) return forget(made);
  const std::vector<Caller*> waiting = callers_of(made);
  std::erase_if(templates_, [&](const auto& one) { return one.get() == &made; });
  for (Caller* caller : waiting) go_on(*caller);
}

std::vector<PreloadService::Caller*> PreloadService::callers_of(const Template& made) const {
  std::vector<Caller*> found;
  for (const auto& caller : callers_) {
    if (caller->which == &made) found.push_back(caller.get());
  }
  return found;
}

void PreloadService::give_up(Template& made, const std::string& why) {
  if (made.state == Template::State::unfit) return;
  made.state = Template::State::unfit;
  made.limit.cancel();
  made.link.reset();
  tell_once("the ranks import for themselves: " + why);
  for (Caller* caller : callers_of(made)) go_on(*caller);
}

}  // namespace dlaunch
