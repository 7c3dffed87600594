// The copy of dlaunch in a cache folder that this process executes.
#pragma once

namespace dlaunch {

/// Its modification time says when it was last used: staging another build removes what was not for
/// 30 days (launch/connect/remote_script). Sets it to now, unless it is less than a day old; leaves
/// any other program alone.
void mark_staged_binary_used();

}  // namespace dlaunch
