#include "launch/output/lost_output.h"

#include <set>

#include "text/size_text.h"

namespace dlaunch {

std::string lost_output_text(const std::vector<wire::OutputEnd>& ends, const std::string& folder) {
  std::uint64_t bytes = 0;
  std::set<Rank> ranks;
  for (const wire::OutputEnd& end : ends) {
    bytes += end.lost;
    ranks.insert(end.rank);
  }
  std::string whose = std::to_string(ranks.size()) + " ranks";
  if (ranks.size() == 1) whose = "rank " + std::to_string(ranks.begin()->value);
  if (ends.size() == 1) whose += ends.front().stream == Stream::out ? " (stdout)" : " (stderr)";
  return "the log files lack " + size_text(bytes) + " of the output of " + whose +
         ", which could not be stored in " + folder;
}

}  // namespace dlaunch
