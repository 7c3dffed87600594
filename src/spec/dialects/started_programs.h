// What a shell command starts, as far as its text tells: launchers in it start ranks of their own.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::spec {

/// The simple commands of a shell text, in order, each with its words as the program gets them
/// (XCU 2.9). Left away are what only leads to a program: assignments and redirections, reserved
/// words (if, then, do, {), and programs that start another one (sudo, env, nohup, timeout). The
/// text of `sh -c` and `eval` counts too. Variables stay as they are written.
[[nodiscard]] std::vector<std::vector<std::string>> started_commands(std::string_view command);

/// Which of `programs` (without folders) one of the commands begins with; empty: none.
[[nodiscard]] std::string_view started_program(std::string_view command,
                                               std::initializer_list<std::string_view> programs);

/// A program that starts workers on its own node, and what stands behind it.
struct WorkerLauncher {
  std::string name;  // "torchrun", "accelerate launch", "torch.distributed.run"
  std::vector<std::string> arguments;
};

/// The first of the commands that is one; nullopt: none is.
[[nodiscard]] std::optional<WorkerLauncher> started_launcher(std::string_view command);

/// "$NAME" or "${NAME": whether the text asks for a variable.
[[nodiscard]] bool mentions_variable(std::string_view text, std::string_view name);

/// Whether each process starts workers of its own: a launcher, or somebody who asks for $NODE_RANK
/// and for no other rank.
[[nodiscard]] bool starts_own_workers(std::string_view command);

}  // namespace dlaunch::spec
