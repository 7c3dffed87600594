// Checks, before any rank starts anywhere, that everything the ranks need is on this node.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "model/environment.h"
#include "model/exit_status.h"
#include "node/ranks/module_probe.h"
#include "node/side_process.h"
#include "wire/message.h"

namespace dlaunch {

struct PrerequisiteReport {
  wire::PrerequisitesMissing answer;
  /// Modules that were not found as files; only their Python knows whether they are missing.
  std::vector<ModuleProbe> unseen;
};

/// Reports what is missing in the order workdir, programs, files, Python scripts and modules.
/// Without the workdir, nothing relative to it is checked. `login`: the agent's own environment.
/// Starts nothing and reads only metadata, pyvenv.cfg and the imports of Python scripts; a file
/// counts as present if this user may read it.
[[nodiscard]] PrerequisiteReport check_prerequisites(const wire::CheckPrerequisites& wanted,
                                                     const Environment& login);

/// Answers each CheckPrerequisites of the launcher once, in order. Lives on the agent's one thread.
class PrerequisiteCheck {
 public:
  using Report = std::function<void(wire::PrerequisitesMissing)>;

  PrerequisiteCheck(EventLoop& loop, Report report) : report_(std::move(report)), process_(loop) {}

  /// Answers at once unless a Python must be probed. The probe has a limit, after which a module
  /// counts as present; a further request ends the probe in the same way.
  void begin(const wire::CheckPrerequisites& wanted, const Environment& login);

 private:
  void add_missing(const std::vector<ModuleProbe>& unseen, const std::string& answer);
  void finish();

  Report report_;
  SideProcess process_;
  wire::PrerequisitesMissing answer_;  // to the current request
};

}  // namespace dlaunch
