// Ranks whose verdicts are tested.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "report/verdict.h"
#include "stack_builder.h"

namespace dlaunch {

inline const StackFrame kMain = python("<module>", "/home/me/job/train.py", 60);
inline const StackFrame kForward = python("forward", "/home/me/job/train.py", 52);
inline const std::string kC10d =
    "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py";
inline const std::string kLoader = "/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py";

inline std::vector<StackFrame> in_collective(const std::string& name, std::uint32_t line) {
  return {python(name, kC10d, 1541), python("step", "/home/me/job/train.py", line), kMain};
}

inline RankStacks waiting(std::uint32_t rank, const std::string& host) {
  return standing(rank, host, in_collective("all_reduce", 41), "waiting for a lock");
}

inline StacksReply reply_of(std::vector<RankStacks> ranks) {
  StacksReply reply;
  reply.world = static_cast<std::uint32_t>(ranks.size());
  reply.ranks = std::move(ranks);
  return reply;
}

inline Verdict judge_twice(const StacksReply& reply) {
  return judge(reply, reply, std::chrono::seconds(8));
}

inline ThreadStack& thread_of(RankStacks& rank) {
  return rank.processes[0].threads[0];
}

inline std::vector<Rank> ranks(std::initializer_list<std::uint32_t> numbers) {
  std::vector<Rank> list;
  for (const std::uint32_t one : numbers) list.emplace_back(one);
  return list;
}

}  // namespace dlaunch
