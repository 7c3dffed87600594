// Looks whether what ranks need is on this node, before any of them starts anywhere.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "agent/ranks/module_question.h"
#include "agent/side_process.h"
#include "model/environment.h"
#include "model/exit_status.h"
#include "wire/message.h"

namespace dlaunch {

struct PlaceLook {
  wire::PlacesMissing answer;
  /// Modules that were not found as files. Only their Python knows whether they are missing.
  std::vector<ModuleQuestion> unseen;
};

/// Missing things in the order workdir, programs, files, what a Python is to run. Without the
/// workdir, what is meant from it is not looked for. `login`: the agent's own environment. Starts
/// nothing, and reads no more than metadata, pyvenv.cfg and the imports of a Python script; a file
/// counts as there when this user may read it.
[[nodiscard]] PlaceLook look_for_places(const wire::CheckPlaces& wanted, const Environment& login);

/// Answers the launcher's questions, each once, in their order. Lives on the agent's one thread.
class PlaceCheck {
 public:
  using Report = std::function<void(wire::PlacesMissing)>;

  PlaceCheck(EventLoop& loop, Report report) : report_(std::move(report)), process_(loop) {}

  /// Answers at once, unless a Python has to be asked. That has a limit, after which a module
  /// counts as there; so does a further question.
  void begin(const wire::CheckPlaces& wanted, const Environment& login);

 private:
  void heard(const std::vector<ModuleQuestion>& unseen, const std::string& answer);
  void finish();

  Report report_;
  SideProcess process_;
  wire::PlacesMissing answer_;  // to the question that it is working on
};

}  // namespace dlaunch
