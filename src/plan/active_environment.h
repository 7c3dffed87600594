// Finds the ranks' programs that belong to a virtual or conda environment that is active where
// dlaunch was started: on a node without that environment, ranks would run other programs or none.
// Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// Access to files on the launcher's machine.
struct LauncherFiles {
  std::function<bool(const std::string& path)> is_folder;
  /// Looks a name up like execvp(3). The result is an absolute path; empty: not found.
  std::function<std::string(const std::string& name, const std::string& search_path)> find_program;
  /// The beginning of a regular file, relative to the workdir; nullopt: no such file.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

struct ActiveEnvironment {
  std::string kind;       // "virtual environment", "conda environment"
  std::string folder;     // absolute, without '/' at the end
  bool by_uv = false;     // created by uv
  std::string project{};  // the folder of its uv project; empty: none
  bool operator==(const ActiveEnvironment&) const = default;
};

/// A program that ranks run from an active environment.
struct EnvironmentUse {
  ActiveEnvironment environment;
  std::string program;                     // as the ranks call it: "python3"
  std::optional<std::string> search_path;  // PATH, if the job sets one
  std::string path;                        // absolute, on the launcher's machine
  bool operator==(const EnvironmentUse&) const = default;
};

/// The environments of VIRTUAL_ENV and CONDA_PREFIX whose folder exists and whose bin is in PATH.
[[nodiscard]] std::vector<ActiveEnvironment> active_environments(const LaunchPlan& plan,
                                                                 const LauncherFiles& files);

/// The uses by the ranks of a node, as far as the commands show them. Considers the program of a
/// command and each Python that it names, also in a shell line, in setup, and in a shell script
/// that the command runs. Excludes shell text that selects an environment itself
/// (chooses_environment()) and ranks in containers.
[[nodiscard]] std::vector<EnvironmentUse> environment_uses(
    const JobSpec& spec, const LaunchPlan& plan, NodeRank node,
    const std::vector<ActiveEnvironment>& environments, const LauncherFiles& files);

/// Whether a shell text sets PATH, activates an environment, loads modules, or uses a tool that
/// brings its own environment (uv run, conda run, a container).
[[nodiscard]] bool chooses_environment(std::string_view shell_text);

/// The words of a shell text that may be programs: the first word of each command, every Python,
/// and every script that activates an environment (`source /venv/bin/activate`).
[[nodiscard]] std::vector<std::string> programs_in(std::string_view shell_text);

}  // namespace dlaunch
