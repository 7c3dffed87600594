#include "report/standing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/frame_table.h"
#include "report/stack_tree.h"

namespace dlaunch {

namespace {

// CPU time between the snapshots; a process that only polls now and then uses less.
constexpr std::uint64_t kBusyMs = 100;
constexpr std::uint64_t kMuchIo = 64 << 10;
constexpr std::uint64_t kManyWakeups = 3;
constexpr std::uint64_t kLongWaitMs = 500;  // waiting for a CPU
constexpr std::uint64_t kWaitsToWork = 4;   // ranks that merely share few CPUs wait less

constexpr std::string_view kLock = "waiting for a lock";

using Frames = std::vector<StackFrame>;

const ThreadStack* main_thread(const ProcessStack* process) {
  return process == nullptr || process->threads.empty() ? nullptr : &process->threads.front();
}

bool has_state(const ThreadStack& thread, std::string_view letters) {
  return !thread.state.empty() && letters.find(thread.state.front()) != std::string_view::npos;
}

bool has_ended(const ProcessStack& process) {
  const ThreadStack* const thread = main_thread(&process);
  return thread == nullptr || has_state(*thread, "ZX");
}

/// Whether the thread is in a call on a named file, or in an uninterruptible wait.
bool is_blocked(const ThreadStack& thread) {
  if (has_state(thread, "D")) return true;
  return has_state(thread, "S") && thread.doing.find(" /") != std::string::npos &&
         thread.doing.find(" /dev/") == std::string::npos;
}

/// The frames from `depth` outward, without the kernel's.
Frames outward(const Frames& frames, std::size_t depth) {
  Frames part(frames.begin() + static_cast<std::ptrdiff_t>(depth), frames.end());
  std::erase_if(part, [](const StackFrame& one) { return one.kind == StackFrame::Kind::kernel; });
  return part;
}

/// The frames outward from a known wait. What happens inside the wait (it may poll every 5 s) does
/// not count as a move.
Frames where(const ThreadStack* thread) {
  if (thread == nullptr) return {};
  const auto known = known_wait(thread->frames);
  return outward(thread->frames, known ? known->depth : 0);
}

bool has_native(const Frames& frames) {
  return std::any_of(frames.begin(), frames.end(),
                     [](const StackFrame& one) { return one.kind == StackFrame::Kind::native; });
}

/// Whether the frames differ. If frames (all, or the native ones) were read only in one snapshot,
/// they do not count.
bool differ(Frames before, Frames now) {
  if (has_native(before) != has_native(now)) {
    for (Frames* const frames : {&before, &now})
      std::erase_if(*frames,
                    [](const StackFrame& one) { return one.kind == StackFrame::Kind::native; });
  }
  return !before.empty() && !now.empty() && before != now;
}

/// Whether the earlier snapshot has frames that the later one lacks.
bool sees_more(const ThreadStack* before, const ThreadStack& now) {
  return (where(&now).empty() && !where(before).empty()) ||
         (before != nullptr && has_native(before->frames) && !has_native(now.frames));
}

std::uint64_t grown(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

struct Work {
  std::uint64_t cpu_ms = 0;
  std::uint64_t io_bytes = 0;
  std::uint64_t switches = 0;
  std::uint64_t waited_ms = 0;
  bool are_new = false;  // some processes are new
};

const ProcessStack* find(const RankStacks& rank, std::int32_t pid) {
  const auto found = std::find_if(rank.processes.begin(), rank.processes.end(),
                                  [pid](const ProcessStack& one) { return one.pid == pid; });
  return found == rank.processes.end() ? nullptr : &*found;
}

Work work_of(const ProcessStack& process, const RankStacks& before) {
  const ProcessStack* const earlier = find(before, process.pid);
  if (earlier == nullptr) return {0, 0, 0, 0, true};
  return {grown(earlier->cpu_ms, process.cpu_ms), grown(earlier->io_bytes, process.io_bytes),
          grown(earlier->switches, process.switches), grown(earlier->waited_ms, process.waited_ms),
          false};
}

Work work_of(const std::vector<const ProcessStack*>& processes, const RankStacks& before) {
  Work all;
  for (const ProcessStack* process : processes) {
    const Work one = work_of(*process, before);
    all.cpu_ms += one.cpu_ms;
    all.io_bytes += one.io_bytes;
    all.switches += one.switches;
    all.are_new = all.are_new || one.are_new;
  }
  return all;
}

std::vector<const ProcessStack*> living_children(const RankStacks& rank, std::int32_t pid) {
  std::vector<const ProcessStack*> children;
  for (const ProcessStack& one : rank.processes) {
    if (one.parent == pid && one.pid != pid && !has_ended(one)) children.push_back(&one);
  }
  return children;
}

std::string name_of_file(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string with_line(std::string file, const StackFrame& frame) {
  return frame.line > 0 ? file + ':' + std::to_string(frame.line) : file;
}

/// "load (data.py:8)"; empty: unknown.
std::string place_in_words(const ThreadStack& thread) {
  const StackFrame* const frame = user_frame(thread.frames);
  if (frame == nullptr) return "";
  return frame->function + " (" + with_line(name_of_file(frame->file), *frame) + ')';
}

void set_place(const Frames& frames, std::size_t depth, Standing& standing) {
  const StackFrame* const frame = user_frame(frames, depth);
  if (frame == nullptr) return;
  standing.function = frame->function;
  standing.place = with_line(name_of_file(frame->file), *frame);
  standing.path = with_line(frame->file, *frame);
  if (frame->line > 0 || standing.operation.empty()) return;
  for (std::string* const place : {&standing.place, &standing.path})
    *place = frame->function + " in " + *place;
}

bool is_in_user_code(const ThreadStack& thread) {
  const auto innermost =
      std::find_if(thread.frames.begin(), thread.frames.end(),
                   [](const StackFrame& one) { return one.kind == StackFrame::Kind::python; });
  return innermost != thread.frames.end() && user_frame(thread.frames) == &*innermost;
}

bool joins_a_thread(const ThreadStack& thread) {
  return std::any_of(thread.frames.begin(), thread.frames.end(), [](const StackFrame& one) {
    return one.function == "Thread.join" || one.function == "join";
  });
}

/// "main thread in f (a.py:3), thread B in g (a.py:9)": threads that wait for locks in the user's
/// own code. Empty: fewer than two threads do, or the main thread waits for something else.
std::string deadlock_in(const ProcessStack& process) {
  const ThreadStack& main = process.threads.front();
  if (main.doing != kLock) return "";
  std::string text;
  std::uint32_t count = 0;
  for (const ThreadStack& thread : process.threads) {
    if (thread.doing != kLock || !is_in_user_code(thread)) continue;
    count += thread.count;
    text += (text.empty() ? "" : ", ") +
            (&thread == &main ? "the main thread" : "thread " + thread.name) + " in " +
            place_in_words(thread);
  }
  const bool main_takes_part = is_in_user_code(main) || joins_a_thread(main);
  return count > 1 && main_takes_part ? text : "";
}

/// What holds up the processes that load data; empty: nothing visible.
std::string trouble_of(const std::vector<const ProcessStack*>& loaders) {
  for (const ProcessStack* loader : loaders) {
    const ThreadStack& thread = *main_thread(loader);
    if (!has_state(thread, "Tt") && !is_blocked(thread)) continue;
    const std::string place = place_in_words(thread);
    return "its data loader, pid " + std::to_string(loader->pid) + ", is " + activity_of(thread) +
           (place.empty() ? "" : " in " + place);
  }
  return "";
}

/// Whether the data loader reads or computes a batch, and does not wait for its next order.
bool makes_batch(const ProcessStack* loader) {
  const Frames& frames = main_thread(loader)->frames;
  return std::any_of(frames.begin(), frames.end(), [](const StackFrame& one) {
    return one.file.ends_with("torch/utils/data/_utils/fetch.py");
  });
}

/// Whether a process that has ended ran the program of one that lives. Its command is "[NAME]".
bool had_the_program_of(const ProcessStack& living, const ProcessStack& ended) {
  const std::string program = living.command.substr(0, living.command.find(' '));
  return ended.command == '[' + name_of_file(program) + ']';
}

/// Whether a child that has ended may have been a data loader: it has the name of their program, or
/// the one that PyTorch gives its workers. A program may also leave other children unreaped.
bool may_have_loaded(const ProcessStack& ended, const ProcessStack& loader) {
  return had_the_program_of(loader, ended) || ended.command == "[pt_data_worker]";
}

/// `loader`: one that lives. `has_other_trouble`: the living ones work, or something holds them up,
/// so a child that had ended before the earlier snapshot is not to blame.
bool has_dead_loader(const RankStacks& before, const RankStacks& now, std::int32_t parent,
                     const ProcessStack& loader, bool has_other_trouble) {
  return std::any_of(now.processes.begin(), now.processes.end(), [&](const ProcessStack& one) {
    if (one.parent != parent || !has_ended(one)) return false;
    const ProcessStack* const earlier = find(before, one.pid);
    const bool has_ended_since = earlier != nullptr && !has_ended(*earlier);
    return has_ended_since || (!has_other_trouble && may_have_loaded(one, loader));
  });
}

void judge_loader(const RankStacks& before, const RankStacks& now, const ProcessStack& work,
                  Standing& standing) {
  const auto loaders = living_children(now, work.pid);
  standing.why = Standing::Why::dead_loader;
  if (loaders.empty()) return;
  const std::string trouble = trouble_of(loaders);
  const Work done = work_of(loaders, before);
  const bool are_busy = done.cpu_ms >= kBusyMs;
  bool others_move = false;
  for (const ProcessStack* loader : loaders) {
    const ProcessStack* const earlier = find(before, loader->pid);
    others_move = others_move || differ(where(main_thread(earlier)), where(main_thread(loader)));
  }
  const bool have_moved = are_busy || done.io_bytes >= kMuchIo || done.are_new || others_move;
  const ProcessStack& first = *loaders.front();
  const bool has_other_trouble =
      have_moved || !trouble.empty() || std::any_of(loaders.begin(), loaders.end(), makes_batch);
  if (has_dead_loader(before, now, work.pid, first, has_other_trouble)) return;
  standing.why = Standing::Why::loader;
  standing.detail = trouble;
  standing.is_busy = are_busy;
  standing.has_moved = have_moved;
  if (!standing.detail.empty()) return;
  const std::string place = place_in_words(*main_thread(&first));
  if (!place.empty())
    standing.detail = "its data loader, pid " + std::to_string(first.pid) + ", is in " + place;
}

/// For a rank that does not wait for another rank: whether it works or is blocked.
void judge_work(const RankStacks& before, const RankStacks& now, const ProcessStack& work,
                const ThreadStack& thread, Standing& standing) {
  std::vector<const ProcessStack*> all;
  all.reserve(now.processes.size());
  for (const ProcessStack& one : now.processes) all.push_back(&one);
  const Work done = work_of(all, before);
  standing.is_busy = done.cpu_ms >= kBusyMs;
  standing.has_moved =
      standing.has_moved || standing.is_busy || done.io_bytes >= kMuchIo || done.are_new;
  if (const std::string deadlock = deadlock_in(work); !deadlock.empty()) {
    standing.why = Standing::Why::deadlock;
    standing.detail = deadlock;
  } else if (is_blocked(thread)) {
    standing.why = Standing::Why::blocked;
    standing.has_moved = standing.has_moved || work_of(work, before).switches >= kManyWakeups;
  } else if (standing.lacks_cpu && !standing.is_busy && has_state(thread, "R") &&
             !standing.function.empty()) {
    // It goes on as soon as it gets a CPU. Where the main thread sleeps, its other threads wait for
    // one; of a rank whose place is unknown, it may be the wait for others that spins.
    standing.why = Standing::Why::starved;
    standing.has_moved = true;
  }
}

Standing standing_of(const RankStacks& before, const RankStacks& now) {
  Standing standing;
  standing.rank = now.rank;
  standing.host = now.host;
  standing.unanswered = now.unanswered;
  const ProcessStack* const work = working_process(now);
  const ThreadStack* const thread = main_thread(work);
  if (thread == nullptr || has_ended(*work)) {
    standing.why = Standing::Why::ended;
    standing.has_moved = !before.processes.empty() && now.processes.empty();
    return standing;
  }
  const ProcessStack* const earlier = find(before, work->pid);
  const ThreadStack* const thread_before = main_thread(earlier);
  const bool is_elsewhere = differ(where(thread_before), where(thread));
  const bool only_before = !is_elsewhere && sees_more(thread_before, *thread);
  const Frames& frames = only_before ? thread_before->frames : thread->frames;
  const auto known = known_wait(frames);
  if (known) standing.operation = known->operation;
  set_place(frames, known ? known->depth : 0, standing);
  standing.detail = activity_of(*thread);
  if (has_state(*thread, "Tt")) {
    standing.why = Standing::Why::stopped;
    return standing;
  }
  const Work own = work_of(*work, before);
  standing.lacks_cpu = own.waited_ms >= kLongWaitMs && own.waited_ms >= kWaitsToWork * own.cpu_ms;
  if (known && known->row->wait == Wait::loader) {
    judge_loader(before, now, *work, standing);
    standing.has_moved = standing.has_moved || is_elsewhere;
    return standing;
  }
  const bool waits = known && known->row->wait != Wait::children &&
                     !(known->row->wait == Wait::step && own.cpu_ms >= kBusyMs);
  if (waits) {
    standing.why = Standing::Why::ranks;
    standing.waits_for_peer = known->row->wait == Wait::peer;
    // MPI and GPU libraries wait in a loop that uses the CPU.
    const bool may_spin =
        frames[known->depth].kind == StackFrame::Kind::native || has_state(*thread, "R");
    standing.has_moved = is_elsewhere || (!may_spin && own.cpu_ms >= kBusyMs);
    // Where ranks outnumber the CPUs, a rank that spins waits for a CPU most of the time.
    standing.may_be_many =
        own.cpu_ms + own.waited_ms >= kBusyMs || known->row->wait == Wait::device;
    return standing;
  }
  standing.has_moved = is_elsewhere;
  judge_work(before, now, *work, *thread, standing);
  return standing;
}

/// A wait for others than the own children.
bool waits_for_ranks(const ThreadStack& thread) {
  const auto known = known_wait(thread.frames);
  return known && known->row->wait != Wait::loader && known->row->wait != Wait::children;
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char one) { return one >= '0' && one <= '9'; });
  return text;
}

/// The process and what is below it, as if they were a rank's.
RankStacks below(const RankStacks& rank, std::int32_t pid) {
  RankStacks part;
  part.rank = rank.rank;
  part.host = rank.host;
  std::set<std::int32_t> taken{pid};
  for (const ProcessStack& one : rank.processes) {  // parents before children
    if (one.pid != pid && !taken.contains(one.parent)) continue;
    taken.insert(one.pid);
    part.processes.push_back(one);
  }
  return part;
}

/// The rank without these processes and what is below them.
RankStacks without(RankStacks rank, const std::vector<std::int32_t>& workers) {
  std::set<std::int32_t> taken(workers.begin(), workers.end());
  std::vector<ProcessStack> rest;
  for (ProcessStack& one : rank.processes) {  // parents before children
    if (taken.contains(one.pid) || taken.contains(one.parent))
      taken.insert(one.pid);
    else
      rest.push_back(std::move(one));
  }
  rank.processes = std::move(rest);
  return rank;
}

/// The children of the rank's process that work in its place, living or not reaped; none: it works
/// itself.
std::vector<std::int32_t> workers_of(const RankStacks& now) {
  const ProcessStack* const work = working_process(now);
  const ThreadStack* const thread = main_thread(work);
  if (thread == nullptr || !has_state(*thread, "S")) return {};
  const auto known = known_wait(thread->frames);
  if (known && known->row->wait != Wait::children) return {};
  const auto children = living_children(now, work->pid);
  std::set<std::string> commands;
  for (const ProcessStack* child : children) {
    const RankStacks part = below(now, child->pid);
    const ThreadStack* const its = main_thread(working_process(part));
    if (its != nullptr && waits_for_ranks(*its)) commands.insert(without_digits(child->command));
  }
  std::vector<std::int32_t> workers;
  const ProcessStack* one_of_them = nullptr;
  for (const ProcessStack* child : children) {
    if (!commands.contains(without_digits(child->command))) continue;
    workers.push_back(child->pid);
    one_of_them = child;
  }
  // A rank that works itself may have left other children unreaped.
  if (one_of_them == nullptr || is_in_user_code(*thread)) return workers;
  for (const ProcessStack& one : now.processes) {
    if (one.parent == work->pid && has_ended(one) && had_the_program_of(*one_of_them, one))
      workers.push_back(one.pid);
  }
  return workers;
}

}  // namespace

std::vector<Standing> standings_of(const RankStacks& before, const RankStacks& now) {
  const std::vector<std::int32_t> workers = workers_of(now);
  if (workers.empty()) return {standing_of(before, now)};
  std::vector<Standing> standings;
  for (const std::int32_t pid : workers) {
    standings.push_back(standing_of(below(before, pid), below(now, pid)));
    standings.back().worker = pid;
  }
  // A process that is in the user's code does not only supervise.
  if (is_in_user_code(*main_thread(working_process(now))))
    standings.push_back(standing_of(without(before, workers), without(now, workers)));
  for (Standing& one : standings) one.unanswered.clear();
  standings.front().unanswered = now.unanswered;
  return standings;
}

}  // namespace dlaunch
