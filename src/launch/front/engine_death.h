// The summary of a run whose engine was killed or did not answer: the front writes it in its
// place.
#pragma once

#include <string>

#include "model/report.h"

namespace dlaunch {

struct EngineDeath {
  std::string what;
  Cause cause = Cause::internal;
  int exit_code = exit_code::kInternal;
  int signal = 0;  // when cancelled
};

/// Writes summary.json into the folder of a run that has none. The ranks are lost: their ends were
/// not seen. Failing that is said on stderr.
void record_engine_death(const std::string& run_folder, const std::string& shown_folder,
                         const EngineDeath& death);

}  // namespace dlaunch
