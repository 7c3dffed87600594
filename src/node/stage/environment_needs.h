// What staged Python environments need from outside: the interpreter of a virtual environment
// (PEP 405), the folders of packages that were installed editable (PEP 610; .pth files: site in the
// Python library reference), the targets of links. A node that lacks one of these has a copy that
// cannot be used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/stage.h"

namespace dlaunch {

/// What a staging copies.
struct StagedEntries {
  const std::vector<std::string>& roots;    // folders on the nodes, by StageEntry::root
  const std::vector<std::string>& targets;  // the named files and folders, on the nodes
  const std::vector<std::string>& sources;  // likewise, here
  const std::vector<StageEntry>& entries;
  std::function<std::string(std::uint32_t entry)> source;  // the entry's path here
};

struct StagedEnvironments {
  struct Need {
    std::string path;         // on the nodes
    std::string environment;  // likewise
  };
  std::vector<Need> needs;         // at most 64; paths that are not staged themselves
  std::vector<std::string> moved;  // environments that have another path on the nodes than here
};

/// Looks at and reads files. A folder is an environment if it has a file pyvenv.cfg or, as with
/// conda and pixi, a folder conda-meta.
[[nodiscard]] StagedEnvironments staged_environments(const StagedEntries& staged);

/// Lines for an error that say what to do if nodes lack these paths.
[[nodiscard]] std::vector<std::string> advice_on(
    const std::vector<StagedEnvironments::Need>& needs);

}  // namespace dlaunch
