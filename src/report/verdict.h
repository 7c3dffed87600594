// Explains why a silent job makes no progress: compares two snapshots of all stacks, a few seconds
// apart, rank by rank. Says what the snapshots show, and names the ranks for which the others wait.
// Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

struct Verdict {
  enum class Kind {
    hang,     // no rank has moved between the snapshots
    slow,     // some ranks work, and others wait for them
    working,  // stacks, or numbers of bytes read and written, change: no alarm
    unknown,  // the snapshots show too little
  };
  Kind kind = Kind::unknown;
  std::vector<Rank> odd;           // ranks for which others wait, ascending; empty: none stands out
  std::string headline;            // "no rank has moved for 8 s: rank 37 on gpu05 is in ..."
  std::vector<std::string> lines;  // details in plain text; at most kMostVerdictLines
};

inline constexpr std::size_t kMostVerdictLines = 11;

/// A node of the job, with the address by which the others reach it.
struct NodeOfRanks {
  std::string name;
  std::string address;
  std::vector<Rank> ranks;
};

/// `silence`: how long the job has shown no sign of progress.
[[nodiscard]] Verdict judge(const StacksReply& first, const StacksReply& second,
                            std::chrono::milliseconds silence,
                            const std::vector<NodeOfRanks>& nodes = {});

}  // namespace dlaunch
