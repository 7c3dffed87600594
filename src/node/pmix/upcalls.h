// The functions by which OpenPMIx forwards its clients' requests to the host (pmix_server.h).
#pragma once

#include <pmix_server.h>

namespace dlaunch::pmix {

class Server;

/// `server` must outlive the library's use of it. Called once.
[[nodiscard]] pmix_server_module_t upcalls(Server& server);

}  // namespace dlaunch::pmix
