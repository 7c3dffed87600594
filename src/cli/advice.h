// Advice for a command line that does not work: habits of other launchers, and programs typed where
// dlaunch expects something else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// What to type instead of a word that other tools have as a command ("ps", "kill"): "to list runs
/// and their states: dlaunch runs"; nullopt: not known.
[[nodiscard]] std::optional<std::string> command_meant(std::string_view word);

/// "use dlaunch instead: dlaunch run -n 4 -- ./a" for a launch line of another launcher, with the
/// options that are left out below it; nullopt: `words` are not such a line.
[[nodiscard]] std::optional<std::string> line_instead(const std::vector<std::string>& words);

/// Whether the word is more likely meant as a command of a launcher than as a program: "rm",
/// "resume".
[[nodiscard]] bool sounds_like_command(std::string_view word);

/// mpirun spells long options with one dash ("-hostfile"), which CLI11 would read as "-h". Returns
/// such an option with two dashes, any other word unchanged.
[[nodiscard]] std::string with_two_dashes(std::string_view word);

/// The words that start `program`: {"train"}, {"./train"} for a file outside PATH, or a script with
/// its interpreter, {"bash", "go.sh"}. Only `program` if nothing better is known.
[[nodiscard]] std::vector<std::string> words_to_start(const std::string& program);

/// Whether words_to_start() names something that exists: a file of the current folder, or a program
/// in PATH.
[[nodiscard]] bool can_start(const std::string& program);

/// "job.sh: this is a batch script of Slurm: ..." if the command runs such a script, which would
/// then run on every rank; else empty. `command` must not be empty.
[[nodiscard]] std::string batch_script_in(const std::vector<std::string>& command);

}  // namespace dlaunch
