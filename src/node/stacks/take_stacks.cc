#include "node/stacks/take_stacks.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/descriptors.h"
#include "os/unique_fd.h"
#include "os/write_all.h"
#include "text/strings.h"
#include "wire/message.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kForNative{1500};
// In CBOR, a field's name costs bytes too.
constexpr std::size_t kFrameCost = 48;
constexpr std::size_t kThreadCost = 64;
constexpr std::size_t kProcessCost = 64;

std::size_t cost_of(const ThreadStack& thread) {
  std::size_t cost = kThreadCost + thread.name.size() + thread.doing.size();
  for (const StackFrame& frame : thread.frames)
    cost += kFrameCost + frame.function.size() + frame.file.size();
  return cost;
}

std::size_t cost_of(const RankStacks& rank) {
  std::size_t cost = kProcessCost;
  for (const std::string& remark : rank.remarks) cost += remark.size();
  for (const ProcessStack& process : rank.processes) {
    cost += kProcessCost + process.command.size();
    for (const ThreadStack& thread : process.threads) cost += cost_of(thread);
  }
  return cost;
}

/// Reads to the end of the file, or what arrives before the limit.
std::string read_until(int fd, MonotonicTime end) {
  std::string bytes;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
    pollfd ready{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) return bytes;
    char buffer[65536];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

/// Trims the rank's stacks to at most `most` bytes.
void trim(RankStacks& rank, std::size_t most) {
  std::size_t cost = cost_of(rank);
  std::size_t left_out = 0;
  for (const bool main_too : {false, true}) {
    for (auto process = rank.processes.rbegin(); process != rank.processes.rend(); ++process) {
      while (cost > most && process->threads.size() > (main_too ? 0U : 1U)) {
        cost -= std::min(cost, cost_of(process->threads.back()));
        left_out += process->threads.back().count;
        process->threads.pop_back();
      }
    }
  }
  std::erase_if(rank.processes, [](const ProcessStack& one) { return one.threads.empty(); });
  if (left_out > 0)
    rank.remarks.push_back(counted(left_out, "thread") + " left out: the answer was too large");
}

/// Asks a source in a process of its own: if the source waits for a file system that does not
/// answer, the findings of other sources are reported anyway.
void ask_apart(StackSource source, const char* what, const StackRequest& request,
               std::vector<RankStacks>& ranks) {
  constexpr std::chrono::milliseconds kToAnswer{50};
  auto pipe = make_pipe();
  const pid_t pid = pipe ? ::fork() : -1;
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Otherwise this child would keep open the pipe on which the agent awaits our answer.
    close_all_but({pipe->write.get(), request.broker});
    source(request, ranks);
    (void)write_all(pipe->write.get(),
                    wire::encode_value(wire::StacksTaken{Attempt(0), 0, "", ranks}));
    ::_exit(0);
  }
  std::string bytes;
  if (pid > 0) {
    pipe->write.reset();
    bytes = read_until(pipe->read.get(), request.end + kToAnswer);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, WNOHANG);  // one that hangs in the kernel is left to the agent
  }
  if (auto taken = wire::decode_value<wire::StacksTaken>(bytes)) {
    ranks = std::move(taken->ranks);
    return;
  }
  for (RankStacks& rank : ranks)
    rank.remarks.push_back(std::string(what) +
                           " are missing: the process that reads them did not answer");
}

}  // namespace

void join_equal_threads(ProcessStack& process) {
  std::vector<ThreadStack> joined;
  for (ThreadStack& thread : process.threads) {
    const auto equal = std::find_if(joined.begin(), joined.end(), [&](const ThreadStack& other) {
      return other.id != process.pid && other.name == thread.name && other.state == thread.state &&
             other.doing == thread.doing && other.frames == thread.frames;
    });
    if (equal == joined.end()) {
      joined.push_back(std::move(thread));
    } else {
      equal->count += thread.count;
    }
  }
  process.threads = std::move(joined);
}

void trim_stacks(std::vector<RankStacks>& ranks, std::size_t most) {
  for (RankStacks& rank : ranks) trim(rank, most / ranks.size());
}

std::vector<RankStacks> take_stacks(const StackRequest& request) {
  std::vector<RankStacks> ranks;
  read_proc_stacks(request, ranks);
  StackRequest first = request;  // so a py-spy that hangs leaves time for the other source
  first.end -= kForNative;
  ask_apart(add_python_stacks, "Python frames", first, ranks);
  StackRequest second = request;
  second.broker = -1;  // it reads only what it may read itself
  ask_apart(add_native_stacks, "C, C++ and Fortran frames", second, ranks);
  for (RankStacks& rank : ranks) {
    for (ProcessStack& process : rank.processes) {
      join_equal_threads(process);
      for (ThreadStack& thread : process.threads) {
        if (thread.frames.size() > kMostStackFrames) thread.frames.resize(kMostStackFrames);
      }
    }
  }
  trim_stacks(ranks, kMostStackBytes);
  return ranks;
}

}  // namespace dlaunch
