// What dlaunch-fetch reads on its stdin: this structure in hexadecimal digits, and a newline. Both
// ends have the same processor architecture (launch/connect/node_connector), hence the same layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dlaunch::fetch {

inline constexpr std::size_t kTicketBytes = 32;  // made by random_secret()

/// Reasons printed by dlaunch-fetch that may be the fault of the serving node. All others are
/// faults of the node that fetches.
inline constexpr const char* kNoConnection = "no connection";
inline constexpr const char* kEndedEarly = "the connection ended too early";
inline constexpr const char* kOtherProgram = "the data received is not the launcher's program";

struct Order {
  std::uint64_t hash[4] = {};  // BLAKE2b of the whole program, as in StrongHash
  std::uint64_t size = 0;      // of the program, in bytes
  std::uint32_t limit = 0;     // seconds to get the program, once connected
  std::uint32_t address_size = 0;
  unsigned char address[28] = {};  // sockaddr_in or sockaddr_in6 of the node that has the program
  unsigned char ticket[kTicketBytes] = {};
  std::uint32_t spare = 0;
};
static_assert(sizeof(Order) == 112 && offsetof(Order, spare) == 108, "no gaps");

}  // namespace dlaunch::fetch
