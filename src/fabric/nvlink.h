// Parses `nvidia-smi nvlink --status`. Pure. The format (on V100, A100, H100 and B200) is taken
// from NVIDIA's forum and from issues of azhpc-diagnostics and gpud. Instead of links, nvidia-smi
// may print "NVML: ...".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/gpu_health.h"

namespace dlaunch::fabric {

/// Arguments for nvidia-smi.
[[nodiscard]] std::vector<std::string> nvlink_query();

/// Adds the output of nvlink_query() to the GPUs with the same UUID. A GPU that is listed without a
/// link, or as "Not Supported", has none; a GPU that is not listed stays unchanged. At most 64
/// links per GPU. Adds nothing for other text (old driver, an error).
void add_nvlinks(std::string_view text, std::vector<GpuHealth>& gpus);

/// What is wrong with the NVLinks of each of `gpus`, one sentence for each finding. A GPU should
/// have as many active links as other GPUs of its model in the machine. In a machine with
/// NVSwitches, a GPU that has links should have an active one. Links that are down on all GPUs of a
/// machine without switches only mean that there is no bridge, which is not a finding.
[[nodiscard]] std::vector<std::vector<std::string>> nvlink_findings(
    const std::vector<GpuHealth>& gpus, int nvswitches);

}  // namespace dlaunch::fabric
