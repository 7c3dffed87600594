#include "supervise/wording.h"

#include <array>
#include <csignal>

#include "model/signal_names.h"
#include "text/duration_text.h"
#include "text/strings.h"

namespace dlaunch::wording {
namespace {

std::string stopping(const Stopping& what) {
  return "stopping " + counted(what.ranks, "rank") + " (" + signal_name(what.stop_signal) +
         ", up to " + duration(what.grace) + ")";
}

/// "node1", "node1 and node2", "node1, node2, node3 and 5 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = names.size() <= kShown + 1 ? names.size() : kShown;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  if (shown == names.size()) return text;
  return text + " and " + std::to_string(names.size() - shown) + " more";
}

std::string next_attempt(std::size_t left, std::uint32_t wanted) {
  return "the next attempt has " + std::to_string(left) + " of " + counted(wanted, "node");
}

/// What takes the place of nodes that leave the run.
std::string instead(std::size_t leaving, std::size_t left, std::uint32_t wanted) {
  if (left < wanted)
    return "the run goes on with " + std::to_string(left) + " of " + counted(wanted, "node");
  return std::string(leaving == 1 ? "a spare takes its place" : "spares take their places") +
         ", with " + counted(left - wanted, "spare") + " left";
}

}  // namespace

std::string duration(Duration d) {
  struct Unit {
    std::int64_t ms;
    const char* name;
  };
  constexpr std::array kUnits = {Unit{86'400'000, " d"}, Unit{3'600'000, " h"},
                                 Unit{60'000, " min"}, Unit{1'000, " s"}, Unit{1, " ms"}};
  std::int64_t rest = d.count();
  std::string text;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (rest < kUnits[i].ms) continue;
    text = std::to_string(rest / kUnits[i].ms) + kUnits[i].name;
    rest %= kUnits[i].ms;
    if (i + 1 < kUnits.size() && rest >= kUnits[i + 1].ms) {
      text += ' ' + std::to_string(rest / kUnits[i + 1].ms) + kUnits[i + 1].name;
    }
    return text;
  }
  return "0 s";
}

std::string stopping_on_cancel(int cancel_signal, const Stopping& what) {
  switch (cancel_signal) {
    case SIGINT:
      return stopping(what) + "; Ctrl-C again to kill at once";
    case SIGQUIT:
      return stopping(what) + "; Ctrl-\\ again to kill at once";
    case SIGHUP:
      return "the terminal was closed (SIGHUP), " + stopping(what);
    case 0:
      return "the dlaunch command is gone, " + stopping(what);
    default:
      return signal_name(cancel_signal) + " received, " + stopping(what) +
             "; a second one kills at once";
  }
}

std::string stopping_at_limit(Duration limit, const Stopping& what) {
  return "time limit of " + duration(limit) + " reached, " + stopping(what);
}

std::string stopping_stragglers(Duration limit, const Stopping& what) {
  return counted(what.ranks, "rank") +
         (what.ranks == 1 ? " is still running " : " are still running ") + duration(limit) +
         " after the first one succeeded, " + stopping(what);
}

std::string stopping_the_others(const Stopping& what) {
  return "the job is done, " + stopping(what);
}

std::string no_progress(Duration limit) {
  return "no rank made progress for " + duration(limit) + " (timeouts.hang)";
}

std::string stopping_on_hang(const std::string& what, const Stopping& stop) {
  return what + ", " + stopping(stop);
}

std::string preempted(const std::string& node, const std::string& reason) {
  return node + " is about to be taken away" + (reason.empty() ? "" : " (" + reason + ')');
}

std::string stopping_on_notice(const std::string& what, std::optional<Duration> left,
                               const Stopping& stop) {
  return what + (left ? " in " + duration(*left) : "") + ", " + stopping(stop);
}

std::string node(const NodeNames& names, NodeId node) {
  const auto found = names.find(node);
  const bool has_name = found != names.end() && !found->second.empty();
  return has_name ? found->second : "node " + std::to_string(node.value);
}

