// The PMIx server of one node, over OpenPMIx: turns what the library asks of its host into messages
// to the agent, and the agent's answers into answers to the library.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <pmix_server.h>

#include "node/pmix/helper_protocol.h"

namespace dlaunch::pmix {

/// One per process, because the library passes no context to its upcalls. Upcalls run on the
/// library's thread, everything else on the main thread.
class Server {
 public:
  /// `agent`: the socket to the agent, open until this process ends.
  explicit Server(int agent) : agent_(agent) {}

  /// Starts the server and registers the job. Returns what to add to the environments of this
  /// node's ranks.
  [[nodiscard]] Result<std::vector<Ready::OfRank>> begin(const Setup& setup);
  void answer(FenceDone done);
  void answer(Data data);
  void answer(const AbortSeen& seen);
  void want(const DataWanted& wanted);
  /// Call after the last rank has ended: removes what the library has stored.
  void end();

  // Upcalls.
  void connected(std::uint32_t rank) { say(Connected{rank}); }
  void finalized(std::uint32_t rank) { say(Finalized{rank}); }
  void refuse(std::uint32_t rank, const char* what) { say(Refused{rank, what}); }
  pmix_status_t fence(const pmix_proc_t* procs, std::size_t count, std::int32_t status,
                      std::string bytes, pmix_modex_cbfunc_t done, void* context);
  pmix_status_t direct_modex(const pmix_proc_t& proc, pmix_modex_cbfunc_t done, void* context);
  pmix_status_t abort(std::uint32_t rank, int code, const char* text, pmix_op_cbfunc_t done,
                      void* context);
  void say(const HelperMessage& message);

 private:
  struct Waiting {
    pmix_modex_cbfunc_t done = nullptr;
    void* context = nullptr;
  };
  struct WaitingAbort {
    pmix_op_cbfunc_t done = nullptr;
    void* context = nullptr;
  };
  [[nodiscard]] std::uint32_t wait_for(Waiting waiting);
  void answer(std::uint32_t id, std::int32_t status, std::string bytes);
  [[nodiscard]] Status start_library(const Setup& setup);
  [[nodiscard]] Status register_job(const Setup& setup);
  [[nodiscard]] Result<std::vector<std::string>> register_rank(std::uint32_t rank);

  const int agent_;
  std::string name_space_;
  std::mutex writing_;
  std::mutex mutex_;  // guards what follows
  std::uint32_t next_id_ = 0;
  std::map<std::uint32_t, Waiting> waiting_;
  std::map<std::uint32_t, WaitingAbort> aborts_;
};

}  // namespace dlaunch::pmix
