// The command line: a thin layer over CLI11, which only command_line.cc includes because it takes
// seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// One command ("run") with its options. Targets must outlive parse().
class CommandOptions {
 public:
  void positional(const std::string& name, std::string& target, const std::string& help);
  /// `names`: "-n,--processes". `type`: the placeholder of the value in the help ("N").
  void value(const std::string& names, std::string& target, const std::string& help,
             const std::string& type);
  /// The same; `target` stays nullopt if the option is not given.
  void value(const std::string& names, std::optional<std::string>& target, const std::string& help,
             const std::string& type);
  void number(const std::string& names, std::optional<std::uint32_t>& target,
              const std::string& help, const std::string& type);
  /// May be given several times, with one value each.
  void values(const std::string& names, std::vector<std::string>& target, const std::string& help,
              const std::string& type);
  /// Takes the words that follow it up to the next option, perhaps none. nullopt: the option is not
  /// given.
  void list(const std::string& names, std::optional<std::vector<std::string>>& target,
            const std::string& help, const std::string& type);
  void flag(const std::string& names, bool& target, const std::string& help);
  /// A flag that counts: -v is 1, -vv is 2.
  void count(const std::string& names, int& target, const std::string& help);
  /// The two options, each identified by one of its names, cannot be given together.
  void exclude(const std::string& name, const std::string& other);
  /// The same command; its help lists the options that are added through the result below `title`.
  [[nodiscard]] CommandOptions in_group(const std::string& title) const;

 private:
  friend struct CommandParser;
  explicit CommandOptions(void* app, const std::vector<std::string>* given = nullptr)
      : app_(app), given_(given) {}
  [[nodiscard]] bool is_wanted(std::string_view names) const;
  void* app_;  // CLI::App
  /// Words of the command line; only options that are among them are added. Null: all options are
  /// added.
  const std::vector<std::string>* given_;
  std::string group_ = "Options";
};

/// A command. Its options are built only when it is chosen, because building all takes longer than
/// starting a rank.
struct Subcommand {
  std::string name;
  std::string description;
  std::string footer;  // below the help; holds the examples
  std::function<void(CommandOptions)> describe;
  std::function<int()> execute;
  bool takes_command = false;  // the usage line ends with "-- COMMAND"
  bool takes_any_words = false;  // execute() reads them, even those that begin with "-"
};

/// Commands in one group of `dlaunch --help`.
struct CommandGroup {
  std::string title;
  std::vector<Subcommand> commands;
};

/// An option or argument of a command, as its help shows it.
struct OptionRow {
  std::vector<std::string> names;  // "-n", "--np"; for an argument its name, "JOB"
  std::string type;                // the placeholder of its value; empty: it takes none
  std::string help;                // may have line breaks
  std::string group;               // its title in the help
  [[nodiscard]] bool is_argument() const { return !names.front().starts_with('-'); }
};

struct CommandHelp {
  std::string usage;  // one line for each form of the command line
  std::vector<OptionRow> options;
};

[[nodiscard]] CommandHelp help_of(const Subcommand& command);

/// The command of that name; null: there is none.
[[nodiscard]] const Subcommand* find_command(const std::vector<CommandGroup>& groups,
                                             std::string_view name);

/// Parses and runs the chosen command. Returns its exit code; kOk after help; kUsage, with one line
/// on stderr, for a wrong command line. `arguments`: those before "--", without the program's name.
/// `after`: those after it. A command line that begins with options of the first command (run) runs
/// that command, as with mpirun. Options of other launchers work if they have an exact meaning
/// (jobfile/launch_lines/launcher_options.h).
[[nodiscard]] int run_command_line(const std::vector<CommandGroup>& groups,
                                   const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& after);

}  // namespace dlaunch
