#include "os/program_output.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <unistd.h>

#include "os/child_process.h"
#include "os/signals.h"
#include "os/spawn.h"
#include "text/duration_text.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLastMoment{1};  // for a killed program to end

}  // namespace

struct RunningProgram::State : std::enable_shared_from_this<State> {
  State(EventLoop& event_loop, ProgramCall to_make, Done callback)
      : loop(event_loop), call(std::move(to_make)), done(std::move(callback)), timer(event_loop) {}

  void begin() {
    const Environment& environment =
        call.environment ? *call.environment : environment_from_block(environ);
    auto started =
        ChildProcess::start(loop, call.argv, environment_entries(environment), call.joined);
    if (!started) {
      return loop.post([self = shared_from_this(), error = std::move(started.error())] {
        self->finish(tl::unexpected(error));
      });
    }
    process = std::move(*started);
    group = process->pid();
    input.emplace(loop, process->take_stdin());
    output.emplace(loop, process->take_stdout());
    process->on_end([self = weak_from_this()](std::optional<int> status) {
      if (const auto here = self.lock()) here->process_ended(status);
    });
    timer.after(call.limit, [this] { give_up(); });
    write();
    read_later();
  }

  void write() {
    if (call.input.empty()) return input->close();
    input->on_writable([this] {
      const ssize_t n = ::write(input->get(), call.input.data(), call.input.size());
      if (n < 0 && errno != EAGAIN && errno != EINTR) return input->close();
      if (n > 0) call.input.erase(0, static_cast<std::size_t>(n));
      write();
    });
  }
  void read_later() {
    output->on_readable([this] { read(); });
  }
  void read() {
    char bytes[65536];  // what a pipe holds
    const ssize_t n = ::read(output->get(), bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      output->close();
      return look_for_end();
    }
    if (n > 0)
      result.out.append(bytes, std::min<std::size_t>(n, call.most_output - result.out.size()));
    read_later();
  }
  void process_ended(std::optional<int> status) {
    has_ended = true;
    result.wait_status = status;
    look_for_end();
  }
  void look_for_end() {
    if (late && has_ended) return finish(tl::unexpected(*late));
    if (late || !has_ended || output->get() >= 0) return;
    result.errors = process->errors();
    finish(std::move(result));
  }
  void give_up() {
    late = Error{exit_code::kTimeLimit,
                 '"' + call.argv.front() + "\" did not end within " + duration_text(call.limit)};
    if (has_ended) {
      end_group();
      return finish(tl::unexpected(*late));
    }
    process->end(true);
    timer.after(kLastMoment, [this] { finish(tl::unexpected(*late)); });
  }
  /// Ends what the program has left behind. The id of its process group is not reused while one of
  /// its processes holds its stdout.
  void end_group() const {
    if (output && output->get() >= 0) ::kill(-group, SIGKILL);
  }
  void finish(Result<ProgramOutput> answer) {
    const auto self = shared_from_this();  // `done` may destroy the owner
    timer.cancel();
    if (const Done callback = std::exchange(done, nullptr)) callback(std::move(answer));
  }

  EventLoop& loop;
  ProgramCall call;  // its input is what is left to write
  Done done;
  Timer timer;
  std::shared_ptr<ChildProcess> process;
  std::optional<WatchedFd> input;
  std::optional<WatchedFd> output;
  pid_t group = 0;
  bool has_ended = false;
  ProgramOutput result;
  std::optional<Error> late;
};

RunningProgram::RunningProgram(EventLoop& loop, ProgramCall call, Done done)
    : state_(std::make_shared<State>(loop, std::move(call), std::move(done))) {
  state_->begin();
}

RunningProgram::~RunningProgram() {
  state_->done = nullptr;
  state_->timer.cancel();
  if (state_->has_ended) state_->end_group();
  if (state_->input) state_->input->close();
  if (state_->output) state_->output->close();
  if (state_->process && !state_->has_ended) state_->process->end(true);
}

Result<ProgramOutput> run_program(ProgramCall call) {
  // A program that does not read its input says why with its exit code, so writing to it must not
  // kill us.
  if (!call.input.empty()) block_signals({SIGPIPE});
  EventLoop loop;
  std::optional<Result<ProgramOutput>> result;
  const RunningProgram program(loop, std::move(call),
                               [&](Result<ProgramOutput> answer) { result = std::move(answer); });
  while (!result) loop.run_one();
  return std::move(*result);
}

Result<std::string> program_output(const std::vector<std::string>& argv,
                                   std::chrono::milliseconds limit,
                                   const Environment* environment) {
  ProgramCall call{.argv = argv, .limit = limit, .joined = true};
  if (environment != nullptr) call.environment = *environment;
  return run_program(std::move(call)).map([](ProgramOutput said) { return std::move(said.out); });
}

}  // namespace dlaunch
