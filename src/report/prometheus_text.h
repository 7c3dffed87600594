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
  std::vector<std::string> roles;  // index = rank; a missing one is empty
  std::string launcher;            // its machine
  std::string end;                 // "done", "failed", "stopped"; empty: the run goes on
  std::optional<int> exit_code;    // once it has ended
};

/// docs/how-to/prometheus.md has the metrics. All names begin with "dlaunch_", all samples have
/// the label run, those of ranks also rank, role and host.
[[nodiscard]] std::string prometheus_text(const PrometheusInput& input);

}  // namespace dlaunch
