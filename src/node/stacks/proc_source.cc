#include <algorithm>
#include <cstdlib>
#include <set>

#include <unistd.h>

#include "node/stacks/stack_source.h"
#include "node/watch/proc_text.h"
#include "os/blocked_call.h"
#include "os/containment.h"
#include "os/proc_file.h"
#include "os/unanswered_peers.h"
#include "text/number.h"

namespace dlaunch {

namespace {

std::string folder_of(pid_t pid) {
  return "/proc/" + std::to_string(pid) + '/';
}

std::string cut(std::string text) {
  if (text.size() > kMostStackText) text.resize(kMostStackText);
  return text;
}

std::string name_in(const std::string& folder) {
  std::string name = read_proc_file(folder + "comm", 64);
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

/// As ps(1) shows it; a process without arguments (it has ended) has its name in brackets.
std::string command_of(pid_t pid) {
  std::string command = read_proc_file(folder_of(pid) + "cmdline", kMostStackText);
  while (command.ends_with('\0')) command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command.empty() ? '[' + name_in(folder_of(pid)) + ']' : command;
}

/// The number after "\nNAME:" in a text of proc(5); 0: there is none.
std::uint64_t number_after(const std::string& text, const std::string& name) {
  const std::size_t at = text.find('\n' + name + ':');
  return at == std::string::npos ? 0
                                 : std::strtoull(text.c_str() + at + name.size() + 2, nullptr, 10);
}

std::string status_of(const std::string& folder) {
  return read_proc_file(folder + "status", std::size_t{1} << 14);
}

/// The process that traces it; 0: none.
pid_t tracer_of(const std::string& folder) {
  return static_cast<pid_t>(number_after(status_of(folder), "TracerPid"));
}

/// How long the process' threads waited for a CPU. The main thread may wait for a lock that a
/// worker of a mathematical library holds, which itself waits for a CPU.
std::uint64_t waited_ms(const std::string& folder) {
  constexpr std::uint64_t kNanos = 1'000'000;
  constexpr std::size_t kMostThreads = 1024;
  std::uint64_t waited = 0;
  std::size_t threads = 0;
  for (const int thread : numbered_entries(folder + "task")) {
    if (++threads > kMostThreads) break;
    const std::string path = folder + "task/" + std::to_string(thread) + "/schedstat";
    waited += parse_waited(read_proc_file(path, 4096));
  }
  return waited / kNanos;
}

/// Totals of the whole process, except context switches, which are those of its main thread: other
/// threads wake up on a timer while it waits.
void read_totals(ProcessStack& process) {
  const std::string folder = folder_of(process.pid);
  const std::string stat = read_proc_file(folder + "stat", 4096);
  std::uint64_t ticks = 0;
  for (const int field : {14, 15, 16, 17})  // user, system, and those of children waited for
    ticks += number_of<std::uint64_t>(stat_field(stat, field)).value_or(0);
  process.cpu_ms = ticks * 1000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const std::string io = '\n' + read_proc_file(folder + "io", 4096);
  process.io_bytes = number_after(io, "rchar") + number_after(io, "wchar");
  const std::string status = status_of(folder);
  process.switches = number_after(status, "voluntary_ctxt_switches") +
                     number_after(status, "nonvoluntary_ctxt_switches");
  process.waited_ms = waited_ms(folder);
}

/// The kernel functions in which a thread waits: all of them if we may read them (root), else only
/// the last.
std::vector<StackFrame> kernel_frames(const std::string& folder) {
  std::vector<StackFrame> frames;
  std::string stack = read_proc_file(folder + "stack", std::size_t{1} << 14);
  for (std::size_t begin = 0; begin < stack.size();) {  // "[<0>] pipe_read+0x2ce/0x3e0"
    const std::size_t end = std::min(stack.find('\n', begin), stack.size());
    const std::string line = stack.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t name = line.find("] ");
    if (name == std::string::npos) continue;
    frames.push_back(
        {StackFrame::Kind::kernel, line.substr(name + 2, line.find('+') - name - 2), "", 0});
  }
  if (!frames.empty()) return frames;
  const std::string channel = read_proc_file(folder + "wchan", 128);
  if (!channel.empty() && channel != "0")
    frames.push_back({StackFrame::Kind::kernel, channel, "", 0});
  return frames;
}

ThreadStack read_thread(pid_t pid, pid_t id) {
  const std::string folder = folder_of(pid) + "task/" + std::to_string(id) + '/';
  ThreadStack thread;
  thread.id = id;
  if (id != pid) thread.name = cut(name_in(folder));
  const std::string stat = read_proc_file(folder + "stat", 4096);
  thread.state = stat_field(stat, 3);
  if (thread.state == "t") {
    const pid_t tracer = tracer_of(folder);
    thread.doing =
        "stopped by a debugger" +
        (tracer > 0 ? ": pid " + std::to_string(tracer) + " (" + name_in(folder_of(tracer)) + ')'
                    : "");
  }
  if (thread.state == "S" || thread.state == "D")
    thread.doing = cut(text_of(blocked_call(pid, id)));
  if (thread.state == "D" || (thread.state == "S" && thread.doing.empty()))
    thread.frames = kernel_frames(folder);
  return thread;
}

ProcessStack read_process(pid_t pid, pid_t parent) {
  ProcessStack process;
  process.pid = pid;
  process.parent = parent;
  process.command = cut(command_of(pid));
  std::vector<pid_t> threads = threads_of(pid);
  std::sort(threads.begin(), threads.end(),
            [pid](pid_t a, pid_t b) { return std::pair(a != pid, a) < std::pair(b != pid, b); });
  if (threads.size() > kMostStackThreads) threads.resize(kMostStackThreads);
  for (const pid_t id : threads) process.threads.push_back(read_thread(pid, id));
  read_totals(process);
  return process;
}

}  // namespace

void read_proc_stacks(const StackRequest& request, std::vector<RankStacks>& ranks) {
  UnansweredPeers unanswered;
  for (const RankProcess& one : request.ranks) {
    RankStacks& rank = ranks.emplace_back();
    rank.rank = one.rank;
    std::vector<std::pair<pid_t, pid_t>> todo;  // with its parent
    if (one.pid > 0) todo.emplace_back(one.pid, 0);
    std::set<pid_t> seen;
    std::set<std::string> peers;
    for (std::size_t i = 0; i < todo.size(); ++i) {
      const auto [pid, parent] = todo[i];
      if (!seen.insert(pid).second) continue;
      if (seen.size() > kMostStackProcesses) {
        rank.remarks.push_back("only " + std::to_string(kMostStackProcesses) +
                               " of its processes are shown");
        break;
      }
      ProcessStack process = read_process(pid, parent);
      if (process.threads.empty()) continue;  // it has ended meanwhile
      rank.processes.push_back(std::move(process));
      peers.merge(unanswered.of(pid));
      for (const pid_t child : children_of(pid)) todo.emplace_back(child, pid);
    }
    for (const std::string& peer : peers) {
      if (rank.unanswered.size() < kMostStackPeers) rank.unanswered.push_back(peer);
    }
  }
}

}  // namespace dlaunch
