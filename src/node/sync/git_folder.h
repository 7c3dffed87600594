// The git repository that contains a folder: its ignore files and its commit, read without git(1).
#pragma once

#include <optional>
#include <string>

#include "model/result.h"
#include "runs/job_record.h"

namespace dlaunch {

struct GitFolder {
  std::string top;     // of the work tree, absolute
  std::string own;     // with HEAD
  std::string common;  // with branches and info/exclude; shared by all work trees of the repository

  /// The file may be missing.
  [[nodiscard]] std::string exclude_file() const { return common + "/info/exclude"; }
};

/// The nearest folder, `folder` itself or above, with a ".git" in it: a folder, or the file of a
/// worktree or submodule (gitrepository-layout(5)). `folder` must be a real path.
[[nodiscard]] std::optional<GitFolder> find_git_folder(const std::string& folder);

/// The text of a .gitignore or info/exclude; empty: it is missing or is not a regular file (git
/// does not follow a link either). Error: exit_code::kPreflight if it cannot be read or is larger
/// than 1 MiB. After an error nothing may be copied, because what the file excludes is unknown.
[[nodiscard]] Result<std::string> read_ignore_file(const std::string& path);

/// The checked-out commit and branch of the work tree that contains `folder` (a real path). Does
/// not set `changes`. Empty without a work tree, or if refs have another format (reftable).
[[nodiscard]] GitState read_git(const std::string& folder);

}  // namespace dlaunch
