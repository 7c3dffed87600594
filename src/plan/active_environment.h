// Which programs of ranks come from the virtual or conda environment that is active where dlaunch
// was started: on a node without it they would be other programs, or none. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// What is looked for on the launcher's machine.
struct LauncherFiles {
  std::function<bool(const std::string& path)> is_folder;
  /// As execvp(3) finds it, absolute; empty: not there.
  std::function<std::string(const std::string& name, const std::string& search_path)> find_program;
  /// The beginning of a regular file, relative to the workdir; nullopt: there is none.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

struct ActiveEnvironment {
  std::string kind;       // "virtual environment", "conda environment"
  std::string folder;     // absolute, without '/' at the end
  bool by_uv = false;     // uv has made it
  std::string project{};  // the folder of uv's project that it belongs to; empty: none
  bool operator==(const ActiveEnvironment&) const = default;
};

/// A program that ranks take from an active environment.
struct EnvironmentUse {
  ActiveEnvironment environment;
  std::string program;                     // as the ranks call it: "python3"
  std::optional<std::string> search_path;  // PATH, where the job sets one
  std::string path;                        // absolute: where it is on the launcher's machine
  bool operator==(const EnvironmentUse&) const = default;
};

/// VIRTUAL_ENV and CONDA_PREFIX, where the folder exists and its bin is in PATH.
[[nodiscard]] std::vector<ActiveEnvironment> active_environments(const LaunchPlan& plan,
                                                                 const LauncherFiles& files);

/// What the ranks of a node take from these, as far as it can be told: the program of a command,
/// each Python that it names, and likewise of the commands in a shell line, in setup, or in a shell
/// script that the command runs. Nothing of a shell text that chooses an environment itself
/// (chooses_environment()), and of ranks in containers.
[[nodiscard]] std::vector<EnvironmentUse> environment_uses(
    const JobSpec& spec, const LaunchPlan& plan, NodeIndex node,
    const std::vector<ActiveEnvironment>& environments, const LauncherFiles& files);

/// Whether a shell text sets PATH, activates an environment, loads modules, or runs what brings an
/// environment of its own (uv run, conda run, a container).
[[nodiscard]] bool chooses_environment(std::string_view shell_text);

/// Words of a shell text that may be programs: those where a command may begin, and every Python.
[[nodiscard]] std::vector<std::string> programs_in(std::string_view shell_text);

}  // namespace dlaunch
