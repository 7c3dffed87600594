#include <algorithm>

#include "report/runs_table.h"
#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

std::uint64_t freed_by(const Pruning& pruning) {
  std::uint64_t bytes = 0;
  for (const PrunedRun& one : pruning.runs) bytes += one.kept.empty() ? one.bytes : 0;
  return bytes;
}

std::string what_it_was(const PrunedRun& one) {
  const std::string name = plain_line(one.run.name);
  return one.run.id + (name.empty() ? "" : "  " + name) + "  " + name_of(one.run.state);
}

}  // namespace

std::string pruning_text(const Pruning& pruning, const PruneRule& rule, const std::string& all) {
  const char* const verb = rule.dry_run ? "would remove " : "removed ";
  std::string text;
  std::size_t removed = 0;
  for (const PrunedRun& one : pruning.runs) {
    if (!one.kept.empty()) {
      text += "kept " + what_it_was(one) + ": " + plain_line(one.kept) + '\n';
      continue;
    }
    ++removed;
    text += verb + what_it_was(one) + "  " + size_text(one.bytes) + '\n';
  }
  if (removed == 0) return text + "nothing to remove: no finished run is " + all + '\n';
  return text + verb + counted(removed, "run") + ", " + size_text(freed_by(pruning)) +
         (rule.dry_run ? "; to do it, leave out --dry-run\n" : " freed\n");
}

std::string pruning_json(const Pruning& pruning, const PruneRule& rule) {
  std::string text;
  JsonText json(text);
  json.begin_object().key("dry_run").boolean(rule.dry_run);
  json.key("freed_bytes").number(static_cast<std::int64_t>(freed_by(pruning)));
  json.key("runs").begin_array();
  for (const PrunedRun& one : pruning.runs) {
    json.line(2).begin_object().key("run").string(one.run.id).key("path").string(one.run.path);
    json.key("name").string_or_null(one.run.name);
    json.key("state").string(name_of(one.run.state));
    json.key("removed").boolean(one.kept.empty() && !rule.dry_run);
    json.key("bytes").number(static_cast<std::int64_t>(one.bytes));
    json.key("kept").string_or_null(one.kept).end_object();
  }
  json.end_array().end_object();
  return text;
}

}  // namespace dlaunch
