// The document of a job file in its native form: as written, or translated from another system's
// format (dialects/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobfile/diagnostics.h"
#include "jobfile/document.h"
#include "jobfile/job_reader.h"
#include "jobfile/source.h"

namespace dlaunch::jobfile {

struct NativeForm {
  NodeId root = 0;      // a mapping
  std::string dialect;  // the dialect's usual name; empty: the file is native
  bool took_arguments = false;
  std::vector<std::string> notes;
  std::string azure_size;  // JobReading::azure_size
};

/// Reads sources[0]. Nullopt: the file is not a job file or cannot be parsed; this was reported.
/// Other errors are reported as well, and the result holds the translated rest.
[[nodiscard]] std::optional<NativeForm> native_form(const JobInput& input, Sources& sources,
                                                    Document& document, Diagnostics& diagnostics);

}  // namespace dlaunch::jobfile
