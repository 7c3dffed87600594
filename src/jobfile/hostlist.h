// Compact host lists as people and schedulers write them: "gpu[01-04]", "rack[1-2]n[01-16]:8",
// "a,b,c".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "jobfile/source.h"
#include "model/result.h"

namespace dlaunch::jobfile {

/// One host of a list.
struct HostEntry {
  std::string name;  // 1 to 253 characters (RFC 1035, 2.3.4), never starting with '-'
  std::string user;  // from "user@name"; empty: not given
  int slots = 0;     // from "name:8", at least 1; 0: not given

  bool operator==(const HostEntry&) const = default;
};

/// The most hosts in a list; this is also Slurm's limit for one range.
inline constexpr std::size_t kMostHosts = 65'536;

/// Expands a list in the order written, including repeated hosts, as `scontrol show hostnames`
/// does. Slurm::Hostlist(3pm) and slurm_hostlist_create(3) describe the format:
/// - items are separated by commas or blanks; empty items are skipped;
/// - [1-3,7] stands for these numbers in this order; the digits of the first number of a range are
///   the minimum width of all its numbers (08-11: 08 09 10 11);
/// - several brackets in one name are combined, the last one counting fastest;
/// - text after the brackets belongs to the name.
/// In addition, an item may begin with "user@" and end with ":SLOTS". A name with two colons is an
/// IPv6 address, which takes slots only after brackets: "[fe80::1]:8". Probable typing errors that
/// Slurm accepts are errors: "n[5-]", "n1]", a blank in brackets. The range of the problem refers
/// to `text`. Time and memory are bounded by kMostHosts and the length of the text.
[[nodiscard]] tl::expected<std::vector<HostEntry>, TextProblem> parse_hostlist(
    std::string_view text);

/// The number of hosts in the list, with the same errors, in time proportional to the length of the
/// text.
[[nodiscard]] tl::expected<std::size_t, TextProblem> count_hosts(std::string_view text);

/// Like parse_hostlist, with a complete error message (exit_code::kJobFile): "host list, character
/// 4: ..." with the text and a caret below. `name` is what the message calls the text ("host list",
/// "SLURM_JOB_NODELIST").
[[nodiscard]] Result<std::vector<HostEntry>> expand_hostlist(std::string_view text,
                                                             std::string_view name = "host list");

/// The compact form of names for messages: "gpu[01-03,07],login". Keeps order and repetitions, so
/// that expanding the result gives `names` again if a list can contain them.
[[nodiscard]] std::string compress_hostlist(const std::vector<std::string>& names);

}  // namespace dlaunch::jobfile
