// A whole agent in a process of its own, and a launcher that says what the test wants.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/agent.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/signals.h"

namespace dlaunch {

/// An agent and the launcher's end of its channel.
class Conversation {
 public:
  explicit Conversation(std::uint32_t hello_limit_ms = 0) {
    block_signals({SIGPIPE});
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    auto ends = *make_socket_pair(SOCK_STREAM);
    agent_ = ::fork();
    if (agent_ == 0) run_agent(std::move(ends.second), hello_limit_ms);
    ends.second.reset();
    raw_ = duplicate(ends.first.get());
    launcher_.emplace(loop_, duplicate(ends.first.get()), std::move(ends.first), kNode, kSession);
    start_channel();
  }
  /// Ends the session but not the agent, and begins another one.
  void begin_session(std::uint64_t session) {
    say(wire::Bye{true});
    EXPECT_TRUE(answer<wire::Bye>().stays);
    auto left = launcher_->leave();
    ASSERT_TRUE(left);
    EXPECT_EQ(left->early, "");
    launcher_.emplace(loop_, std::move(left->read), std::move(left->write), kNode, session);
    start_channel();
    greet();
  }
  ~Conversation() {
    if (agent_ > 0) ::kill(agent_, SIGKILL);
    if (agent_ > 0) ::waitpid(agent_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  template <class Message>
  void say(const Message& message) {
    launcher_->send(message);
  }
  void greet() {
    say(wire::Hello{});
    (void)answer<wire::Hello>();
  }
  /// The next message of a kind; what came before it and was not asked for stays.
  template <class Kind>
  Kind answer() {
    const MonotonicTime end = monotonic_now() + kPatience;
    while (!has<Kind>() && !ended_ && loop_.run_one(end)) {
    }
    for (auto one = received_.begin(); one != received_.end(); ++one) {
      if (auto* kind = std::get_if<Kind>(&*one)) {
        Kind found = std::move(*kind);
        received_.erase(one);
        return found;
      }
    }
    ADD_FAILURE() << "no " << typeid(Kind).name();
    return {};
  }
  template <class Kind>
  [[nodiscard]] bool has() const {
    return std::any_of(received_.begin(), received_.end(),
                       [](const auto& one) { return std::holds_alternative<Kind>(one); });
  }
  /// All that was said before has been taken.
  void settle() {
    say(wire::FactsRequest{.attempt = Attempt(99), .network = false});
    while (answer<wire::Facts>().attempt != Attempt(99) && !testing::Test::HasFailure()) {
    }
  }
  /// The agent's exit code, once it has ended.
  int end() {
    int status = 0;
    const MonotonicTime end = monotonic_now() + kPatience;
    while (::waitpid(agent_, &status, WNOHANG) == 0) {
      if (monotonic_now() > end) return -1;
      loop_.run_one(monotonic_now() + std::chrono::milliseconds(5));
    }
    agent_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// As a connection that is cut.
  void hang_up() {
    launcher_->disconnect();
    raw_.reset();
  }
  void say_bytes(const std::string& bytes) {
    ASSERT_EQ(::send(raw_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return std::string(folder_) + '/' + name;
  }
  /// One rank of an attempt that runs this in a shell.
  [[nodiscard]] wire::StartRanks script(const std::string& text, std::uint32_t rank = 0) const {
    wire::StartRanks start;
    start.log_folder = start.workdir = folder_;
    start.env = {{"PATH", "/usr/bin:/bin"}};
    start.commands.push_back({{"bash", "-c", text}, false});
    start.ranks.emplace_back().rank = Rank(rank);
    start.output_credit = 65536;
    start.world = 1;
    return start;
  }
  pid_t start(const wire::StartRanks& ranks) {
    say(ranks);
    const auto started = answer<wire::RanksStarted>().ranks;
    return started.empty() ? 0 : started.front().pid;
  }
  /// The output of rank 0 so far, as soon as it ends with `end`.
  std::string output_until(const std::string& end) {
    const MonotonicTime limit = monotonic_now() + kPatience;
    while (!output_.ends_with(end) && !ended_ && loop_.run_one(limit)) {
    }
    return output_;
  }

 private:
  void start_channel() {
    launcher_->start({.on_message = [this](wire::FromAgent message) { take(std::move(message)); },
                      .on_end = [this](const std::string&) { ended_ = true; }});
  }
  [[noreturn]] void run_agent(UniqueFd end, std::uint32_t hello_limit_ms) {
    const pid_t parent = ::getppid();
    ::setsid();
    take_all_signals();
    UniqueFd guardian(open_pidfd(parent));
    close_all_but({end.get(), guardian.get()});
    redirect_to_null({STDIN_FILENO, STDOUT_FILENO});
    become_subreaper();
    for (const char* name : {"TMPDIR", "HOME", "XDG_CACHE_HOME"}) ::setenv(name, folder_, 1);
    AgentOptions options;
    options.read = duplicate(end.get());
    options.write = std::move(end);
    options.node = kNode;
    options.session = kSession;
    options.hello_limit_ms = hello_limit_ms;
    Progress& progress = *map_progress();
    progress.session = options.session;
    progress.node = options.node;
    agent_main(std::move(options), {}, guardian, progress);
  }
  void take(wire::FromAgent message) {
    const auto* data = std::get_if<wire::OutputData>(&message);
    if (data == nullptr) return received_.push_back(std::move(message));
    if (data->rank == Rank(0) && data->stream == Stream::out) output_ += data->bytes;
  }

  static constexpr std::chrono::seconds kPatience{20};
  static constexpr std::uint32_t kNode = 3;
  static constexpr std::uint64_t kSession = 42;

  char folder_[32] = "/tmp/agent-test-XXXXXX";
  EventLoop loop_;
  pid_t agent_ = 0;
  UniqueFd raw_;
  std::optional<LauncherChannel> launcher_;
  std::vector<wire::FromAgent> received_;
  std::string output_;
  bool ended_ = false;
};

/// Rank 0 here, rank 1 elsewhere; of PMI-1 only.
inline wire::PreparePmix two_ranks() {
  return {Attempt(0), "dlaunch-1", {{"a", {{Rank(0), 1}}}, {"b", {{Rank(1), 1}}}}, false, true, 0};
}

inline constexpr const char* kForever = "exec sleep 1000";

}  // namespace dlaunch
