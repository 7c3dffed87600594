#include "node/watch/process_tree.h"

#include <algorithm>
#include <string>
#include <utility>

#include <unistd.h>

#include "os/containment.h"
#include "os/proc_file.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostProcesses = 512;  // of a rank

std::string file_of(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + '/' + name;
}

std::vector<pid_t> children_of_main_thread(pid_t pid) {
  const std::string number = std::to_string(pid);
  const std::string text = read_proc_file("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> children;
  for (const std::string_view word : split_words(text))
    children.push_back(number_of<pid_t>(word).value_or(0));
  return children;
}

std::uint64_t memory_page() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::uint64_t ticks_in_second() {
  static const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ticks;
}

}  // namespace

/// False: it has ended, or its pid belongs to another process now.
bool ProcessTree::read(Known& process, Depth depth) {
  const auto stat = parse_process_stat(read_proc_file(file_of(process.pid, "stat")));
  if (!stat || (!process.is_new && stat->started != process.stat.started)) return false;
  process.stat = *stat;
  if (depth != Depth::brief || process.is_new) {
    process.io = parse_io(read_proc_file(file_of(process.pid, "io")));
    process.switches = parse_switches(read_proc_file(file_of(process.pid, "status")));
  }
  process.is_new = false;
  return true;
}

void ProcessTree::find_children(Depth depth) {
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const pid_t parent = known_[i].pid;
    for (const pid_t child :
         depth == Depth::whole ? children_of(parent) : children_of_main_thread(parent)) {
      const bool is_known = std::any_of(known_.begin(), known_.end(),
                                        [&](const Known& one) { return one.pid == child; });
      if (child <= 0 || is_known || known_.size() >= kMostProcesses) continue;
      Known found{child};
      if (read(found, Depth::brief)) known_.push_back(found);
    }
  }
}

void ProcessTree::look(Depth depth, RankPulse& rank) {
  constexpr std::uint64_t kMillis = 1000;
  std::erase_if(known_, [&](Known& one) { return !read(one, depth); });
  if (depth != Depth::brief) find_children(depth);
  std::uint64_t ticks = 0;
  std::uint64_t io = 0;
  std::uint64_t switches = 0;
  rank.memory = 0;
  rank.processes = 0;
  for (const Known& one : known_) {
    ticks += one.stat.ticks;
    io += one.io;
    switches += one.switches;
    rank.memory += one.stat.pages * memory_page();
    if (one.stat.state != 'Z' && one.stat.state != 'X') ++rank.processes;
  }
  rank.cpu_ms = ticks_.add(ticks) * kMillis / ticks_in_second();
  rank.io_bytes = io_.add(io);
  rank.switches = switches_.add(switches);
  const bool has_root = !known_.empty() && known_.front().pid == root_;
  rank.state = has_root ? std::string(1, known_.front().stat.state) : "";
}

std::chrono::nanoseconds ProcessTree::waited() {
  std::uint64_t longest = 0;
  for (Known& one : known_) {
    const std::uint64_t now = parse_waited(read_proc_file(file_of(one.pid, "schedstat")));
    const std::uint64_t before = std::exchange(one.waited, now);
    if (before > 0 && now > before) longest = std::max(longest, now - before);
  }
  return std::chrono::nanoseconds(longest);
}

}  // namespace dlaunch
