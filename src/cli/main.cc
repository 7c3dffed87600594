// dlaunch: splits the command line and runs the command.
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/print.h"
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
    // mpirun's spelling; CLI11 would read "-np" as -n with the value "p".
    words.own.push_back(std::string_view(argv[i]) == "-np" ? "-n" : with_two_dashes(argv[i]));
  }
  for (++i; i < argc; ++i) words.after.emplace_back(argv[i]);
  return words;
}

int run(int argc, char** argv) {
  // ssh runs us as its askpass program, with the question as the only argument.
  if (const char* where = std::getenv(kAskpassVariable); where != nullptr && argc == 2)
    return askpass(where, argv[1]);
  const Words words = split(argc, argv);
  const std::string_view first = words.own.empty() ? "" : std::string_view(words.own.front());
  if (first == "agent") return agent_command(words.own);
  if (first == "collectives") return collectives_command(words.own);
  if (first == "speed" && words.own.size() == 1) return speed_command();
  std::vector<CommandGroup> commands = {
      {"Start jobs",
       {run_command(words.after), rerun_command(words.after), plan_command(words.after),
        submit_command(words.after), exec_command(words.after), scale_command(words.after),
        stage_command(), collect_command(), up_command(), down_command()}},
      {"Look after runs",
       {runs_command(), report_command(), compare_command(), status_command(), logs_command(),
        stacks_command(), attach_command(words.after), stop_command()}},
      {"Look at machines",
       {check_command(), bench_command(), info_command(), self_check_command()}},
      {"Job files",
       {init_command(words.after), convert_command(words.after), export_command(words.after),
        schema_command()}},
      {"dlaunch itself", {version_command(), completion_command()}},
  };
  commands.back().commands.push_back(man_command(commands));
  commands.back().commands.push_back(help_command(commands, words.own));
  // Takes all words of argv, because "--" may be the word at the cursor.
  if (first == "complete") return complete_command(commands, {argv + 2, argv + argc});
  return run_command_line(commands, words.own, words.after);
}

}  // namespace

}  // namespace dlaunch

// An exception that nothing catches (a bug, or no memory) ends here: with one line, without a stack
// trace. It replaces libstdc++'s handler, which brings 50 KB to read the name of the type.
namespace __gnu_cxx {  // NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
void __verbose_terminate_handler() {  // NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& unexpected) {
    dlaunch::print_error(
        {dlaunch::exit_code::kInternal, std::string("internal error: ") + unexpected.what()});
  } catch (...) {  // NOLINT(bugprone-empty-catch): nothing to print
  }
  std::_Exit(dlaunch::exit_code::kInternal);
}
}  // namespace __gnu_cxx

int main(int argc, char** argv) {
  return dlaunch::run(argc, argv);
}
