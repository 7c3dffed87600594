// The nodes of a keeper, one entry for each agent: which are connected, which are lent to which
// run, and what each event means for them. Pure: times are arguments, and this class connects
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"
#include "model/time.h"

namespace dlaunch {

/// One of the processes that are connected to the keeper; 0: none.
using ClientId = std::uint64_t;

struct KeptNode {
  enum class State : std::uint8_t {
    connecting,
    idle,     // its agent answers
    parting,  // its agent was told to expect the session of a run
    lent,     // to `holder`
    waiting,  // until next_try, to be connected again
    gone,     // given up
  };
  std::string name;
  std::string key;
  std::size_t host = 0;  // the first agent of its host, which may be this one
  State state = State::connecting;
  MonotonicTime since{0};  // of the state
  ClientId holder = 0;     // while parting or lent
  std::string run;         // likewise
  bool goes = false;       // is given up once it is free
  unsigned failures = 0;   // in a row, to connect it
  MonotonicTime next_try{0};
  std::string trouble;  // why it was lost
};

/// "idle", "in use", "connecting", "reconnecting".
[[nodiscard]] const char* kept_state_text(const KeptNode& node);

class KeptNodes {
 public:
  /// `idle_limit`: after this long without a run, is_over() holds.
  KeptNodes(Duration idle_limit, MonotonicTime now) : idle_limit_(idle_limit), used_(now) {}

  void add(std::string name, std::string key, MonotonicTime now);
  /// All are connected: the idle limit counts from now on.
  void begin(MonotonicTime now) { used_ = now; }
  [[nodiscard]] const std::vector<KeptNode>& nodes() const { return nodes_; }

  void connected(std::size_t node, MonotonicTime now);
  /// The node is connected again after a pause that grows with each failure, from none to 30 s, or
  /// to 5 min for the further agents of a host.
  void lost(std::size_t node, std::string why, MonotonicTime now);
  /// A host whose agents have all been lent for 2 s gets one more entry, up to 4, for a second run
  /// that wants kept nodes. Returns the first entry of each such host, in the order of the new
  /// entries, which start() returns next.
  [[nodiscard]] std::vector<std::size_t> add_beside(MonotonicTime now);
  /// The entries whose pause is over; they are connecting from here on.
  [[nodiscard]] std::vector<std::size_t> start(MonotonicTime now);

  struct Refusal {
    bool is_known = false;  // a node of this keeper
    std::string why;        // "gpu3 is used by run ...", "gpu3 is being reconnected (...)"
  };
  [[nodiscard]] bool has(const std::string& key) const;
  /// The node, which becomes `parting`, or why it cannot be lent.
  [[nodiscard]] tl::expected<std::size_t, Refusal> want(const std::string& key, ClientId client,
                                                        const std::string& run, MonotonicTime now);
  /// The node's agent waits for the Hello of the run. False: the run has gone meanwhile, and the
  /// node is idle again.
  [[nodiscard]] bool lent(std::size_t node, MonotonicTime now);
  /// The run is done with the node, whose agent waits for another Hello. False: not the run's node.
  [[nodiscard]] bool given_back(std::size_t node, ClientId client, MonotonicTime now);
  /// The process has ended. Returns the nodes that it still had; they are lost now.
  [[nodiscard]] std::vector<std::size_t> client_gone(ClientId client, MonotonicTime now);

  struct Farewell {
    std::uint32_t hosts = 0;   // that are given up
    std::uint32_t in_use = 0;  // of these; they follow when their runs give them back or lose them
    std::vector<std::size_t> gone;  // entries that are given up now
  };
  /// Gives up these hosts; empty: all.
  [[nodiscard]] Farewell give_up(const std::vector<std::string>& hosts, MonotonicTime now);
  /// The entries that were not given up, grouped by host.
  [[nodiscard]] std::vector<std::size_t> by_host() const;
  /// Nothing is left to keep, or the idle limit has passed.
  [[nodiscard]] bool is_over(MonotonicTime now) const;
  /// When add_beside(), start() or is_over() may next have news, unless something else happens
  /// before.
  [[nodiscard]] std::optional<MonotonicTime> next() const;
  [[nodiscard]] bool is_used() const;
  /// When the idle limit ends the keeper; nullopt while a run has a node.
  [[nodiscard]] std::optional<MonotonicTime> idle_end() const;

 private:
  void enter(KeptNode& node, KeptNode::State state, MonotonicTime now);
  void become_free(KeptNode& node, MonotonicTime now);
  [[nodiscard]] std::map<std::size_t, MonotonicTime> crowded() const;
  [[nodiscard]] std::set<std::size_t> served_hosts() const;

  MonotonicTime idle_limit_;
  MonotonicTime used_;  // when a run last had a node
  std::vector<KeptNode> nodes_;
};

/// What a run says about the kept nodes that it uses: "uses 8 kept nodes", "uses kept
/// connections for 7 of 8 nodes and connects to the others: gpu3 is used by run ...". Empty: there
/// is nothing to say.
struct KeptUse {
  std::size_t wanted = 0;
  std::size_t lent = 0;
  std::vector<std::string> refused{};  // "gpu3 is used by run ..."
  std::string unusable{};              // why the run can use no kept node
  bool is_other_build = false;         // a keeper is of another build, and was told to go
};
[[nodiscard]] std::string kept_use_text(const KeptUse& use);

}  // namespace dlaunch
