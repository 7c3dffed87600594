// dlaunch: reads the command line and hands over to the command.
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/agent_command.h"
#include "cli/collectives_command.h"
#include "cli/commands.h"
#include "cli/foreign_words.h"
#include "cli/print.h"
#include "cli/speed_command.h"
#include "launch/connect/askpass.h"
#include "model/result.h"

namespace dlaunch {

namespace {

struct Words {
  std::vector<std::string> own;  // before "--", without the program's name
  TrailingArguments after;
};

Words split(int argc, char** argv) {
  Words words;
  int i = 1;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    // mpirun's spelling; CLI11 would read it as -n with the value "p".
    words.own.push_back(std::string_view(argv[i]) == "-np" ? "-n" : with_two_dashes(argv[i]));
  }
  for (++i; i < argc; ++i) words.after.emplace_back(argv[i]);
  return words;
}

int run(int argc, char** argv) {
  // Started by our own ssh, with the question as the one argument.
  if (const char* where = std::getenv(kAskpassVariable); where != nullptr && argc == 2)
    return askpass(where, argv[1]);
  const Words words = split(argc, argv);
  if (is_agent_command(words.own)) return agent_command(words.own);
  if (is_collectives_command(words.own)) return collectives_command(words.own);
  if (is_speed_command(words.own)) return speed_command();
  const std::vector<CommandGroup> commands = {
      {"Start jobs",
       {run_command(words.after), plan_command(words.after), submit_command(words.after),
        exec_command(words.after), scale_command(words.after)}},
      {"Look after runs", {runs_command(), logs_command(), stop_command()}},
      {"Look at machines", {check_command(), bench_command(), info_command()}},
      {"Job files", {convert_command(words.after), export_command(words.after), schema_command()}},
  };
  return run_command_line(commands, words.own, !words.after.empty());
}

}  // namespace

}  // namespace dlaunch

int main(int argc, char** argv) {
  try {
    return dlaunch::run(argc, argv);
  } catch (const std::exception& unexpected) {
    // A fault of ours, or no memory: said in one line, without a stack trace.
    return dlaunch::print_error(
        {dlaunch::exit_code::kInternal, std::string("internal error: ") + unexpected.what()});
  }
}
