// What Python environments that are staged need from outside: the interpreter of a virtual
// environment (PEP 405), the folders of packages that were installed editable (PEP 610; .pth files:
// site in the Python library reference), the targets of links. A node without it has a copy that
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
  const std::vector<std::string>& targets;  // the files and folders on the nodes that were named
  const std::vector<std::string>& sources;  // likewise, here
  const std::vector<StageEntry>& entries;
  std::function<std::string(std::uint32_t entry)> source;  // its path here
};

struct StagedEnvironments {
  struct Need {
    std::string path;         // on the nodes
    std::string environment;  // likewise
  };
  std::vector<Need> needs;         // at most 64; nothing that is staged, to whatever path
  std::vector<std::string> moved;  // environments whose path on the nodes is not the one here
};

/// Looks at and reads files. Folders with a pyvenv.cfg or, of conda and pixi, with conda-meta are
/// environments.
[[nodiscard]] StagedEnvironments staged_environments(const StagedEntries& staged);

/// What to do where nodes lack these needs: lines of an error.
[[nodiscard]] std::vector<std::string> advice_on(
    const std::vector<StagedEnvironments::Need>& needs);

}  // namespace dlaunch
