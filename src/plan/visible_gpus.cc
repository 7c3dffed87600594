#include "plan/visible_gpus.h"

#include <algorithm>

#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

const GpuFact* by_index(const NodeFacts& facts, std::string_view entry) {
  const auto index = number_of<int>(entry);
  const auto found = std::find_if(facts.gpus.begin(), facts.gpus.end(),
                                  [&](const GpuFact& gpu) { return gpu.index == index; });
  return found == facts.gpus.end() ? nullptr : &*found;
}

/// The only GPU whose UUID begins with `prefix`; null if none or several.
const GpuFact* by_uuid(const NodeFacts& facts, std::string_view prefix) {
  const GpuFact* match = nullptr;
  for (const GpuFact& gpu : facts.gpus) {
    if (!std::string_view(gpu.uuid).starts_with(prefix)) continue;
    if (match != nullptr) return nullptr;
    match = &gpu;
  }
  return match;
}

/// The GPU that contains a slice, if the slice's name says so: "MIG-GPU-<uuid>/<gi>/<ci>".
const GpuFact* parent_of_slice(const NodeFacts& facts, std::string_view entry) {
  const std::string_view uuid = entry.substr(4, entry.find('/') - 4);
  return uuid.starts_with("GPU-") ? by_uuid(facts, uuid) : nullptr;
}

}  // namespace

std::vector<VisibleGpu> visible_gpus(const NodeFacts& facts,
                                     const std::optional<std::string>& variable) {
  std::vector<VisibleGpu> visible;
  if (facts.gpus.empty()) return visible;
  if (!variable) {
    for (const GpuFact& gpu : facts.gpus)
      visible.push_back({std::to_string(gpu.index), gpu.numa, false});
    return visible;
  }
  std::vector<const GpuFact*> named;
  std::string_view rest = *variable;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view entry = trimmed(rest.substr(0, comma));
    const bool is_mig = entry.starts_with("MIG-") && entry.size() > 4;
    const GpuFact* gpu = is_mig                      ? parent_of_slice(facts, entry)
                         : entry.starts_with("GPU-") ? by_uuid(facts, entry)
                                                     : by_index(facts, entry);
    if (gpu == nullptr && !is_mig) break;
    if (!is_mig && contains(named, gpu)) break;
    if (!is_mig) named.push_back(gpu);
    visible.push_back({std::string(entry), gpu == nullptr ? -1 : gpu->numa, is_mig});
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return visible;
}

std::vector<VisibleGpu> listed_gpus(std::string_view variable) {
  std::vector<VisibleGpu> listed;
  while (!variable.empty()) {
    const auto comma = variable.find(',');
    const std::string entry(trimmed(variable.substr(0, comma)));
    const bool is_index =
        !entry.empty() && entry.find_first_not_of("0123456789") == std::string::npos;
    const bool is_mig = entry.starts_with("MIG-");
    const bool known = std::any_of(listed.begin(), listed.end(),
                                   [&](const VisibleGpu& gpu) { return gpu.id == entry; });
    if (known || !(is_index || is_mig || entry.starts_with("GPU-"))) break;
    listed.push_back({entry, -1, is_mig});
    if (comma == std::string_view::npos) break;
    variable.remove_prefix(comma + 1);
  }
  return listed;
}

}  // namespace dlaunch
