#include "launch/slurm/command_output.h"

#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include <unistd.h>

#include "launch/connect/ssh_process.h"
#include "os/clock.h"
#include "os/signals.h"
#include "text/duration_text.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr std::size_t kMostOutput = 1024 * 1024;
constexpr std::chrono::seconds kLastMoment{1};  // for one that was killed

/// dlaunch's wording for a program that could not be started.
Error cannot_start(const std::string& program, const Error& error) {
  const bool missing = error.message.starts_with("there is no program");
  return {exit_code::kNodeLost,
          missing ? "there is no program \"" + program + "\" on this machine" : error.message};
}

}  // namespace

struct RunningCommand::State : std::enable_shared_from_this<State> {
  State(EventLoop& event_loop, std::string_view text, Done callback)
      : loop(event_loop), rest(text), done(std::move(callback)), timer(event_loop) {}

  void begin(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
             Duration limit) {
    name = argv.front();
    auto started = SshProcess::start(loop, argv, environment);
    if (!started) {
      return loop.post([self = shared_from_this(), error = cannot_start(name, started.error())] {
        self->finish(tl::unexpected(error));
      });
    }
    process = std::move(*started);
    group = process->pid();
    input.emplace(loop, process->take_stdin());
    output.emplace(loop, process->take_stdout());
    process->on_end([self = weak_from_this()](int wait_status) {
      if (const auto here = self.lock()) here->ended(wait_status);
    });
    timer.after(limit, [this, limit] { give_up(limit); });
    write();
    read_later();
  }

  void write() {
    if (rest.empty()) return input->close();
    input->on_writable([this] {
      const ssize_t n = ::write(input->get(), rest.data(), rest.size());
      if (n < 0 && errno != EAGAIN && errno != EINTR) return input->close();
      if (n > 0) rest.erase(0, static_cast<std::size_t>(n));
      write();
    });
  }
  void read_later() {
    output->on_readable([this] { read(); });
  }
  void read() {
    char bytes[4096];
    const ssize_t n = ::read(output->get(), bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      output->close();
      return look_for_end();
    }
    if (n > 0 && out.size() < kMostOutput) out.append(bytes, static_cast<std::size_t>(n));
    read_later();
  }
  void ended(int wait_status) {
    status = wait_status;
    look_for_end();
  }
  void look_for_end() {
    if (late && status) return finish(tl::unexpected(*late));
    if (!late && status && output->get() < 0)
      finish(CommandOutput{*status, std::move(out), process->errors()});
  }
  void give_up(Duration limit) {
    late = Error{exit_code::kNodeLost, name + " has not answered within " + duration_text(limit)};
    if (status) {
      end_group();
      return finish(tl::unexpected(*late));
    }
    process->end(true);
    timer.after(kLastMoment, [this] { finish(tl::unexpected(*late)); });
  }
  /// What it has left behind. As long as a process holds its stdout, the number of its group is not
  /// reused.
  void end_group() const {
    if (output && output->get() >= 0) ::kill(-group, SIGKILL);
  }
  void finish(Result<CommandOutput> result) {
    const auto self = shared_from_this();  // `done` may destroy the owner
    timer.cancel();
    if (const Done callback = std::exchange(done, nullptr)) callback(std::move(result));
  }

  EventLoop& loop;
  std::string rest;  // for its stdin
  Done done;
  Timer timer;
  std::string name;
  std::shared_ptr<SshProcess> process;
  std::optional<WatchedFd> input;
  std::optional<WatchedFd> output;
  std::string out;
  pid_t group = 0;
  std::optional<int> status;
  std::optional<Error> late;
};

RunningCommand::RunningCommand(EventLoop& loop, const std::vector<std::string>& argv,
                               const std::vector<std::string>& environment, std::string_view input,
                               Duration limit, Done done)
    : state_(std::make_shared<State>(loop, input, std::move(done))) {
  state_->begin(argv, environment, limit);
}

RunningCommand::~RunningCommand() {
  state_->done = nullptr;
  state_->timer.cancel();
  if (state_->status) state_->end_group();
  if (state_->input) state_->input->close();
  if (state_->output) state_->output->close();
  if (state_->process && !state_->status) state_->process->end(true);
}

Result<CommandOutput> command_output(const std::vector<std::string>& argv, std::string_view input,
                                     Duration limit) {
  block_signals({SIGPIPE});  // the exit code of a program that does not read its input says why
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return command_output(argv, environment, input, limit);
}

Result<CommandOutput> command_output(const std::vector<std::string>& argv,
                                     const std::vector<std::string>& environment,
                                     std::string_view input, Duration limit) {
  block_signals({SIGPIPE});
  EventLoop loop;
  std::optional<Result<CommandOutput>> result;
  const RunningCommand command(loop, argv, environment, input, limit,
                               [&](Result<CommandOutput> answer) { result = std::move(answer); });
  while (!result) loop.run_one();
  return std::move(*result);
}

}  // namespace dlaunch
