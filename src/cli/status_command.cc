#include <memory>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/reach_run.h"
#include "cli/status_screen.h"
#include "launch/front/bounded_work.h"
#include "launch/questions/question_socket.h"
#include "os/build_id.h"
#include "os/terminal.h"
#include "report/status_text.h"

namespace dlaunch {

namespace {

/// The file system of the run folder may not answer.
constexpr std::chrono::seconds kFileLimit{10};
constexpr std::chrono::seconds kAnswerLimit{10};

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch status             the run that is running here, a row for each rank\n"
    "  dlaunch status --watch     the same, redrawn every second\n"
    "  dlaunch status k3f --json  for tools\n"
    "\n"
    "With 65 ranks or more, a row stands for a node, with the minimum/median/maximum of its\n"
    "ranks. Keys of --watch: arrows, Page Up and Page Down scroll, s shows where the ranks\n"
    "stand (dlaunch stacks) until the next key, q leaves. The run goes on.\n"
    "Exit code: 0 success; 64 no such run, or it has ended; 69 it is on another machine;\n"
    "77 it belongs to another user; 124 no answer in time.";

struct StatusCommand {
  std::string word;
  bool json = false;
  bool watch = false;

  int execute() const {
    if (watch && json)
      return print_error({exit_code::kUsage, "--watch and --json exclude each other"});
    if (watch && (terminal_size(STDOUT_FILENO) == std::nullopt ||
                  terminal_size(STDIN_FILENO) == std::nullopt)) {
      return print_error({exit_code::kUsage,
                          "--watch needs a terminal; without one, run `dlaunch status` again and "
                          "again, or `dlaunch status --json`"});
    }
    if (watch) return show_screen();
    return ask_once();
  }

 private:
  [[nodiscard]] int show_screen() const {
    auto run = reach_run(word, "dlaunch status", kQuestionSocket, SOCK_STREAM, " --watch");
    if (!run) return run.error();
    const std::string id = run->id;
    const std::string path = run->path;
    QuestionLine line(*std::move(run));
    line.ask(StatusQuestion{own_build_id()});
    if (const auto reply = line.wait(kAnswerLimit); !reply) return print_error(reply.error());
    const StatusScreenEnd end = show_status_screen(std::move(line));
    if (!end.run_has_ended) return end.exit_code;
    return watch_work(kFileLimit, [&] { return print_text(ending_of(id, path) + '\n'); }).code;
  }

  [[nodiscard]] int ask_once() const {
    auto run =
        reach_run(word, "dlaunch status", kQuestionSocket, SOCK_STREAM, json ? " --json" : "");
    if (!run) return run.error();
    const auto reply =
        ask_run<StatusReply>(*std::move(run), StatusQuestion{own_build_id()}, kAnswerLimit);
    if (!reply) return print_error(reply.error());
    return print_text(json ? status_json(*reply) : status_text(*reply, output_columns()));
  }

  /// Waits until the engine, which has closed the connection, has written how the run ended.
  static std::string ending_of(const std::string& id, const std::string& path) {
    constexpr int kMostLooks = 100;
    constexpr useconds_t kPause = 100'000;
    Result<RunView> now = read_run_state(path);
    for (int i = 0; i < kMostLooks && now && is_live(now->state); ++i) {
      ::usleep(kPause);
      now = read_run_state(path);
    }
    return "dlaunch: run " + id + ": " + (now ? state_text(*now) : now.error().message);
  }
};

}  // namespace

Subcommand status_command() {
  auto status = std::make_shared<StatusCommand>();
  const auto describe = [status](CommandOptions options) {
    options.positional(
        "RUN", status->word,
        "Unique beginning or end of an id, or a folder\n(default: the only run that is running)");
    options.flag("-w,--watch", status->watch, "Redraw every second");
    options.flag("--json", status->json, "As JSON");
  };
  return {"status", "Show what the ranks of a run are doing: output, metrics, CPU, memory, GPUs",
          kFooter, describe, [status] { return status->execute(); }};
}

}  // namespace dlaunch
