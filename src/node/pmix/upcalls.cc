#include "node/pmix/upcalls.h"

#include <cstdlib>
#include <cstring>

#include "node/pmix/server.h"

namespace dlaunch::pmix {

namespace {

Server* server = nullptr;  // the library passes no context to its upcalls

bool is_key(const pmix_info_t& info, const char* key) {
  return std::strncmp(info.key, key, PMIX_MAX_KEYLEN) == 0;
}

/// The library counts a rank that ended during a fence as having entered it; this status shows
/// that.
std::int32_t status_of(const pmix_info_t* infos, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (is_key(infos[i], PMIX_LOCAL_COLLECTIVE_STATUS) && infos[i].value.type == PMIX_STATUS)
      return infos[i].value.data.status;
  }
  return PMIX_SUCCESS;
}

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_info_t*, std::size_t,
                           pmix_op_cbfunc_t, void*) {
  server->connected(proc->rank);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  server->finalized(proc->rank);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char text[], pmix_proc_t*,
                       std::size_t, pmix_op_cbfunc_t done, void* context) {
  return server->abort(proc->rank, status, text, done, context);
}

/// The host frees the bytes ("The host server is responsible for free'ing the data object
/// passed to it by the PMIx server library", PMIx standard, pmix_server_fencenb_fn_t).
pmix_status_t on_fence(const pmix_proc_t procs[], std::size_t count, const pmix_info_t infos[],
                       std::size_t info_count, char* data, std::size_t size,
                       pmix_modex_cbfunc_t done, void* context) {
  std::string bytes(data == nullptr ? "" : data, data == nullptr ? 0 : size);
  std::free(data);
  return server->fence(procs, count, status_of(infos, info_count), std::move(bytes), done, context);
}

pmix_status_t on_direct_modex(const pmix_proc_t* proc, const pmix_info_t*, std::size_t,
                              pmix_modex_cbfunc_t done, void* context) {
  return server->direct_modex(*proc, done, context);
}

pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t*, std::size_t, const pmix_app_t*,
                       std::size_t, pmix_spawn_cbfunc_t, void*) {
  server->refuse(proc->rank, "MPI_Comm_spawn");
  return PMIX_ERR_NOT_SUPPORTED;
}

// Events are not forwarded to other nodes: a failure ends the job, and the launcher learns of it
// before PMIx does.
pmix_status_t on_register_events(pmix_status_t*, std::size_t, const pmix_info_t*, std::size_t,
                                 pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_event(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t*,
                       std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

}  // namespace

pmix_server_module_t upcalls(Server& its) {
  server = &its;
  pmix_server_module_t module{};
  module.client_connected2 = on_connected;
  module.client_finalized = on_finalized;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.direct_modex = on_direct_modex;
  module.spawn = on_spawn;
  module.register_events = on_register_events;
  module.deregister_events = on_deregister_events;
  module.notify_event = on_event;
  return module;
}

}  // namespace dlaunch::pmix
