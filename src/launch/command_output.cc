#include "launch/command_output.h"

#include <cerrno>
#include <csignal>
#include <optional>

#include <unistd.h>

#include "launch/ssh_process.h"
#include "os/clock.h"
#include "os/signals.h"
#include "text/duration_text.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr std::size_t kMostOutput = 1024 * 1024;
constexpr std::chrono::seconds kLastMoment{1};  // of one that was killed

class Conversation {
 public:
  Conversation(EventLoop& loop, SshProcess& process, std::string_view input)
      : input_(loop, process.take_stdin()), output_(loop, process.take_stdout()), rest_(input) {
    write();
    read_later();
  }
  [[nodiscard]] bool heard_all() const { return output_.get() < 0; }
  std::string out;

 private:
  void write() {
    if (rest_.empty()) return input_.close();
    input_.on_writable([this] {
      const ssize_t n = ::write(input_.get(), rest_.data(), rest_.size());
      if (n < 0 && errno != EAGAIN && errno != EINTR) return input_.close();
      if (n > 0) rest_.remove_prefix(static_cast<std::size_t>(n));
      write();
    });
  }
  void read_later() {
    output_.on_readable([this] { read(); });
  }
  void read() {
    char bytes[4096];
    const ssize_t n = ::read(output_.get(), bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return output_.close();
    if (n > 0 && out.size() < kMostOutput) out.append(bytes, static_cast<std::size_t>(n));
    read_later();
  }

  WatchedFd input_;
  WatchedFd output_;
  std::string_view rest_;
};

}  // namespace

Result<CommandOutput> command_output(const std::vector<std::string>& argv, std::string_view input,
                                     Duration limit) {
  block_signals({SIGPIPE});  // a program that does not read its input says why by its exit code
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  EventLoop loop;
  auto process = SshProcess::start(loop, argv, environment);
  if (!process) {
    const Error& error = process.error();
    const bool missing = error.message.starts_with("there is no program");
    return fail(
        exit_code::kNodeLost,
        missing ? "there is no program \"" + argv.front() + "\" on this machine" : error.message);
  }
  Conversation conversation(loop, **process, input);
  std::optional<int> ended;
  (*process)->on_end([&](int status) { ended = status; });
  const MonotonicTime end = monotonic_now() + limit;
  while (!(ended && conversation.heard_all()) && monotonic_now() < end) loop.run_one(end);
  if (!ended) {
    (*process)->end(true);
    const MonotonicTime gone = monotonic_now() + kLastMoment;
    while (!ended && monotonic_now() < gone) loop.run_one(gone);
    return fail(exit_code::kNodeLost,
                argv.front() + " has not answered within " + duration_text(limit));
  }
  return CommandOutput{*ended, std::move(conversation.out), (*process)->errors()};
}

}  // namespace dlaunch
