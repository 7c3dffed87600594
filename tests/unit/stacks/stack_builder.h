// Stacks for tests: real ones from tests/data/stacks, and made ones.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/stacks.h"
#include "node/stacks/py_spy_output.h"

namespace dlaunch {

/// What py-spy printed of a program of PyTorch: "torch-1.13-all_reduce.json".
inline std::string recorded(const std::string& name) {
  std::ifstream file(std::string(DLAUNCH_TEST_DATA) + "/stacks/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Its main thread.
inline ThreadStack recorded_main_thread(const std::string& name) {
  ProcessStack process;
  if (!add_py_spy_output(recorded(name), process)) throw std::runtime_error("no " + name);
  for (const ThreadStack& thread : process.threads) {
    if (thread.name == "MainThread") return thread;
  }
  throw std::runtime_error("no main thread in " + name);
}

/// Frames of programs that wait in a call of MPI, as gdb shows them: by "openmpi-4.1 MPI_Barrier".
inline std::map<std::string, std::vector<StackFrame>> recorded_mpi() {
  std::map<std::string, std::vector<StackFrame>> stacks;
  const nlohmann::json all = nlohmann::json::parse(recorded("mpi.json"));
  for (const auto& [name, frames] : all.items()) {
    for (const auto& one : frames)
      stacks[name].push_back({StackFrame::Kind::native, one.at("function"), one.at("file"),
                              one.at("line").get<std::uint32_t>()});
  }
  return stacks;
}

struct RecordedWait {
  std::string name;
  std::string waits;  // as waits_for() says it
  std::vector<StackFrame> frames;
};

/// Waits of several frameworks, each with where the stack is from.
inline std::vector<RecordedWait> recorded_waits() {
  std::vector<RecordedWait> waits;
  const nlohmann::json all = nlohmann::json::parse(recorded("waits.json"));
  for (const auto& [name, one] : all.items()) {
    RecordedWait& wait = waits.emplace_back(RecordedWait{name, one.at("waits"), {}});
    for (const auto& frame : one.at("frames")) {
      const std::string file = frame.at(1);
      const auto kind = file.ends_with(".py") ? StackFrame::Kind::python : StackFrame::Kind::native;
      wait.frames.push_back({kind, frame.at(0), file, frame.at(2).get<std::uint32_t>()});
    }
  }
  return waits;
}

inline StackFrame python(std::string function, std::string file, std::uint32_t line) {
  return {StackFrame::Kind::python, std::move(function), std::move(file), line};
}

/// A rank with one process of one thread; `frames`: innermost first.
inline RankStacks standing(std::uint32_t rank, std::string host, std::vector<StackFrame> frames,
                           std::string doing = "sleeping") {
  RankStacks stacks;
  stacks.rank = Rank(rank);
  stacks.host = std::move(host);
  const auto pid = static_cast<std::int32_t>(1000 + rank);
  stacks.processes.push_back(
      {pid, 0, "python train.py", {{pid, "", "S", std::move(doing), std::move(frames), 1}}});
  return stacks;
}

}  // namespace dlaunch
