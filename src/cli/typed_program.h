// A program that a user typed: whether it is there, and how to start it.
#pragma once

#include <string>
#include <vector>

namespace dlaunch {

/// The words that start `program`: {"train"}, {"./train"} for a file that PATH does not lead to, or
/// a script with its interpreter, {"bash", "go.sh"}. Just `program` when nothing better is known.
[[nodiscard]] std::vector<std::string> words_to_start(const std::string& program);

/// Whether words_to_start() would start something: a file of the current folder, or a program in
/// PATH.
[[nodiscard]] bool can_start(const std::string& program);

/// "job.sh: this is a batch script of Slurm: ..." when the command runs such a script, which every
/// rank would run again; else empty. `command` is not empty.
[[nodiscard]] std::string batch_script_in(const std::vector<std::string>& command);

}  // namespace dlaunch
