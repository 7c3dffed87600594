// Finds a folder's git repository, to read its ignore files and its commit. It does not
// start git.
#pragma once

#include <optional>
#include <string>

#include "model/result.h"

namespace dlaunch {

struct GitFolder {
  std::string top;     // of the work tree, absolute
  std::string own;     // with HEAD
  std::string common;  // with branches and info/exclude; that of all work trees of the repository

  /// May be missing.
  [[nodiscard]] std::string exclude_file() const { return common + "/info/exclude"; }
};
/// The nearest folder, `folder` itself or above, with a ".git" in it: a folder, or the file of a
/// worktree or submodule (gitrepository-layout(5)). `folder` must be a real path.
[[nodiscard]] std::optional<GitFolder> find_git_folder(const std::string& folder);

/// The text of a .gitignore or info/exclude; empty: it is missing, or no file (a link, which git
/// does not read either). Errors, exit_code::kPreflight: it cannot be read or is larger than 1 MiB.
/// What it keeps back must not be copied then.
[[nodiscard]] Result<std::string> read_ignore_file(const std::string& path);

}  // namespace dlaunch
