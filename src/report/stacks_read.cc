#include "report/stacks_read.h"

#include <nlohmann/json.hpp>

#include "report/json_values.h"
#include "runs/run_record.h"

namespace dlaunch {

namespace {

using nlohmann::json;

template <class Number>
Number number(const json& object, const char* name) {
  return static_cast<Number>(json_number(object, name).value_or(0));
}

std::vector<std::string> texts(const json& object, const char* name) {
  std::vector<std::string> all;
  for (const json& one : json_member(object, name)) all.push_back(json_text_of(one));
  return all;
}

StackFrame::Kind kind_of(const std::string& name) {
  return name == "kernel"   ? StackFrame::Kind::kernel
         : name == "native" ? StackFrame::Kind::native
                            : StackFrame::Kind::python;
}

ThreadStack thread_of(const json& from) {
  ThreadStack thread{number<std::int32_t>(from, "id"),
                     json_string(from, "name"),
                     json_string(from, "state"),
                     json_string(from, "doing"),
                     {},
                     number<std::uint32_t>(from, "count")};
  for (const json& frame : json_member(from, "frames")) {
    if (frame.is_object())
      thread.frames.push_back({kind_of(json_string(frame, "kind")), json_string(frame, "function"),
                               json_string(frame, "file"), number<std::uint32_t>(frame, "line")});
  }
  return thread;
}

ProcessStack process_of(const json& from) {
  ProcessStack process{number<std::int32_t>(from, "pid"),
                       number<std::int32_t>(from, "parent"),
                       json_string(from, "command"),
                       {},
                       number<std::uint64_t>(from, "cpu_ms"),
                       number<std::uint64_t>(from, "io_bytes"),
                       number<std::uint64_t>(from, "switches"),
                       number<std::uint64_t>(from, "waited_ms")};
  for (const json& thread : json_member(from, "threads")) {
    if (thread.is_object()) process.threads.push_back(thread_of(thread));
  }
  return process;
}

}  // namespace

Result<StacksReply> parse_stacks(std::string_view text) {
  const auto root = parse_json_object(text);
  if (!root || !json_member(*root, "ranks").is_array())
    return fail(exit_code::kUsage, "not a snapshot of stacks");
  StacksReply reply;
  reply.attempt = number<std::uint32_t>(*root, "attempt");
  reply.world = number<std::uint32_t>(*root, "world");
  reply.silent = texts(*root, "silent");
  for (const json& one : json_member(*root, "ranks")) {
    if (!one.is_object()) continue;
    RankStacks rank;
    rank.rank = Rank(number<std::uint32_t>(one, "rank"));
    rank.host = json_string(one, "host");
    rank.remarks = texts(one, "remarks");
    rank.unanswered = texts(one, "unanswered");
    for (const json& process : json_member(one, "processes")) {
      if (process.is_object()) rank.processes.push_back(process_of(process));
    }
    reply.ranks.push_back(std::move(rank));
  }
  return reply;
}

}  // namespace dlaunch
