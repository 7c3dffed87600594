// The last word on a run whose engine was killed: the front says it in the engine's place.
#pragma once

#include <string>

namespace dlaunch {

/// Writes summary.json (cause "internal", exit code 70) into the folder of a run that has none. The
/// ranks are lost: nobody saw their ends. Failing that is said on stderr.
void record_engine_death(const std::string& run_folder, const std::string& shown_folder,
                         const std::string& what);

}  // namespace dlaunch
