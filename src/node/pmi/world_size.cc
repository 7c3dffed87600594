#include "node/pmi/world_size.h"

#include "node/pmi/pmi_line.h"
#include "text/number.h"

namespace dlaunch::pmi {

bool asks_of_others(std::string_view line) {
  if (value_of(line, "cmd") != "get") return false;
  const std::string_view key = value_of(line, "key");
  if (key == "PMI_process_mapping") return true;
  return !key.empty() && !key.starts_with("PMI_") && key != "universeSize";
}

std::optional<std::uint32_t> declared_size(std::string_view block) {
  constexpr std::string_view kName = "PMI_SIZE=";
  if (block.empty()) return std::nullopt;
  while (!block.empty()) {
    const std::size_t end = std::min(block.find('\0'), block.size());
    const std::string_view entry = block.substr(0, end);
    block.remove_prefix(std::min(end + 1, block.size()));
    if (!entry.starts_with(kName)) continue;
    return number_of<std::uint32_t>(entry.substr(kName.size()));
  }
  return 1;
}

std::optional<std::uint32_t> other_world(bool asked_of_others,
                                         std::optional<std::uint32_t> declared,
                                         std::uint32_t planned) {
  std::uint32_t size = 1;
  if (asked_of_others) size = declared && *declared > 1 ? *declared : planned;
  return size == planned ? std::nullopt : std::optional(size);
}

}  // namespace dlaunch::pmi
