// The summary of a run whose engine was killed or did not answer; the front writes it.
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

/// Writes summary.json into the folder of a run that has none. All ranks count as lost, because
/// their ends were not seen. A failure is reported on stderr.
void record_engine_death(const std::string& run_folder, const std::string& shown_folder,
                         const EngineDeath& death);

}  // namespace dlaunch
