#include "fabric/azure_sizes.h"

#include <optional>

#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

struct Known {
  const char* name;
  bool has_sriov;
  const char* ports;
};

// Sizes with InfiniBand; other sizes are judged by the letters of their names.
constexpr Known kKnown[] = {
    {"A8", false, ""},
    {"A9", false, ""},
    {"H16r", false, ""},
    {"H16mr", false, ""},
    {"NC24r", false, ""},
    {"NC24rs_v2", true, "1 port"},
    {"NC24rs_v3", true, "1 port"},
    {"ND24rs", true, "1 port"},
    {"ND40rs_v2", true, "1 port of 100 Gb/s (EDR)"},
    {"ND96asr_v4", true, "8 ports of 200 Gb/s (HDR), one for each GPU"},
    {"ND96amsr_A100_v4", true, "8 ports of 200 Gb/s (HDR), one for each GPU"},
    {"ND96isr_H100_v5", true, "8 ports of 400 Gb/s (NDR), one for each GPU"},
    {"ND96isr_H200_v5", true, "8 ports of 400 Gb/s (NDR), one for each GPU"},
    {"ND96isr_MI300X_v5", true, "8 ports of 400 Gb/s (NDR), one for each GPU"},
    {"HB60rs", true, "1 port of 100 Gb/s (EDR)"},
    {"HC44rs", true, "1 port of 100 Gb/s (EDR)"},
    {"HB120rs_v2", true, "1 port of 200 Gb/s (HDR)"},
    {"HB120rs_v3", true, "1 port of 200 Gb/s (HDR)"},
    {"HB176rs_v4", true, "1 port of 400 Gb/s (NDR)"},
};

/// The letters after the number of vCPUs: "asr" of "nd96asr_v4", "rs" of "hb120-16rs_v3". nullopt:
/// the name has no letters of a family, or no number.
std::optional<std::string> features_of(std::string_view name) {
  std::size_t at = 0;
  while (at < name.size() && name[at] >= 'a' && name[at] <= 'z') ++at;
  const std::size_t number = at;
  while (at < name.size() && (is_digit(name[at]) || name[at] == '-')) ++at;
  if (number == 0 || at == number) return std::nullopt;
  const std::size_t begin = at;
  while (at < name.size() && name[at] >= 'a' && name[at] <= 'z') ++at;
  const bool ends_well = at == name.size() || name[at] == '_';
  return ends_well ? std::optional(std::string(name.substr(begin, at - begin))) : std::nullopt;
}

constexpr const char* kWithoutSriov =
    "InfiniBand without SR-IOV: only Intel MPI over Network Direct can use it. Linux shows no RDMA "
    "device, so NCCL and UCX go over TCP";
constexpr const char* kEthernet = "any mlx5 device on it is Ethernet (Accelerated Networking)";

}  // namespace

Result<AzureSize> azure_size(std::string_view name) {
  constexpr std::string_view kPrefix = "standard_";
  constexpr std::size_t kLongest = 64;
  const std::string wanted = lower(name);
  std::string_view size = wanted;
  if (size.starts_with(kPrefix)) size.remove_prefix(kPrefix.size());
  const auto features = name.size() > kLongest ? std::nullopt : features_of(size);
  if (!features) {
    return fail(exit_code::kUsage,
                "--azure-size: \"" + std::string(name.substr(0, kLongest)) +
                    "\" is not the name of an Azure VM size such as Standard_ND96asr_v4");
  }
  for (const Known& known : kKnown) {
    if (lower(known.name) != size) continue;
    return AzureSize{"Standard_" + std::string(known.name), true, known.has_sriov,
                     known.has_sriov ? "InfiniBand with SR-IOV: " + std::string(known.ports) +
                                           ". A further mlx5 device, if visible, is Ethernet "
                                           "(Accelerated Networking)"
                                     : std::string(kWithoutSriov)};
  }
  const std::string given = "Standard_" + std::string(name.substr(name.size() - size.size()));
  if (features->find('r') != std::string::npos) {
    return AzureSize{given, true, true,
                     "the r in its name means RDMA: InfiniBand, on newer sizes with SR-IOV. "
                     "dlaunch does not know the number of ports"};
  }
  return AzureSize{
      given, false, false,
      "no r after the number of vCPUs in its name, so no RDMA; " + std::string(kEthernet)};
}

}  // namespace dlaunch::fabric
