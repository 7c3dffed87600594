// write(2) until everything is written.
#pragma once

#include <string_view>

namespace dlaunch {

/// 0, or the errno of the call that failed; what came before it has been written. For blocking
/// descriptors: waits as long as they do.
int write_all(int fd, std::string_view bytes);

}  // namespace dlaunch