std::string restart(const FailedAttempt& failed, const NodeNames& nodes) {
  const auto wait = std::chrono::duration_cast<Duration>(failed.wait);
  const Outcome& outcome = failed.outcome;
  std::string text = outcome.first ? "rank " + std::to_string(outcome.first->value) + ' ' : "it ";
  text += failed.end ? describe(failed.end->status) : "failed";
  if (outcome.cause == Cause::starter) text = std::string(name_of(outcome.cause)) + " failed";
  if (outcome.cause == Cause::hang || outcome.cause == Cause::preempted) text = outcome.detail;
  const auto& lost = outcome.lost_nodes;
  if (lost.size() == 1) {
    text = node(nodes, lost[0].node) + " was lost (" + lost[0].what + ')';
  } else if (!lost.empty()) {
    std::vector<std::string> names;
    names.reserve(lost.size());
    for (const LostNode& one : lost) names.push_back(node(nodes, one.node));
    text = listed(names) + " were lost";
  }
  return text + " after " + duration_text(failed.ran) + "; restart " +
         std::to_string(failed.restart) + " of " + std::to_string(failed.restarts_max) +
         (wait.count() == 0 ? " now" : " in " + duration(wait));
}

std::string waiting_for(const std::vector<std::string>& nodes, Duration limit) {
  return "waiting up to " + duration(limit) + " for " + listed(nodes) + " to answer again";
}

std::string goes_on_without(const std::vector<std::string>& nodes, std::size_t left,
                            std::uint32_t wanted) {
  return listed(nodes) + (nodes.size() == 1 ? " is lost; " : " are lost; ") +
         instead(nodes.size(), left, wanted);
}

std::string excluded(const std::string& node, std::size_t left, std::uint32_t wanted) {
  return "the job failed twice on " + node + ", which is left out (restart.exclude_bad_nodes); " +
         instead(1, left, wanted);
}

std::string idle_node_lost(const std::string& node, const std::string& what, std::size_t left,
                           std::uint32_t wanted) {
  if (left < wanted) return node + " cannot be used: " + what + "; " + next_attempt(left, wanted);
  return node + ", a spare, cannot be used: " + what + "; " + counted(left - wanted, "spare") +
         " left";
}

std::string node_is_back(const std::string& node) {
  return node + " answers again";
}

std::string node_joins(const std::string& node, std::size_t left, std::uint32_t wanted) {
  if (left > wanted) return node_is_back(node) + " and is a spare";
  return node_is_back(node) + "; " + next_attempt(left, wanted);
}

std::string node_is_not_needed(const std::string& node, const std::string& why) {
  return node_is_back(node) + (why.empty() ? "" : ", but no restart would follow now: " + why);
}

std::string new_port(const FailedAttempt& failed) {
  const TakenPort port = failed.outcome.port.value_or(TakenPort{});
  return "port " + std::to_string(port.port) + " was taken by " +
         (port.holder.empty() ? "another process" : port.holder) +
         " before the job could listen; trying another port";
}

std::string too_few_remain() {
  return "no node is left to replace the one that is taken away";
}

std::string no_restart(const std::string& why) {
  return "no restart: " + why;
}

std::string beyond_the_limit(Duration wait, Duration limit) {
  return "the wait of " + duration(wait) + " would end after the time limit of " + duration(limit);
}

std::string killing(std::uint32_t count) {
  return "killing " + counted(count, "rank") + " now";
}

std::string no_facts(Duration limit) {
  return "connected, but did not report its facts within " + duration(limit);
}

std::string tried_again(const std::string& node, const std::string& what) {
  return node + ": " + what + "; trying again";
}

std::string no_answer(Duration limit) {
  return "no answer within " + duration(limit);
}

std::string not_empty(Duration limit) {
  return "did not confirm within " + duration(limit) + " of SIGKILL that every process is gone";
}

std::string no_return(const std::string& what, Duration limit, const std::string& last_words) {
  std::string text = "lost (" + what + "), and it did not answer again within " + duration(limit) +
                     " (timeouts.node_return)";
  return last_words.empty() ? text : text + "; the last try: " + last_words;
}

}  // namespace dlaunch::wording
