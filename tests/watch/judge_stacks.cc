// judge_stacks FIRST SECOND SECONDS: the verdict on two answers of `dlaunch stacks --json`, as
// JSON.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "report/verdict.h"

namespace {

using dlaunch::Rank;
using dlaunch::StackFrame;
using dlaunch::StacksReply;
using dlaunch::ThreadStack;
using dlaunch::Verdict;
using nlohmann::json;

ThreadStack thread_of(const json& said) {
  ThreadStack thread{said.at("id"),
                     said.at("name"),
                     said.at("state"),
                     said.at("doing"),
                     {},
                     said.at("count").get<std::uint32_t>()};
  for (const json& one : said.at("frames")) {
    StackFrame frame{StackFrame::Kind::python, one.at("function"), one.at("file"),
                     one.at("line").get<std::uint32_t>()};
    if (one.at("kind") == "kernel") frame.kind = StackFrame::Kind::kernel;
    if (one.at("kind") == "native") frame.kind = StackFrame::Kind::native;
    thread.frames.push_back(frame);
  }
  return thread;
}

StacksReply reply_of(const char* path) {
  std::ifstream file(path);
  const json said = json::parse(file);
  StacksReply reply;
  reply.world = said.at("world");
  reply.silent = said.at("silent");
  for (const json& one : said.at("ranks")) {
    auto& rank = reply.ranks.emplace_back();
    rank.rank = Rank(one.at("rank").get<std::uint32_t>());
    rank.host = one.at("host");
    rank.remarks = one.at("remarks");
    for (const json& process : one.at("processes")) {
      auto& taken = rank.processes.emplace_back();
      taken.pid = process.at("pid");
      taken.parent = process.at("parent");
      taken.command = process.at("command");
      taken.cpu_ms = process.at("cpu_ms");
      taken.io_bytes = process.at("io_bytes");
      taken.switches = process.at("switches");
      for (const json& thread : process.at("threads")) taken.threads.push_back(thread_of(thread));
    }
  }
  return reply;
}

const char* name_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::hang:
      return "hang";
    case Verdict::Kind::slow:
      return "slow";
    case Verdict::Kind::working:
      return "working";
    case Verdict::Kind::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const Verdict verdict =
      judge(reply_of(argv[1]), reply_of(argv[2]), std::chrono::seconds(std::atoi(argv[3])));
  json odd = json::array();
  for (const Rank rank : verdict.odd) odd.push_back(rank.value);
  std::cout << json{{"kind", name_of(verdict.kind)},
                    {"odd", odd},
                    {"headline", verdict.headline},
                    {"lines", verdict.lines}}
            << '\n';
}
