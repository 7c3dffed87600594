// The PMIx server of one node, over OpenPMIx: what its library asks of a host becomes frames to the
// agent, and the agent's answers go back to the library.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <pmix_server.h>

#include "pmix/frames.h"

namespace dlaunch::pmix {

/// One in a process, because the library tells its upcalls no context. Upcalls come on the
/// library's thread, answer() and the rest is called on the main thread.
class Server {
 public:
  /// `agent`: the socket to it. Both ends live as long as the process.
  explicit Server(int agent) : agent_(agent) {}

  /// Makes the server and tells it of the job; the environments of the ranks here.
  [[nodiscard]] Result<std::vector<Ready::OfRank>> begin(const Setup& setup);
  void answer(FenceDone done);
  void answer(Data data);
  void answer(const AbortSeen& seen);
  void want(const DataWanted& wanted);
  /// After the last rank has ended: removes what the library has stored.
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
