#include "report/stack_tree.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/rank_list.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostHosts = 3;
constexpr std::size_t kRangeColumns = 40;

/// One thread (or several that are equal) of one rank, outermost frame first.
struct Stand {
  RankOnHost member;
  std::vector<StackFrame> frames;
  std::string doing;
};

using Stands = std::vector<const Stand*>;

void add_member(std::vector<RankOnHost>& members, const RankOnHost& one) {
  if (!members.empty() && members.back().rank == one.rank) {
    members.back().threads += one.threads;
  } else {
    members.push_back(one);
  }
}

/// Groups the stands that share the frame at `depth`, or that have no frame there and do the same;
/// the largest group first.
std::vector<Stands> split(const Stands& stands, std::size_t depth) {
  std::vector<Stands> parts;
  for (const Stand* one : stands) {
    const auto same = [&](const Stands& part) {
      const Stand& other = *part.front();
      const bool ends = one->frames.size() == depth;
      if (ends != (other.frames.size() == depth)) return false;
      return ends ? one->doing == other.doing : one->frames[depth] == other.frames[depth];
    };
    const auto part = std::find_if(parts.begin(), parts.end(), same);
    part == parts.end() ? parts.push_back({one}) : part->push_back(one);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Stands& a, const Stands& b) { return a.size() > b.size(); });
  return parts;
}

/// `stands` share the frame at `depth`, or have no frame there and do the same.
StackTree tree_of(const Stands& stands, std::size_t depth) {
  StackTree tree;
  for (const Stand* one : stands) add_member(tree.members, one->member);
  while (true) {
    const Stand& first = *stands.front();
    if (first.frames.size() == depth) {
      tree.doing = first.doing;
      return tree;
    }
    tree.frames.push_back(first.frames[depth++]);
    const std::vector<Stands> parts = split(stands, depth);
    if (parts.size() == 1) continue;
    for (const Stands& part : parts) tree.branches.push_back(tree_of(part, depth));
    return tree;
  }
}

Stand stand_of(const RankStacks& rank, const ThreadStack& thread) {
  return {{rank.rank, rank.host, thread.count},
          {thread.frames.rbegin(), thread.frames.rend()},
          activity_of(thread)};
}

/// Whether the thread has frames other than the kernel's. Without such frames, only a main thread
/// gets a line.
bool tells(const ThreadStack& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [](const StackFrame& frame) {
    return frame.kind != StackFrame::Kind::kernel;
  });
}

bool runs_python(const ThreadStack& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [](const StackFrame& frame) {
    return frame.kind == StackFrame::Kind::python;
  });
}

}  // namespace

std::string hosts_of(const std::vector<RankOnHost>& members) {
  std::vector<std::string> hosts;
  for (const auto& one : members) {
    if (std::find(hosts.begin(), hosts.end(), one.host) == hosts.end()) hosts.push_back(one.host);
  }
  const std::size_t more = hosts.size() > kMostHosts ? hosts.size() - kMostHosts : 0;
  hosts.resize(hosts.size() - more);
  return joined(hosts, ", ", plain_line) +
         (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string ranks_of(const std::vector<RankOnHost>& members) {
  std::vector<Rank> ranks;
  ranks.reserve(members.size());
  for (const auto& one : members) ranks.push_back(one.rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(ranks, kRangeColumns);
}

std::string heading_of(const std::vector<RankOnHost>& members) {
  std::uint32_t threads = 0;
  for (const auto& one : members) threads += one.threads;
  std::string text = ranks_of(members) + " (" + hosts_of(members) + ')';
  if (threads > members.size()) text += ", " + counted(threads, "thread");
  return text;
}

std::string activity_of(const ThreadStack& thread) {
  const char state = thread.state.empty() ? ' ' : thread.state.front();
  switch (state) {
    case 'R':
      return "running";
    case 'T':
      return "stopped by a signal";
    case 'D':
      return "in an uninterruptible wait" + (thread.doing.empty() ? "" : ": " + thread.doing);
    case 'Z':
    case 'X':
      return "ended, but its parent has not reaped it";
    default:
      return thread.doing;
  }
}

const ProcessStack* working_process(const RankStacks& rank) {
  if (rank.processes.empty()) return nullptr;
  const ProcessStack* found = &rank.processes.front();
  for (std::size_t steps = 0; steps < rank.processes.size(); ++steps) {
    std::vector<const ProcessStack*> children;
    for (const ProcessStack& one : rank.processes) {
      if (one.parent == found->pid && &one != &rank.processes.front()) children.push_back(&one);
    }
    const bool only_waits = found->threads.size() == 1 && !runs_python(found->threads.front()) &&
                            found->threads.front().doing == "waiting for a child process";
    if (!only_waits || children.size() != 1) return found;
    found = children.front();
  }
  return found;
}

std::vector<StackGroup> merge_stacks(const std::vector<RankStacks>& ranks) {
  std::map<std::string, std::vector<Stand>> groups;  // by StackGroup::who, "" for main threads
  for (const RankStacks& rank : ranks) {
    const ProcessStack* const work = working_process(rank);
    bool is_above = true;  // the process is a shell that waits for the work
    for (const ProcessStack& process : rank.processes) {
      if (&process == work) is_above = false;
      if (is_above) continue;
      const std::string child = &process == work ? "" : "child " + process.command;
      for (const ThreadStack& thread : process.threads) {
        const bool is_main = &thread == &process.threads.front();
        if (!is_main && !tells(thread)) continue;
        std::string who = child;
        if (!is_main) who += (who.empty() ? "thread " : ", thread ") + thread.name;
        groups[who].push_back(stand_of(rank, thread));
      }
    }
  }
  std::vector<StackGroup> merged;
  for (const auto& [who, stands] : groups) {
    Stands all;
    for (const Stand& one : stands) all.push_back(&one);
    StackGroup& group = merged.emplace_back();
    group.who = who;
    for (const Stands& part : split(all, 0)) group.trees.push_back(tree_of(part, 0));
  }
  return merged;
}

}  // namespace dlaunch
