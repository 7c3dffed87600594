#include "fabric/nvlink.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "fabric/tree.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

constexpr std::size_t kMostLinks = 64;  // 18 on H100 and B200

/// The UUID of "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)"; nullopt: another line.
std::optional<std::string_view> uuid_in_heading(std::string_view line) {
  constexpr std::string_view kMark = "(UUID: ";
  if (!line.starts_with("GPU ")) return std::nullopt;
  const std::size_t mark = line.rfind(kMark);
  const std::size_t close = line.rfind(')');
  if (mark == std::string_view::npos || close == std::string_view::npos || close < mark)
    return std::nullopt;
  const std::size_t from = mark + kMark.size();
  return line.substr(from, close - from);
}

/// "26.562 GB/s" in MB/s; nullopt for "<inactive>" and anything else.
std::optional<std::uint64_t> rate_in(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.substr(space + 1) != "GB/s") return std::nullopt;
  const auto gbyte_s = number_of<double>(text.substr(0, space));
  constexpr double kMost = 1e6;
  const bool is_rate = gbyte_s && *gbyte_s > 0 && *gbyte_s < kMost;
  constexpr double kThousand = 1000;
  return is_rate ? std::optional(static_cast<std::uint64_t>(std::llround(*gbyte_s * kThousand)))
                 : std::nullopt;
}

/// Parses "Link 4: <inactive>". An unknown state does not count as active.
std::optional<NvLink> link_in(std::string_view line) {
  constexpr std::string_view kMark = "Link ";
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = parse_number(line.substr(0, colon), kMostLinks - 1);
  if (!number) return std::nullopt;
  NvLink link;
  link.number = static_cast<int>(*number);
  link.mbyte_s = rate_in(trimmed(line.substr(colon + 1)));
  link.active = link.mbyte_s.has_value();
  return link;
}

/// Interprets a line below a GPU's heading.
void add_line(std::string_view line, NvLinks& links) {
  if (const auto link = link_in(line)) {
    const bool is_new = links.links.empty() || links.links.back().number < link->number;
    if (is_new && links.links.size() < kMostLinks) links.links.push_back(*link);
    links.state = NvLinks::State::listed;
  } else if (lower(line).find("all links are inactive") != std::string::npos) {
    links.state = NvLinks::State::all_inactive;
  } else if (line.find("Unable") != std::string_view::npos &&
             line.find("Not Supported") == std::string_view::npos) {
    links.state = NvLinks::State::not_asked;  // an error: the state stays unknown
  }
}

/// The largest number of active links that a GPU of this model has in this machine.
int most_active(const std::vector<GpuHealth>& gpus, const std::string& model) {
  int most = 0;
  for (const GpuHealth& gpu : gpus) {
    if (gpu.model == model) most = std::max(most, gpu.nvlinks.active());
  }
  return most;
}

/// "2 and 5", "2, 5 and 7".
std::string inactive_numbers(const NvLinks& links) {
  std::vector<std::string> numbers;
  for (const NvLink& link : links.links) {
    if (!link.active) numbers.push_back(std::to_string(link.number));
  }
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += (i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ") + numbers[i];
  return text;
}

std::string fewer_than(const NvLinks& links, int most) {
  const int active = links.active();
  if (active == 0) return "none of its NVLinks is active, other GPUs have " + std::to_string(most);
  const std::string down = inactive_numbers(links);
  const std::string which = down.empty() ? std::string() : " (down: " + down + ')';
  return "only " + std::to_string(active) + " of its NVLinks are active" + which +
         ", other GPUs have " + std::to_string(most);
}

}  // namespace

std::vector<std::string> nvlink_query() {
  return {"nvlink", "--status"};
}

void add_nvlinks(std::string_view text, std::vector<GpuHealth>& gpus) {
  GpuHealth* gpu = nullptr;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (const auto uuid = uuid_in_heading(line)) {
      const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuHealth& candidate) {
        return !uuid->empty() && candidate.uuid == *uuid;
      });
      gpu = found == gpus.end() ? nullptr : &*found;
      if (gpu != nullptr) gpu->nvlinks = {NvLinks::State::none, {}};
    } else if (gpu != nullptr && !line.empty()) {
      add_line(line, gpu->nvlinks);
    }
  }
}

std::vector<std::vector<std::string>> nvlink_findings(const std::vector<GpuHealth>& gpus,
                                                      int nvswitches) {
  std::vector<std::vector<std::string>> findings(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const NvLinks& links = gpus[i].nvlinks;
    if (links.state == NvLinks::State::not_asked) continue;
    const int active = links.active();
    const int most = most_active(gpus, gpus[i].model);
    if (active < most) {
      findings[i].push_back(fewer_than(links, most));
    } else if (active == 0 && nvswitches > 0 && links.state != NvLinks::State::none) {
      findings[i].emplace_back(
          "no NVLink is active, although there are NVSwitches: is nvidia-fabricmanager running?");
    }
  }
  return findings;
}

}  // namespace dlaunch::fabric
