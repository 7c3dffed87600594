#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/reach_run.h"
#include "jobfile/shell_quote.h"
#include "launch/terminals/attached_terminal.h"
#include "launch/terminals/terminal_link.h"
#include "model/rank_list.h"

namespace dlaunch {

namespace {

constexpr std::uint32_t kMostRanks = 1 << 20;

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch attach 3                              a shell beside rank 3 of the live run\n"
    "  dlaunch attach k3f 3 -- nvidia-smi            a command, on the rank's node\n"
    "  dlaunch attach k3f 3 -- py-spy top --pid {pid}\n"
    "  dlaunch attach k3f 3 -- gdb -p {pid}          {pid}: the rank's process\n"
    "  dlaunch attach k3f 3 -- env | grep NCCL       without a terminal: plain output\n"
    "\n"
    "The command gets the rank's environment, working directory, user, CPUs, limits and\n"
    "container. It ends when you leave it, or when the rank's attempt ends. To leave a\n"
    "command that hangs: Enter, ~ and a dot.\n"
    "Exit code: the command's (128+n for signal n); 64 no such run or rank, or it is not\n"
    "running; 69 the run is on another machine, or the node was lost; 70 the run's launcher\n"
    "has ended; 77 another user's run; 124 no answer in time; 126/127 the command cannot be\n"
    "executed/found; 129 you left the command.";

struct AttachCommand {
  std::string run;
  std::string rank;
  TrailingArguments command;

  int execute() {
    if (rank.empty()) std::swap(run, rank);  // RUN is optional, RANK is not
    const auto ranks = parse_ranks(rank, kMostRanks);
    if (!ranks || ranks->size() != 1) {
      return print_error(
          {exit_code::kUsage, rank.empty() ? "attach to which rank? for example: dlaunch attach 0"
                                           : "\"" + rank +
                                                 "\" is not a rank; for example: dlaunch "
                                                 "attach RUN 0"});
    }
    const std::string program = command.empty() ? "" : " -- " + jobfile::shell_line(command);
    auto reached =
        reach_run(run, "dlaunch attach", kTerminalSocket, SOCK_SEQPACKET, ' ' + rank + program);
    if (!reached) return reached.error();
    const auto code = attach_to_rank(*std::move(reached), Rank(ranks->front()), std::move(command));
    return code ? *code : print_error(code.error());
  }
};

}  // namespace

Subcommand attach_command(const TrailingArguments& arguments) {
  auto attach = std::make_shared<AttachCommand>();
  attach->command = arguments;
  const auto describe = [attach](CommandOptions options) {
    options.positional(
        "RUN", attach->run,
        "Unique beginning or end of an id, or a folder\n(default: the only run that is running)");
    options.positional("RANK", attach->rank, "The rank's number");
  };
  return {"attach",
          "Open a terminal beside a rank, in its environment and folder",
          kFooter,
          describe,
          [attach] { return attach->execute(); },
          true};
}

}  // namespace dlaunch
