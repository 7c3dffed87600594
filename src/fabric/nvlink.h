// NVLinks as `nvidia-smi nvlink --status` tells them. Pure. Form of its text: NVIDIA's forum and
// the issue lists of azhpc-diagnostics and gpud have it of V100, A100, H100, B200; "NVML: ..." in
// place of links is NVIDIA's own wording.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/gpu_health.h"

namespace dlaunch::fabric {

/// Arguments for nvidia-smi.
[[nodiscard]] std::vector<std::string> nvlink_query();

/// Adds what nvlink_query() prints to the GPUs of the same UUID. A GPU that is listed without a
/// link, or as "Not Supported", has none; one that is not listed is left alone. At most 64 links a
/// GPU. Where there is no such text (old driver, an error), nothing is added.
void add_nvlinks(std::string_view text, std::vector<GpuHealth>& gpus);

/// What is wrong with the NVLinks, for each of `gpus`, one sentence each. A GPU that has fewer
/// active links than others of its model in the machine; and, in a machine with NVSwitches, one
/// that has none although its driver was asked. Links that are down alike on all GPUs of a machine
/// without switches are a bridge that nobody has put there, and no finding.
[[nodiscard]] std::vector<std::vector<std::string>> nvlink_findings(
    const std::vector<GpuHealth>& gpus, int nvswitches);

}  // namespace dlaunch::fabric
