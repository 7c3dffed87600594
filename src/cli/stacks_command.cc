#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include <sys/socket.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/reach_run.h"
#include "jobfile/shell_quote.h"
#include "launch/front/bounded_work.h"
#include "launch/questions/question_socket.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "report/stacks_text.h"
#include "runs/run_directory.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

/// The file system of the run folder may not answer.
constexpr std::chrono::seconds kFileLimit{10};
/// The engine waits for its nodes for 7 s, and may have to answer another question first.
constexpr std::chrono::seconds kAnswerLimit{20};

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch stacks                      all ranks of the run that is running here\n"
    "  dlaunch stacks k3f --rank 0,8-15    only these\n"
    "  dlaunch stacks --json               every process and thread, for tools\n"
    "\n"
    "Python frames come from py-spy. Each node looks for it beside dlaunch, in the rank's\n"
    "environment and in your PATH; a node without py-spy is sent yours. System calls and\n"
    "files come from /proc. Ranks that do not run Python, and with --native all ranks, show\n"
    "frames of C, C++ and Fortran; each of their threads is stopped while its stack is\n"
    "copied. The answer is also saved in stacks/ of the run folder.\n"
    "Exit code: 0 success; 64 no such run, or it has ended; 69 it is on another machine, or\n"
    "not all nodes answered; 77 it belongs to another user; 124 no answer in time.";

struct StacksCommand {
  std::string word;
  std::string ranks;
  bool native = false;
  bool json = false;

  int execute() const {
    const std::string options = (ranks.empty() ? "" : " --rank " + jobfile::shell_quote(ranks)) +
                                (native ? " --native" : "") + (json ? " --json" : "");
    auto run = reach_run(word, "dlaunch stacks", kQuestionSocket, SOCK_STREAM, options);
    if (!run) return run.error();
    const std::string path = run->path;
    const char* const search_path = std::getenv("PATH");
    const StacksQuestion question{own_build_id(), ranks, search_path != nullptr ? search_path : "",
                                  native};
    const auto reply = ask_run<StacksReply>(*std::move(run), question, kAnswerLimit);
    if (!reply) return print_error(reply.error());
    const WatchedWork kept = watch_work(kFileLimit, [&] { return keep(path, *reply); });
    if (!kept.stuck.empty())
      (void)print_error({exit_code::kTimeLimit, "the stacks are not saved: " + kept.stuck});
    const int printed =
        print_text(json ? stacks_json(*reply) : stacks_text(*reply, output_columns()));
    if (printed != exit_code::kOk) return printed;
    return reply->silent.empty() ? exit_code::kOk : exit_code::kNodeLost;
  }

 private:
  /// Writes the stacks to stacks/ of the run folder, named after the time.
  static int keep(const std::string& path, const StacksReply& reply) {
    const RunDirectory folder = RunDirectory::existing(path);
    if (const Status kept = folder.write_stacks(wall_now(), stacks_json(reply)); !kept)
      std::fprintf(stderr, "dlaunch: the stacks are not saved: %s\n",
                   plain_line(kept.error().message).c_str());
    return exit_code::kOk;
  }
};

}  // namespace

Subcommand stacks_command() {
  auto stacks = std::make_shared<StacksCommand>();
  const auto describe = [stacks](CommandOptions options) {
    options.positional(
        "RUN", stacks->word,
        "Unique beginning or end of an id, or a folder\n(default: the only run that is running)");
    options.value("-r,--rank,--ranks", stacks->ranks, "Only these ranks: 3 or 0,2-5", "RANKS");
    options.flag("--native", stacks->native,
                 "Frames of C, C++ and Fortran below those of Python;\nstops each thread for a moment");
    options.flag("--json", stacks->json, "As JSON");
  };
  return {"stacks", "Show where the ranks of a run stand: frames, system calls", kFooter,
          describe, [stacks] { return stacks->execute(); }};
}

}  // namespace dlaunch
