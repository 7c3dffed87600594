#include "os/unanswered_peers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "model/ip_address.h"
#include "os/proc_file.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kTable = std::size_t{8} << 20;
constexpr std::size_t kWordDigits = 8;

/// "0100007F:1F90", or four such words before the colon. Words are in the machine's byte order.
std::optional<IpAddress> address_in(std::string_view text) {
  const std::string_view words = take_until(text, ':');
  const std::size_t count = words.size() / kWordDigits;
  if (words.size() % kWordDigits != 0 || (count != 1 && count != 4)) return std::nullopt;
  IpAddress address;
  address.is_ipv6 = count == 4;
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = number_of<std::uint32_t>(words.substr(i * kWordDigits, kWordDigits), 16);
    if (!word) return std::nullopt;
    std::memcpy(address.bytes.data() + i * sizeof *word, &*word, sizeof *word);
  }
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!address.is_ipv6 || !std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin()))
    return address;
  IpAddress ipv4;
  std::copy_n(address.bytes.begin() + kMapped.size(), 4, ipv4.bytes.begin());
  return ipv4;
}

}  // namespace

std::map<std::uint64_t, std::string> unanswered_in(std::string_view table) {
  // include/net/tcp_states.h: established, and waiting for the answer to a connect(2).
  constexpr std::array<std::string_view, 2> kStates{"01", "02"};
  constexpr std::uint32_t kAgain = 2;  // once is common on a busy network
  std::map<std::uint64_t, std::string> found;
  while (!table.empty()) {
    // number, local, remote, state, queues, timer, repetitions, user, probes, inode
    std::array<std::string_view, 10> words;
    std::string_view line = take_until(table, '\n');
    for (std::size_t i = 0; i < words.size() && !line.empty();) {
      if (const auto word = take_until(line, ' '); !word.empty()) words[i++] = word;
    }
    const bool is_open = std::find(kStates.begin(), kStates.end(), words[3]) != kStates.end();
    const auto again = number_of<std::uint32_t>(words[6], 16);
    const auto inode = number_of<std::uint64_t>(words[9]);
    const auto peer = address_in(words[2]);
    if (is_open && again && *again >= kAgain && inode && *inode != 0 && peer)
      found.emplace(*inode, ip_text(*peer));
  }
  return found;
}

std::set<std::string> UnansweredPeers::of(pid_t process) {
  constexpr std::string_view kSocket = "socket:[";  // proc(5): "socket:[12345]"
  const std::string folder = "/proc/" + std::to_string(process);
  const std::string network = link_target(folder + "/ns/net");
  if (network.empty()) return {};
  const auto [its, is_new] = by_namespace_.try_emplace(network);
  auto& all = its->second;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    if (is_new) all.merge(unanswered_in(read_proc_file(folder + table, kTable)));
  }
  std::set<std::string> peers;
  if (all.empty()) return peers;
  for (const int fd : numbered_entries(folder + "/fd")) {
    const std::string target = link_target(folder + "/fd/" + std::to_string(fd));
    if (!target.starts_with(kSocket)) continue;
    std::string_view rest = std::string_view(target).substr(kSocket.size());
    const auto found = all.find(number_of<std::uint64_t>(take_until(rest, ']')).value_or(0));
    if (found != all.end()) peers.insert(found->second);
  }
  return peers;
}

}  // namespace dlaunch
