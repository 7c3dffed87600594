// Everything the supervisor tells the user during a run. Lines lack the prefix "dlaunch: ".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/report.h"

namespace dlaunch::wording {

/// "30 s", "1 min 30 s", "2 h", "250 ms"; the two largest units that are not zero.
[[nodiscard]] std::string duration(Duration);

struct Stopping {
  std::uint32_t ranks = 0;
  int stop_signal = 0;
  Duration grace{};
};

/// `cancel_signal` 0: the front has ended.
[[nodiscard]] std::string stopping_on_cancel(int cancel_signal, const Stopping&);
[[nodiscard]] std::string stopping_at_limit(Duration limit, const Stopping&);
[[nodiscard]] std::string stopping_stragglers(Duration limit, const Stopping&);
/// The ranks that decide have succeeded; `ranks` others are left.
[[nodiscard]] std::string stopping_the_others(const Stopping&);
/// "no rank made progress for 60 s (timeouts.hang)"
[[nodiscard]] std::string no_progress(Duration limit);
/// `what`: no_progress().
[[nodiscard]] std::string stopping_on_hang(const std::string& what, const Stopping&);
/// "node2 is about to be taken away (Preempt)"
[[nodiscard]] std::string preempted(const std::string& node, const std::string& reason);
/// `what`: preempted(); `left`: the time until then.
[[nodiscard]] std::string stopping_on_notice(const std::string& what, std::optional<Duration> left,
                                             const Stopping&);
[[nodiscard]] std::string killing(std::uint32_t ranks);

/// As the user named them; empty: no name.
using NodeNames = std::map<NodeId, std::string>;
/// "node 2" without a name.
[[nodiscard]] std::string node(const NodeNames& names, NodeId node);

/// "rank 1 exited with code 1 after 12 s; restart 1 of 3 in 5 s"; "node3 was lost (no sign of life
/// for 15 s) after ..."
[[nodiscard]] std::string restart(const FailedAttempt&, const NodeNames& nodes);
/// "waiting up to 5 min for node3 to answer again"; at least one.
[[nodiscard]] std::string waiting_for(const std::vector<std::string>& nodes, Duration limit);
/// "the job failed twice on gpu03, which is left out (...); a spare takes its place, ...".
/// `left`: nodes, of `wanted`.
[[nodiscard]] std::string excluded(const std::string& node, std::size_t left, std::uint32_t wanted);
/// "gpu03 is lost; the run goes on with 3 of 4 nodes", or "a spare takes its place". `nodes`: at
/// least one. `left`: nodes, of `wanted`.
[[nodiscard]] std::string goes_on_without(const std::vector<std::string>& nodes, std::size_t left,
                                          std::uint32_t wanted);
/// "gpu05, a spare, cannot be used: WHAT; 1 spare left", or "...; the next attempt has 3 of 4
/// nodes".
[[nodiscard]] std::string idle_node_lost(const std::string& node, const std::string& what,
                                         std::size_t left, std::uint32_t wanted);
[[nodiscard]] std::string node_is_back(const std::string& node);
/// "gpu03 answers again and is a spare", or "... the next attempt has 4 of 4 nodes".
[[nodiscard]] std::string node_joins(const std::string& node, std::size_t left,
                                     std::uint32_t wanted);
/// "gpu03 answers again, but no restart would follow now: restart.max of 1 is used up"
[[nodiscard]] std::string node_is_not_needed(const std::string& node, const std::string& why);
/// "port 20001 was taken by pid 8812 (...) before rank 0 could listen; trying another port"
[[nodiscard]] std::string new_port(const FailedAttempt&);
/// Why a preemption is not followed by another attempt.
[[nodiscard]] std::string too_few_remain();
[[nodiscard]] std::string no_restart(const std::string& why);
[[nodiscard]] std::string beyond_the_limit(Duration wait, Duration limit);

/// Why a try to connect a lost node has failed: it took longer than connecting may take.
[[nodiscard]] std::string no_facts(Duration limit);
/// `what`: no_facts().
[[nodiscard]] std::string tried_again(const std::string& node, const std::string& what);

/// Why a node counts as lost.
[[nodiscard]] std::string no_answer(Duration limit);
[[nodiscard]] std::string not_empty(Duration limit);
/// `what`: why it was lost; `last_words`: the error of the last try to connect it again, if any.
[[nodiscard]] std::string no_return(const std::string& what, Duration limit,
                                    const std::string& last_words);

}  // namespace dlaunch::wording
