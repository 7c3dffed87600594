// write(2) and pwrite(2) until everything is written.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlaunch {

/// Returns 0, or the errno of the call that failed; earlier bytes have been written. Blocks as long
/// as the descriptor does.
int write_all(int fd, std::string_view bytes);
/// The same from `offset` on, regardless of the descriptor's file position.
int write_all_at(int fd, std::uint64_t offset, std::string_view bytes);

}  // namespace dlaunch
