// Whatever text is given as a host list, expanding it gives hosts or one error, in bounded memory.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_check.h"
#include "jobfile/hostlist.h"
#include "planted_bug.h"

namespace dlaunch::jobfile {
namespace {

using fuzz::check;

// 80 columns of up to four bytes for the excerpt, plus a message that quotes two texts.
constexpr std::size_t kLongestLine = 800;
constexpr std::size_t kMostBytes = 2048;
constexpr std::size_t kLongestName = 253;  // RFC 1035, 2.3.4
// Host names have at most that length, a user at most the length of the text, and lists may double.
constexpr std::int64_t kMostBytesPerHost = 4 * (kLongestName + sizeof(HostEntry));
constexpr std::int64_t kMostBytesPerByte = 64;

void check_host(const HostEntry& host, std::string_view text) {
  check(!host.name.empty() && host.name.size() <= kLongestName, "a name is 1 to 253 long",
        host.name);
  check(host.name[0] != '-' && !host.user.starts_with('-'), "no option for ssh", host.name);
  check(std::none_of(host.name.begin(), host.name.end(),
                     [](char c) { return c >= 0 && (c <= ' ' || c == ',' || c == '@'); }),
        "a name is one word", host.name);
  check(host.slots >= 0, "slots count", host.name);
  check(host.user.size() < text.size(), "a user is part of the text", host.user);
}

/// Expanding the short form of names gives the names again.
void check_round_trip(const std::vector<HostEntry>& hosts) {
  std::vector<std::string> names;
  for (const HostEntry& host : hosts) {
    // An IPv6 address is not a name that a list can hold, so the short form has no notation for it.
    if (host.name.find(':') == std::string::npos) names.push_back(host.name);
  }
  const std::string shorter = compress_hostlist(names);
  const Result<std::vector<HostEntry>> again = expand_hostlist(shorter);
  if (names.empty()) return;
  check(again.has_value(), "the short form can be expanded", shorter);
  check(
      std::equal(names.begin(), names.end(), again->begin(), again->end(),
                 [](const std::string& name, const HostEntry& host) { return name == host.name; }),
      "the short form means the same", shorter);
}

/// Planted bug: room for twelve hosts where the last one has eight slots or more.
[[maybe_unused]] void planted_bug(const std::vector<HostEntry>& hosts) {
  if (!hosts.empty() && hosts.back().slots >= 8) fuzz::fill_buffer(12, hosts.size());
}

Result<std::vector<HostEntry>> expand_metered(std::string_view text) {
  const fuzz::HeapMeter meter;
  Result<std::vector<HostEntry>> result = expand_hostlist(text);
  // An error may follow after the maximum number of hosts.
  const auto hosts = static_cast<std::int64_t>(result ? result->size() + 1024 : kMostHosts);
  const auto length = static_cast<std::int64_t>(text.size());
  check(fuzz::HeapMeter::peak() <= hosts * kMostBytesPerHost + length * kMostBytesPerByte,
        "memory follows what came", std::to_string(fuzz::HeapMeter::peak()));
  return result;
}

void read(std::string_view text) {
  const Result<std::vector<HostEntry>> hosts = expand_metered(text);
  if (!hosts) {
    check(hosts.error().exit_code == exit_code::kJobFile, "an error has exit code 65");
    fuzz::check_message(hosts.error().message, kLongestLine, kMostBytes);
    check(hosts.error().message.starts_with("host list"), "an error says where",
          hosts.error().message);
    return;
  }
  check(hosts->size() <= kMostHosts, "there is an end to hosts");
  for (const HostEntry& host : *hosts) check_host(host, text);
  check_round_trip(*hosts);
  if (fuzz::kPlanted) planted_bug(*hosts);
}

}  // namespace
}  // namespace dlaunch::jobfile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlaunch::jobfile::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
