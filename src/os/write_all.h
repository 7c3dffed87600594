// write(2) until everything is written.
#pragma once

#include <string_view>

namespace dlaunch {

/// Returns 0, or the errno of the call that failed; earlier bytes have been written. Blocks as long
/// as the descriptor does.
int write_all(int fd, std::string_view bytes);

}  // namespace dlaunch
