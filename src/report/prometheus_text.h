// The state of a run in the text format of Prometheus, for node_exporter's textfile collector
// (https://prometheus.io/docs/instrumenting/exposition_formats). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/status.h"

namespace dlaunch {

struct PrometheusInput {
  StatusReply status;
  std::vector<std::string> roles;  // index = rank; a missing element counts as empty
  std::string launcher;            // the launcher's machine
  std::string end;                 // "done", "failed", "stopped"; empty: the run goes on
  std::optional<int> exit_code;    // once it has ended
};

/// docs/how-to/prometheus.md lists the metrics. All names begin with "dlaunch_". All samples have
/// the label run; those of ranks also have rank, role and host.
[[nodiscard]] std::string prometheus_text(const PrometheusInput& input);

}  // namespace dlaunch
