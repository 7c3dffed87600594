// Looks whether what ranks need is on this node, before any of them starts anywhere.
#pragma once

#include <vector>

#include "model/environment.h"
#include "model/exit_status.h"
#include "wire/message.h"

namespace dlaunch {

/// In the order workdir, programs, files. Without the workdir, what is meant from it is not looked
/// for. `login`: the agent's own environment. Reads metadata only; a file counts as there when this
/// user may read it.
[[nodiscard]] std::vector<StartFailure> missing_places(const wire::CheckPlaces& wanted,
                                                       const Environment& login);

}  // namespace dlaunch
