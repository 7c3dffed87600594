// The functions that OpenPMIx calls to forward its clients' requests to the host (pmix_server.h).
#pragma once

#include <pmix_server.h>

namespace dlaunch::pmix {

class Server;

/// `server` must exist as long as the library uses it. Call once.
[[nodiscard]] pmix_server_module_t upcalls(Server& server);

}  // namespace dlaunch::pmix
