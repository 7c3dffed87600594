// Parses `nvidia-smi nvlink --status`. Pure. Its format, on V100, A100, H100 and B200, is taken
// from NVIDIA's forum and the issue lists of azhpc-diagnostics and gpud; "NVML: ..." in place of
// links is NVIDIA's wording.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/gpu_health.h"

namespace dlaunch::fabric {

/// Arguments for nvidia-smi.
[[nodiscard]] std::vector<std::string> nvlink_query();

/// Adds the output of nvlink_query() to the GPUs with the same UUID. A GPU that is listed without a
/// link, or as "Not Supported", has none; one that is not listed stays as it is. At most 64 links
/// per GPU. Adds nothing for other text (old driver, an error).
void add_nvlinks(std::string_view text, std::vector<GpuHealth>& gpus);

/// What is wrong with the NVLinks of each of `gpus`, one sentence each: fewer active links than
/// other GPUs of its model in the machine or, in a machine with NVSwitches, none although its
/// driver was asked. Links that are down on all GPUs of a machine without switches are a missing
/// bridge, and not a finding.
[[nodiscard]] std::vector<std::vector<std::string>> nvlink_findings(
    const std::vector<GpuHealth>& gpus, int nvswitches);

}  // namespace dlaunch::fabric
