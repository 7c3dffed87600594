// The document of a job file, in its native form: as it is, or translated from that of another
// system (dialects/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/document.h"
#include "spec/job_reader.h"
#include "spec/source.h"

namespace dlaunch::spec {

struct NativeForm {
  NodeId root = 0;      // a mapping
  std::string dialect;  // as its users call it; empty: the file is native
  bool took_arguments = false;
  std::vector<std::string> notes;
  std::string azure_size;  // JobReading::azure_size
};

/// Reads sources[0]. Nullopt: it holds no job file, which was reported, or nothing can be read in
/// it. Other errors are reported, too, while the result holds what could be translated.
[[nodiscard]] std::optional<NativeForm> native_form(const JobInput& input, Sources& sources,
                                                    Document& document, Diagnostics& diagnostics);

}  // namespace dlaunch::spec
