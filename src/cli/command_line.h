// The command line: a thin front of CLI11, which only command_line.cc includes (it compiles for
// seconds).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch {

/// One command ("run") with its options. Targets must outlive parse().
class CommandOptions {
 public:
  void positional(const std::string& name, std::string& target, const std::string& help);
  /// `names`: "-n,--processes". `value`: what stands for the value in the help ("N").
  void value(const std::string& names, std::string& target, const std::string& help,
             const std::string& type);
  /// Likewise; nullopt: not given.
  void value(const std::string& names, std::optional<std::string>& target, const std::string& help,
             const std::string& type);
  void number(const std::string& names, std::optional<std::uint32_t>& target,
              const std::string& help, const std::string& type);
  /// May be given several times, one value each.
  void values(const std::string& names, std::vector<std::string>& target, const std::string& help,
              const std::string& type);
  void flag(const std::string& names, bool& target, const std::string& help);
  /// A flag that counts: -v is 1, -vv is 2.
  void count(const std::string& names, int& target, const std::string& help);
  /// The two options (by one of their names) cannot be given together.
  void exclude(const std::string& name, const std::string& other);
  /// The same command; the help lists options added through it below `title`.
  [[nodiscard]] CommandOptions in_group(const std::string& title) const;

 private:
  friend struct CommandParser;
  explicit CommandOptions(void* app) : app_(app) {}
  void* app_;  // CLI::App
  std::string group_ = "Options";
};

/// A command. Its options are only built when it was chosen, because that takes longer than
/// starting a rank.
struct Subcommand {
  std::string name;
  std::string description;
  std::string footer;  // below the help; holds the examples
  std::function<void(CommandOptions)> describe;
  std::function<int()> execute;
  bool takes_command = false;  // -- COMMAND, for the usage line
};

/// Commands in one group of `dlaunch --help`.
struct CommandGroup {
  std::string title;
  std::vector<Subcommand> commands;
};

/// Parses and runs the command that was chosen; returns its exit code, kOk after help, kUsage (with
/// one line on stderr) for what cannot be understood. `arguments`: those before "--", without the
/// program's name. `has_command`: something follows "--". Where options of the first command (run)
/// come first, that command is meant, as with mpirun.
[[nodiscard]] int run_command_line(const std::vector<CommandGroup>& groups,
                                   const std::vector<std::string>& arguments, bool has_command);

}  // namespace dlaunch
