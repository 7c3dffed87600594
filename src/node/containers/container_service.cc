#include "node/containers/container_service.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node/containers/container_folder.h"
#include "node/ranks/environment_block.h"
#include "os/job_tree.h"
#include "os/packet.h"
#include "os/spawn.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kClearLimit{20};
constexpr std::size_t kMostDescriptors = 5;  // accepted with one packet

/// A file in memory, because the order holds secrets.
tl::expected<UniqueFd, int> memory_file(const std::string& text) {
  UniqueFd file(::memfd_create("order", MFD_CLOEXEC));
  if (!file) return tl::unexpected(errno);
  if (const int error = write_all(file.get(), text); error != 0) return tl::unexpected(error);
  return file;
}

/// The pid of a rank's program as we see it: the user's options may have given the container a PID
/// namespace of its own. A program that has ended already is represented by its parent, the first
/// process in the container.
pid_t number_here(int socket, pid_t inside) {
  const pid_t entry = peer_process(socket);
  if (entry <= 0) return inside;
  const pid_t found = child_numbered(entry, inside);
  return found > 0 ? found : entry;
}

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

ContainerService::ContainerService(EventLoop& loop, Progress& progress)
    : loop_(loop), progress_(progress), limit_(loop) {}

ContainerService::~ContainerService() = default;

tl::expected<void, StartFailure> ContainerService::begin(const wire::StartRanks& part) {
  if (part.containers.empty()) return {};
  if (folder_ != part.entry_folder) {
    if (const auto opened = open(part.entry_folder); !opened) {
      return tl::unexpected(
          StartFailure{StartFailure::Step::resources, opened.error(), part.entry_folder, ""});
    }
  }
  add_cleanup(part);
  needs_clearing_ = true;
  return {};
}

tl::expected<void, int> ContainerService::open(const std::string& folder) {
  clear_abandoned_entry_folders(folder.substr(0, std::max<std::size_t>(folder.rfind('/'), 1)));
  auto made = make_entry_folder(folder);
  if (!made) return tl::unexpected(made.error());
  auto listener = listen_for_packets(entry_socket(folder));
  if (listener) {
    acceptor_ = std::make_unique<Acceptor>(loop_, std::move(*listener),
                                           [this](UniqueFd socket) { accept(std::move(socket)); });
  }
  if (!listener || !acceptor_->listens()) {
    acceptor_.reset();
    remove_entry_folder(folder);
    return tl::unexpected(listener ? EMFILE : listener.error());
  }
  folder_ = folder;
  lock_ = std::move(made->lock);
  auto& for_guardian = progress_.entry_folder;
  if (folder.size() < for_guardian.size())
    std::memcpy(for_guardian.data(), folder.c_str(), folder.size() + 1);
  return {};
}

void ContainerService::add_cleanup(const wire::StartRanks& part) {
  for (const wire::StartRank& rank : part.ranks) {
    if (rank.container == 0 || rank.container > part.containers.size()) continue;
    const wire::StartContainer& container = part.containers[rank.container - 1];
    if (container.cleanup.empty()) continue;
    auto& command = cleanup_.try_emplace(rank.container, container.cleanup).first->second;
    command.push_back(container.name + std::to_string(rank.rank.value));
  }
  std::vector<std::vector<std::string>> commands;
  for (const auto& [number, command] : cleanup_) commands.push_back(command);
  (void)note_cleanup(folder_, commands);  // in case we are killed
}

std::vector<std::string> ContainerService::command(const wire::StartContainer& container,
                                                   Rank rank) {
  std::vector<std::string> argv = container.argv;
  const std::string number = std::to_string(rank.value);
  if (container.named > 0 && container.named < argv.size()) argv[container.named] += number;
  argv.push_back(number);
  return argv;
}

Environment ContainerService::environment(const wire::StartContainer& container) {
  Environment own = environment_from_block(environ);
  for (const auto& [name, value] : container.env) own.insert_or_assign(name, value);
  // ch-run(1) refuses to start without USER.
  const auto user = find_variable(own, "LOGNAME");
  own.emplace("USER", user.value_or(std::to_string(::geteuid())));
  return own;
}

tl::expected<void, int> ContainerService::expect(Rank rank, const EntryOrder& order,
                                                 std::vector<UniqueFd> descriptors) {
  auto file = memory_file(encode(order));
  if (!file) return tl::unexpected(file.error());
  expected_.insert_or_assign(rank, Expected{std::move(*file), std::move(descriptors)});
  return {};
}

void ContainerService::refuse(Rank rank) {
  expected_.erase(rank);
}

void ContainerService::accept(UniqueFd socket) {
  if (!peer_is_our_user(socket.get())) return;
  unidentified_.push_back(std::make_unique<Entry>(loop_, std::move(socket)));
  Entry& entry = *unidentified_.back();
  entry.socket.on_readable([this, &entry] { identify(entry); });
}

void ContainerService::identify(Entry& entry) {
  std::vector<UniqueFd> ignored;
  const auto packet =
      receive_packet(entry.socket.get(), kMostEntryBytes, kMostDescriptors, ignored, false);
  const auto mine = std::find_if(unidentified_.begin(), unidentified_.end(),
                                 [&](const auto& one) { return one.get() == &entry; });
  const auto news = packet ? decode_news(*packet) : std::nullopt;
  const auto* arrived = news ? std::get_if<EntryArrived>(&*news) : nullptr;
  const auto expected = arrived != nullptr ? expected_.find(arrived->rank) : expected_.end();
  if (expected != expected_.end()) {
    std::vector<int> handed = {expected->second.order.get()};
    for (const UniqueFd& fd : expected->second.descriptors) handed.push_back(fd.get());
    if (send_packet(entry.socket.get(), encode(EntryDemand{}), handed)) {
      entries_[arrived->rank] = std::move(*mine);
      watch(arrived->rank);
    }
    expected_.erase(expected);
  }
  unidentified_.erase(mine);
}

