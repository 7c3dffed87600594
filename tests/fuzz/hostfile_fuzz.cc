// Whatever a hostfile contains, reading it gives hosts, each once, or errors, in bounded memory; so
// does the value of each scheduler variable.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_check.h"
#include "jobfile/host_name.h"
#include "jobfile/hostfile.h"
#include "jobfile/hostlist.h"
#include "jobfile/scheduler_hosts.h"
#include "planted_bug.h"

namespace dlaunch::jobfile {
namespace {

using fuzz::check;

constexpr std::size_t kLongestLine = 800;
constexpr std::size_t kMostBytes = 20 * 2048;  // as many errors as are shown at once
constexpr std::int64_t kMostBytesPerHost = 8 * (kMostNameLength + sizeof(HostSpec));
constexpr std::int64_t kMostBytesPerByte = 512;

void check_hosts(const std::vector<HostSpec>& hosts) {
  check(!hosts.empty() && hosts.size() <= kMostHosts, "there are hosts, and an end to them");
  std::set<std::string_view> names;
  for (const HostSpec& host : hosts) {
    check(problem_of_address(host.name).empty(), "a name is no option and no shell text",
          host.name);
    check(host.user.empty() || problem_of_user(host.user).empty(), "a user likewise", host.user);
    check(host.slots >= 0 && host.slots <= 100'000, "slots count", host.name);
    check(names.insert(host.name).second, "each host comes once", host.name);
  }
}

void check_error(const Error& error) {
  check(error.exit_code == exit_code::kJobFile, "an error has exit code 65");
  fuzz::check_message(error.message, kLongestLine, kMostBytes);
}

/// Planted bug: room for two hosts where the last one has eight slots or more.
[[maybe_unused]] void planted_bug(const std::vector<HostSpec>& hosts) {
  if (!hosts.empty() && hosts.back().slots >= 8) fuzz::fill_buffer(2, hosts.size());
}

Result<Hostfile> read_metered(std::string_view text) {
  const fuzz::HeapMeter meter;
  Result<Hostfile> result = read_hostfile(text, "hosts.txt");
  // Hosts without slots are left out in the end, with notes.
  const bool has_all = result && result->notes.empty();
  const auto hosts = static_cast<std::int64_t>(has_all ? result->hosts.size() + 4096 : kMostHosts);
  const auto length = static_cast<std::int64_t>(text.size());
  check(fuzz::HeapMeter::peak() <= hosts * kMostBytesPerHost + length * kMostBytesPerByte,
        "memory follows what came", std::to_string(fuzz::HeapMeter::peak()));
  return result;
}

void read(std::string_view text) {
  const Result<Hostfile> file = read_metered(text);
  if (!file) {
    check_error(file.error());
    check(file.error().message.starts_with("hosts.txt:"), "an error says where",
          file.error().message);
  } else {
    check_hosts(file->hosts);
    if (fuzz::kPlanted) planted_bug(file->hosts);
  }
  for (const char* name : {"LSB_MCPU_HOSTS", "AZ_BATCH_HOST_LIST", "CCP_NODES"}) {
    const auto hosts = read_scheduler_hosts({name, std::string(text), false}, text);
    if (hosts) {
      check_hosts(*hosts);
    } else {
      check_error(hosts.error());
    }
  }
}

}  // namespace
}  // namespace dlaunch::jobfile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlaunch::jobfile::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
