#pragma once

#include <string>

#include "report/html/run_story.h"

namespace dlaunch {

/// The run in the Trace Event Format, which https://ui.perfetto.dev and chrome://tracing open: one
/// process per node, one thread per rank, and one process for phases, attempts and incidents. Pure.
[[nodiscard]] std::string trace_json(const RunStory& story);

}  // namespace dlaunch
