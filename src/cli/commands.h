// The commands, one file each.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace dlaunch {

/// The arguments after "--" on the command line, byte for byte.
using TrailingArguments = std::vector<std::string>;

[[nodiscard]] Subcommand run_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand rerun_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand plan_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand exec_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand submit_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand convert_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand init_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand export_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand scale_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand stage_command();
[[nodiscard]] Subcommand collect_command();
[[nodiscard]] Subcommand check_command();
[[nodiscard]] Subcommand info_command();
[[nodiscard]] Subcommand bench_command();
[[nodiscard]] Subcommand schema_command();
[[nodiscard]] Subcommand runs_command();
[[nodiscard]] Subcommand compare_command();
[[nodiscard]] Subcommand report_command();
[[nodiscard]] Subcommand logs_command();
[[nodiscard]] Subcommand status_command();
[[nodiscard]] Subcommand stacks_command();
[[nodiscard]] Subcommand attach_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand stop_command();
[[nodiscard]] Subcommand up_command();
[[nodiscard]] Subcommand down_command();
[[nodiscard]] Subcommand self_check_command();
[[nodiscard]] Subcommand completion_command();
[[nodiscard]] Subcommand version_command();
/// `groups` must outlive the command, which may be added to one of them.
[[nodiscard]] Subcommand man_command(const std::vector<CommandGroup>& groups);
/// `groups`: as above. `words`: the command line, with the command's name.
[[nodiscard]] Subcommand help_command(const std::vector<CommandGroup>& groups,
                                      const std::vector<std::string>& words);

// Internal commands, which no help text lists. `words`: the command line, with the command's name.

/// The guardian of an agent, which a connector starts on a node; stdin and stdout are its channel.
///
/// `agent --session HEX --node N [--after HEX] [--pid-namespace] [--build ID --size BYTES]`: prints
/// that it is ready, then guards the agent. With `--after`, it first waits until the processes of
/// that lost session are gone; with `--build`, it first checks that the staged binary is whole. If
/// either fails, it prints an error instead. `agent --attach HEX --node N`: passes stdin and stdout
/// to the agent of that session on this node (node/session/attach.h). `agent --enter FOLDER [--at
/// WORKDIR] RANK`: the first process of a rank's container. `agent --probe`: prints the build id,
/// which shows that this machine can execute this file. `agent --py-spy`: writes this machine's
/// py-spy to stdout (launch/questions/own_py_spy.h). `agent --unpack`: unpacks an archive
/// (node/unpack/unpack_main.h).
[[nodiscard]] int agent_command(const std::vector<std::string>& words);

/// A rank of a measurement.
///
/// `collectives --backend mpi|nccl MODE KEY=VALUE...`: becomes the measuring program
/// (measure/collectives/program/program.h), with its environment and descriptors; returns only if
/// it cannot: kPreflight, with what is missing on this node. `collectives --probe`: prints which
/// back-ends this dlaunch has, and whether their libraries are installed.
[[nodiscard]] int collectives_command(const std::vector<std::string>& words);

/// The process that measures this machine for `dlaunch check --local`: prints one line of JSON
/// (measure/speed/local_speed.h).
[[nodiscard]] int speed_command();

/// What a shell runs at every Tab: prints a line for each word that is possible at the cursor,
/// followed by a tab and a description. `words`: those after "dlaunch", the last one at the cursor.
[[nodiscard]] int complete_command(const std::vector<CommandGroup>& groups,
                                   const std::vector<std::string>& words);

}  // namespace dlaunch
