#include "report/stacks_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "report/frame_table.h"
#include "report/stack_tree.h"
#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

constexpr std::size_t kIndent = 2;

std::string frame_text(const StackFrame& frame) {
  const std::string function = frame.function.empty() ? "?" : plain_line(frame.function);
  switch (frame.kind) {
    case StackFrame::Kind::kernel:
      return function + "  (kernel)";
    case StackFrame::Kind::python:
    case StackFrame::Kind::native:
      return function + "  " + plain_line(frame.file) +
             (frame.line > 0 ? ':' + std::to_string(frame.line) : "");
  }
  return function;
}

/// Cuts the beginning of a path, because the end is more informative.
std::string fitted(const std::string& line, std::size_t columns) {
  const std::size_t length = utf8_length(line);
  if (length <= columns) return line;
  const std::size_t path = line.find("  /");
  const std::size_t excess = length - columns + 3;
  if (path == std::string::npos || path + 2 + excess + 8 > line.size())
    return cut_to_columns(line, columns);
  return line.substr(0, path + 2) + "..." + line.substr(path + 2 + excess);
}

class Writer {
 public:
  Writer(std::string& out, std::size_t columns) : out_(out), columns_(columns) {}

  void line(std::size_t depth, const std::string& text) {
    const std::size_t indent = std::min(depth * kIndent, columns_ / 2);
    out_ += std::string(indent, ' ') + fitted(text, columns_ - indent) + '\n';
  }

  /// `above`: the frames on the way to this tree, outermost first.
  void tree(const StackTree& tree, std::size_t depth, std::vector<StackFrame> above) {
    line(depth, heading_of(tree.members));
    for (const StackFrame& frame : tree.frames) line(depth + 1, frame_text(frame));
    above.insert(above.end(), tree.frames.begin(), tree.frames.end());
    for (const StackTree& branch : tree.branches) this->tree(branch, depth + 1, above);
    if (!tree.branches.empty()) return;
    std::reverse(above.begin(), above.end());
    if (const auto waits = waits_for(above); !waits.empty()) line(depth + 1, "= waits in " + waits);
    if (!tree.doing.empty()) line(depth + 1, "= " + plain_line(tree.doing));
    if (tree.doing.empty() && tree.frames.empty()) line(depth + 1, "= not known");
  }

 private:
  std::string& out_;
  std::size_t columns_;
};

/// Writes remarks, equal ones of several ranks only once.
void write_remarks(const StacksReply& reply, Writer& writer) {
  std::map<std::string, std::vector<RankOnHost>> said;
  std::vector<RankOnHost> gone;
  for (const RankStacks& rank : reply.ranks) {
    const RankOnHost member{rank.rank, rank.host, 1};
    for (const std::string& remark :
         std::set<std::string>(rank.remarks.begin(), rank.remarks.end()))
      said[remark].push_back(member);
    for (const std::string& peer : rank.unanswered)
      said["no answer over the network from " + peer].push_back(member);
    if (rank.processes.empty()) gone.push_back(member);
  }
  if (!gone.empty()) {
    writer.line(0, heading_of(gone));
    writer.line(1, "= no process: ended, or not started");
  }
  for (const auto& [remark, members] : said)
    writer.line(0, heading_of(members) + ": " + plain_line(remark));
  for (const std::string& silent : reply.silent)
    writer.line(0, "no answer from " + plain_line(silent));
}

const char* name_of(StackFrame::Kind kind) {
  switch (kind) {
    case StackFrame::Kind::python:
      return "python";
    case StackFrame::Kind::kernel:
      return "kernel";
    case StackFrame::Kind::native:
      return "native";
  }
  return "";
}

void write_thread(JsonText& json, const ThreadStack& thread) {
  json.line(8).begin_object().key("id").number(thread.id).key("name").string(thread.name);
  json.key("state").string(thread.state).key("doing").string(thread.doing);
  json.key("count").number(thread.count).key("waits_in").string(waits_for(thread.frames));
  json.key("frames").begin_array();
  for (const StackFrame& frame : thread.frames) {
    json.line(10).begin_object().key("kind").string(name_of(frame.kind));
    json.key("function").string(frame.function).key("file").string(frame.file);
    json.key("line").number(frame.line).end_object();
  }
  json.end_array().end_object();
}

void write_rank(JsonText& json, const RankStacks& rank) {
  json.line(2).begin_object().key("rank").number(rank.rank.value).key("host").string(rank.host);
  json.key("processes").begin_array();
  for (const ProcessStack& process : rank.processes) {
    json.line(4).begin_object().key("pid").number(process.pid).key("parent").number(process.parent);
    json.key("command").string(process.command).key("cpu_ms").number(process.cpu_ms);
    json.key("io_bytes").number(process.io_bytes).key("switches").number(process.switches);
    json.key("waited_ms").number(process.waited_ms);
    json.key("threads").begin_array();
    for (const ThreadStack& thread : process.threads) write_thread(json, thread);
    json.end_array().end_object();
  }
  json.end_array().key("remarks").begin_array();
  for (const std::string& remark : rank.remarks) json.string(remark);
  json.end_array().key("unanswered").begin_array();
  for (const std::string& peer : rank.unanswered) json.string(peer);
  json.end_array().end_object();
}

}  // namespace

std::string stacks_text(const StacksReply& reply, std::size_t columns) {
  std::string out;
  Writer writer(out, columns);
  for (const StackGroup& group : merge_stacks(reply.ranks)) {
    if (!group.who.empty()) writer.line(0, plain_line(group.who));
    for (const StackTree& tree : group.trees) writer.tree(tree, group.who.empty() ? 0 : 1, {});
  }
  write_remarks(reply, writer);
  return out;
}

std::string stacks_json(const StacksReply& reply) {
  std::string out;
  JsonText json(out);
  json.begin_object().key("version").number(1).key("attempt").number(reply.attempt);
  json.key("world").number(reply.world).key("ranks").begin_array();
  for (const RankStacks& rank : reply.ranks) write_rank(json, rank);
  json.line(0).end_array().key("silent").begin_array();
  for (const std::string& silent : reply.silent) json.string(silent);
  json.end_array().end_object();
  return out;
}

}  // namespace dlaunch
