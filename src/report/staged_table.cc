#include "report/staged_table.h"

#include <algorithm>
#include <utility>

#include "jobfile/hostlist.h"
#include "report/runs_table.h"
#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"
#include "text/table.h"

namespace dlaunch {

namespace {

/// A line that several nodes share because their values are the same.
struct Shared {
  Cells cells;
  std::vector<std::string> nodes;
};

void add(std::vector<Shared>& lines, Cells cells, const std::string& node) {
  auto same = std::find_if(lines.begin(), lines.end(),
                           [&](const Shared& line) { return line.cells == cells; });
  if (same == lines.end()) same = lines.insert(same, {std::move(cells), {}});
  same->nodes.push_back(node);
}

std::string state_of(const StagedTarget& target) {
  if (!target.users.empty())
    return "in use by " +
           joined(target.users, ", ", [](const auto& one) { return plain_line(one); });
  return target.files == 0 ? "incomplete" : "-";
}

std::string when(const StagedTarget& target, WallTime now,
                 const std::function<DateParts(WallTime)>& local) {
  return target.staged_at == 0
             ? "-"
             : started_text(WallTime(std::chrono::nanoseconds(target.staged_at)), now, local);
}

std::string what_of(const StagedTarget& target) {
  return plain_line(target.source) + (target.unpacked ? ", unpacked" : "");
}

}  // namespace

std::string staged_table(const std::vector<StagedOnNode>& nodes, WallTime now,
                         const std::function<DateParts(WallTime)>& local) {
  std::vector<Shared> lines;
  for (const StagedOnNode& node : nodes) {
    for (const StagedTarget& target : node.targets) {
      add(lines,
          {plain_line(target.target), size_text(target.bytes + target.unfinished),
           when(target, now, local), target.by.empty() ? "-" : plain_line(target.by),
           state_of(target), what_of(target)},
          node.name);
    }
  }
  if (lines.empty()) return "nothing was staged on the nodes\n";
  std::vector<Cells> rows{{"NODES", "TARGET", "SIZE", "STAGED", "BY", "STATE", "FROM"}};
  for (Shared& line : lines) {
    line.cells.insert(line.cells.begin(), jobfile::compress_hostlist(line.nodes));
    rows.push_back(std::move(line.cells));
  }
  return table_text(rows);
}

std::string cleaned_text(const std::vector<StagedOnNode>& nodes, bool is_narrowed) {
  std::vector<Shared> lines;
  std::uint64_t bytes = 0;
  bool any = false;
  for (const StagedOnNode& node : nodes) {
    for (const StagedTarget& target : node.targets) {
      const std::uint64_t freed = target.bytes + target.unfinished;
      bytes += freed;
      const bool removed = target.files > 0 || target.unfinished > 0;
      any = any || removed;
      std::string text = plain_line(target.target) + ": ";
      if (removed) text += "removed " + files_text(target.files, freed);
      if (!target.problem.empty() && !target.failed)
        text += (removed ? "; " : "") + plain_line(target.problem);
      if (removed || !target.failed) add(lines, {std::move(text)}, node.name);
    }
  }
  if (lines.empty() && staged_problems(nodes).empty())
    return is_narrowed ? "nothing was staged on the nodes; the same command with --list instead of "
                         "--clean shows what is staged\n"
                       : "nothing was staged on the nodes\n";
  std::string text;
  for (const Shared& line : lines)
    text += jobfile::compress_hostlist(line.nodes) + ": " + line.cells.front() + '\n';
  return any ? text + "freed " + size_text(bytes) + " on all nodes together\n" : text;
}

std::string staged_json(const std::vector<StagedOnNode>& nodes, bool cleaned) {
  std::string out;
  JsonText json(out);
  json.begin_array();
  for (const StagedOnNode& node : nodes) {
    for (const StagedTarget& target : node.targets) {
      json.begin_object().key("node").string(node.name);
      json.key("target").string(target.target).key("source").string(target.source);
      json.key("unpacked").boolean(target.unpacked);
      json.key("staged");
      if (target.staged_at == 0) {
        json.null();
      } else {
        json.string(time_text(WallTime(std::chrono::nanoseconds(target.staged_at))));
      }
      json.key("by").string_or_null(target.by);
      json.key(cleaned ? "removed_files" : "files").number(static_cast<std::int64_t>(target.files));
      json.key(cleaned ? "removed_bytes" : "bytes").number(static_cast<std::int64_t>(target.bytes));
      json.key(cleaned ? "removed_incomplete_bytes" : "incomplete_bytes")
          .number(static_cast<std::int64_t>(target.unfinished));
      json.key("used_by").begin_array();
      for (const std::string& user : target.users) json.string(user);
      json.end_array();
      if (cleaned) json.key("problem").string_or_null(target.problem);
      json.end_object();
    }
    if (node.problem.empty()) continue;
    json.begin_object().key("node").string(node.name).key("problem").string(node.problem);
    json.end_object();
  }
  json.end_array();
  return out + '\n';
}

std::string staged_problems(const std::vector<StagedOnNode>& nodes) {
  std::vector<Shared> lines;
  for (const StagedOnNode& node : nodes) {
    if (!node.problem.empty()) add(lines, {plain_line(first_line(node.problem))}, node.name);
    for (const StagedTarget& target : node.targets) {
      if (target.failed)
        add(lines, {plain_line(target.target) + ": " + plain_line(target.problem)}, node.name);
    }
  }
  return joined(lines, "\n         ", [](const Shared& line) {
    return jobfile::compress_hostlist(line.nodes) + ": " + line.cells.front();
  });
}

}  // namespace dlaunch
