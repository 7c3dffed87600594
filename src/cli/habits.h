// Options of other launchers that users type to dlaunch by habit.
#pragma once

#include <string>
#include <vector>

#include "model/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace dlaunch {

/// Whether one of the words is an option of another launcher but not of `app`, a command that takes
/// a job.
[[nodiscard]] bool has_habits(const CLI::App& app, const std::vector<std::string>& arguments);

/// The words of the command `app` with dlaunch's options in place of those of other launchers.
/// `after`: the words after "--". Error (kUsage): an option that has no exact equivalent in
/// dlaunch, with the line to type.
[[nodiscard]] Result<std::vector<std::string>> without_habits(
    const CLI::App& app, const std::vector<std::string>& arguments,
    const std::vector<std::string>& after);

}  // namespace dlaunch