void ContainerService::watch(Rank rank) {
  entries_.at(rank)->socket.on_readable([this, rank] {
    if (receive(rank) != Received::end) watch(rank);
  });
}

ContainerService::Received ContainerService::receive(Rank rank) {
  const auto found = entries_.find(rank);
  if (found == entries_.end()) return Received::end;
  std::vector<UniqueFd> came;
  const auto packet =
      receive_packet(found->second->socket.get(), kMostEntryBytes, kMostDescriptors, came, false);
  if (!packet && (errno == EAGAIN || errno == EINTR)) return Received::nothing;
  const auto news = packet ? decode_news(*packet) : std::nullopt;
  if (!news || std::holds_alternative<EntryArrived>(*news)) {
    entries_.erase(found);
    callbacks_.on_left(rank);
    return Received::end;
  }
  const int socket = found->second->socket.get();
  UniqueFd terminal = came.empty() ? UniqueFd() : std::move(came.front());
  std::visit(
      Overloaded{
          [](const EntryArrived&) {},
          [&](const EntryStarted& started) {
            callbacks_.on_started(rank, number_here(socket, started.pid), std::move(terminal));
          },
          [&](const StartFailure& failure) { callbacks_.on_failed(rank, failure); },
          [&](const ExitStatus& status) { callbacks_.on_ended(rank, status); },
          [&](const BesideStarted& started) {
            callbacks_.on_beside(rank, started, std::move(terminal));
          },
          [&](const wire::TerminalEnded& ended) { callbacks_.on_beside_ended(rank, ended); }},
      *news);
  return Received::news;
}

void ContainerService::catch_up(Rank rank) {
  constexpr int kMostPackets = 256;  // more than an entry process can have sent
  for (int i = 0; i < kMostPackets && receive(rank) == Received::news; ++i) {
  }
}

tl::expected<void, int> ContainerService::start_beside(Rank rank, const wire::OpenTerminal& request,
                                                       const BesideStreams& streams) {
  BesideOrder order{request, {}};
  // Pass on the user's shell, which the image may have too.
  if (const auto shell = find_variable(environment_from_block(environ), "SHELL"))
    order.defaults.emplace("SHELL", *shell);
  const auto file = memory_file(encode(order));
  if (!file) return tl::unexpected(file.error());
  const auto found = entries_.find(rank);
  if (found == entries_.end()) return tl::unexpected(ENOTCONN);
  std::vector<int> handed = {file->get()};
  if (!request.is_terminal)
    handed.insert(handed.end(), {streams.in.get(), streams.out.get(), streams.err.get()});
  const EntryDemand demand{EntryDemand::Kind::beside};
  if (!send_packet(found->second->socket.get(), encode(demand), handed))
    return tl::unexpected(errno);
  return {};
}

bool ContainerService::send(Rank rank, EntryDemand demand) {
  const auto found = entries_.find(rank);
  if (found == entries_.end()) return false;
  (void)send_packet(found->second->socket.get(), encode(demand));
  return true;
}

void ContainerService::kill_all() {
  expected_.clear();
  unidentified_.clear();
  for (const auto& [rank, entry] : entries_) (void)kill(rank);
}

void ContainerService::clear(std::function<void()> done) {
  on_cleared_ = std::move(done);
  to_clear_.clear();
  for (const auto& [number, command] : cleanup_) to_clear_.push_back(command);
  cleanup_.clear();
  limit_.after(kClearLimit, [this] {
    to_clear_.clear();
    if (cleaner_ != 0) ::kill(cleaner_, SIGKILL);
  });
  clear_next();
}

void ContainerService::clear_next() {
  cleaner_ = 0;
  while (!to_clear_.empty()) {
    const std::vector<std::string> command = std::move(to_clear_.front());
    to_clear_.pop_front();
    const EnvironmentBase base(environment_from_block(environ), {}, {}, {});
    const EnvironmentBlock environment(base, {});
    const Program program = find_program(command.front(), environment.search_path(), "/");
    const std::vector<const char*> argv = argv_pointers(command);
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    SpawnRequest request;
    request.program = &program;
    request.argv = argv.data();
    request.envp = environment.pointers();
    request.workdir = "/";
    request.stdin_fd = request.stdout_fd = request.stderr_fd = null.get();
    const auto spawned = spawn(request);
    if (!spawned) continue;
    cleaner_ = spawned->pid;
    return;
  }
  limit_.cancel();
  needs_clearing_ = false;
  if (on_cleared_) std::exchange(on_cleared_, nullptr)();
}

bool ContainerService::was_reaped(pid_t pid) {
  if (cleaner_ == 0 || pid != cleaner_) return false;
  loop_.post([this] { clear_next(); });
  return true;
}

void ContainerService::end() {
  acceptor_.reset();
  expected_.clear();
  unidentified_.clear();
  entries_.clear();
  cleanup_.clear();
  needs_clearing_ = false;
  if (folder_.empty()) return;
  remove_entry_folder(folder_);
  folder_.clear();
  progress_.entry_folder.front() = '\0';
  lock_.reset();
}

void ContainerService::clear_now() {
  if (folder_.empty()) return;
  acceptor_.reset();
  entries_.clear();
  clear_entry_folder(std::exchange(folder_, ""), std::move(lock_));
  progress_.entry_folder.front() = '\0';
}

}  // namespace dlaunch
