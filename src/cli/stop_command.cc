#include <memory>

#include "cli/commands.h"
#include "cli/print.h"
#include "launch/front/bounded_work.h"
#include "launch/front/stop_run.h"
#include "runs/run_index.h"

namespace dlaunch {

namespace {

/// The file system of the run folder may not answer.
constexpr std::chrono::seconds kFileLimit{10};

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch stop                            the only run that is running here\n"
    "  dlaunch stop 20261121-151200-k3f        unique beginning or end of an id: k3f\n"
    "  dlaunch stop --now                      no time for a checkpoint\n"
    "  dlaunch stop --checkpoint               only after a new one (checkpoint.path)\n"
    "\n"
    "The ranks get the stop signal and timeouts.stop to end, as with Ctrl-C; then\n"
    "they are killed. Waits until the run has ended; a second stop only waits.\n"
    "Exit code: 0 the run ended; 64 no such run, or it had already ended; 69 it is on\n"
    "another machine; 77 it belongs to another user; 124 it did not end in time, or\n"
    "ended without the new checkpoint.";

struct StopCommand {
  std::string word;
  StopOrder order;

  int execute() const {
    if (order.now && order.checkpoint)
      return print_error({exit_code::kUsage, "--now and --checkpoint exclude each other"});
    const WatchedWork done = watch_work(kFileLimit, [this] { return stop(); });
    if (done.stuck.empty()) return done.code;
    return print_error({exit_code::kTimeLimit,
                        "dlaunch stop cannot read the run folder: " + done.stuck +
                            "\n         try: Ctrl-C twice where the run was started, or kill -9 "
                            "its dlaunch there"});
  }

  [[nodiscard]] std::string options() const {
    return order.now ? " --now" : order.checkpoint ? " --checkpoint" : "";
  }

  int stop() const {
    if (word == "-9")  // as for kill(1); the parser takes a number for an argument
      return print_error({exit_code::kUsage, "to kill at once: dlaunch stop --now"});
    const auto folders = run_folders("");
    if (!folders) return print_error(folders.error());
    const auto run = word.empty() ? only_live_run(*folders, "dlaunch stop" + options())
                                  : find_run(*folders, word);
    if (!run) return print_error(run.error());
    const Status stopped = stop_run(*run, order);
    return stopped ? exit_code::kOk : print_error(stopped.error());
  }
};

}  // namespace

Subcommand stop_command() {
  auto stop = std::make_shared<StopCommand>();
  const auto describe = [stop](CommandOptions options) {
    options.positional("RUN", stop->word,
                       "Unique beginning or end of an id, or a folder\n"
                       "(default: the only run that is running)");
    options.flag("--now", stop->order.now, "Kill at once, like Ctrl-C twice");
    options.flag("--checkpoint", stop->order.checkpoint,
                 "First wait for a new checkpoint, at most\ntimeouts.stop; needs checkpoint.path");
  };
  return {"stop", "End a run: TERM, time for a checkpoint, KILL", kFooter, describe,
          [stop] { return stop->execute(); }};
}

}  // namespace dlaunch
