// Host lists as people and schedulers write them: "gpu[01-04]", "rack[1-2]n[01-16]:8", "a,b,c".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/result.h"
#include "spec/source.h"

namespace dlaunch::spec {

/// One host of a list.
struct HostEntry {
  std::string name;  // 1 to 253 characters (RFC 1035, 2.3.4), never begins with '-'
  std::string user;  // of "user@name"; empty: not given
  int slots = 0;     // of "name:8", at least 1; 0: not given

  bool operator==(const HostEntry&) const = default;
};

/// The most hosts of one list, which is also Slurm's limit for one range.
inline constexpr std::size_t kMostHosts = 65'536;

/// Expands a list in the order in which it is written, hosts that are named twice included, as
/// `scontrol show hostnames` does; Slurm::Hostlist(3pm) and slurm_hostlist_create(3) describe the
/// form:
///   - items are separated by commas or blanks, empty ones are skipped;
///   - [1-3,7] stands for the numbers, in that order; the first number of a range says how many
///     digits all of it has at least (08-11: 08 09 10 11);
///   - several brackets in one name are combined, the last one counting fastest;
///   - what follows the brackets belongs to the name.
/// Beyond that an item may begin with "user@" and end with ":SLOTS". A name with two colons is an
/// IPv6 address, which has slots only behind brackets: "[fe80::1]:8". What Slurm takes and nobody
/// means is an error: "n[5-]", "n1]", a blank in brackets. The problem's place is a stretch of
/// `text`. Time and memory are bounded by kMostHosts and the length of the text.
[[nodiscard]] tl::expected<std::vector<HostEntry>, TextProblem> parse_hostlist(
    std::string_view text);

/// How many hosts the list has, with the same problems, in time that follows the length of the
/// text.
[[nodiscard]] tl::expected<std::size_t, TextProblem> count_hosts(std::string_view text);

/// As parse_hostlist, with an error for a person (exit_code::kJobFile): "host list, character 4:
/// ..." with the text and a caret below. `name` is what the text is called ("host list",
/// "SLURM_JOB_NODELIST").
[[nodiscard]] Result<std::vector<HostEntry>> expand_hostlist(std::string_view text,
                                                             std::string_view name = "host list");

/// The short form of names for messages: "gpu[01-03,07],login". Keeps order and repetitions, so
/// that expanding the result gives `names` again, if they are names that a list can hold.
[[nodiscard]] std::string compress_hostlist(const std::vector<std::string>& names);

}  // namespace dlaunch::spec
