#include "launch/collect/collect_settings.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "node/sync/sync_remarks.h"
#include "sync/rules.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr const char* kNode = "{node}";
constexpr const char* kRun = "{run}";
constexpr const char* kIndent = "\n         ";

void replace_all(std::string& text, std::string_view word, const std::string& value) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + value.size()))
    text.replace(at, word.size(), value);
}

std::string absolute(const std::string& path, const std::string& folder) {
  return path.starts_with('/') ? path : folder + '/' + path;
}

std::string normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

std::string source(const Transfer& line, const CollectPlace& place) {
  if (line.from.starts_with("~/")) return line.from;
  const std::string& folder = place.workdir.empty() ? place.started_in : place.workdir;
  return sync::without_slashes(normal(absolute(line.from, folder)));
}

std::string name_of(const Transfer& line) {
  return std::string(file_name(sync::without_slashes(line.from)));
}

/// Each node gets a separate path, whether or not the user has provided for that, and so does each
/// of several lines that go into the same folder.
std::string target(const Transfer& line, const std::vector<Transfer>& lines,
                   const CollectPlace& place, const std::string& node) {
  std::string to =
      line.to.empty() ? place.run_folder + "/collected/{node}/" + name_of(line) : line.to;
  if (place.has_several && to.find(kNode) == std::string::npos) {
    const bool is_folder = to.ends_with('/');
    to += std::string(is_folder ? "" : "/") + kNode + (is_folder ? "/" : "");
  }
  const auto likewise = std::count_if(lines.begin(), lines.end(),
                                      [&line](const Transfer& one) { return one.to == line.to; });
  if (likewise > 1 && line.to.ends_with('/')) to += name_of(line);
  if (to.starts_with("~/")) to.replace(0, 1, place.home);
  std::string name = node;
  std::replace(name.begin(), name.end(), '/', '_');
  replace_all(to, kNode, name);
  replace_all(to, kRun, place.run_id);
  return normal(absolute(to, place.started_in));
}

/// A folder on the launcher's own machine that would be copied into itself would grow each time.
std::string problem_of(const StageItem& item, const CollectPlace& place) {
  std::string from = item.from;
  if (from.starts_with("~/")) from.replace(0, 1, place.home);
  if (from == sync::without_slashes(item.to) || !sync::lies_in(item.to, from)) return {};
  return from + " cannot be copied into itself, to " + item.to;
}

/// Refuses targets inside other targets: a node could put a link into its folder that leads to
/// where another copy belongs.
void refuse_nested(CollectSettings& settings) {
  std::set<std::string> targets;
  for (const CollectSettings::From& from : settings.nodes) {
    for (const StageItem& item : from.items) targets.insert(sync::without_slashes(item.to));
  }
  for (CollectSettings::From& from : settings.nodes) {
    for (const StageItem& item : from.items) {
      std::string above = sync::without_slashes(item.to);
      for (above.resize(above.rfind('/')); !above.empty(); above.resize(above.rfind('/'))) {
        if (from.problem.empty() && targets.contains(above))
          from.problem = "the target " + item.to + " lies inside another target, " + above;
      }
    }
  }
}

}  // namespace

CollectSettings collect_settings(const JobSpec& spec, const CollectPlace& place,
                                 const std::vector<CollectNode>& nodes) {
  CollectSettings settings;
  settings.most_bytes = spec.collect_limit;
  settings.limit = spec.timeouts.collect;
  for (const CollectNode& node : nodes) {
    CollectSettings::From& from = settings.nodes.emplace_back();
    from.node = node.node;
    from.name = node.name;
    from.problem = node.problem;
    for (const Transfer& line : spec.collect) {
      const StageItem& item = from.items.emplace_back(
          StageItem{source(line, place), target(line, spec.collect, place, node.name)});
      if (node.is_launcher && from.problem.empty()) from.problem = problem_of(item, place);
    }
  }
  refuse_nested(settings);
  return settings;
}

std::string collected_text(const CollectReport& report) {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t received = 0;
  for (const CollectedNode& node : report.nodes) {
    files += node.files;
    bytes += node.bytes;
    received += node.received;
  }
  return "collected " + files_text(files, bytes) + " from " + counted(report.nodes.size(), "node") +
         " in " + duration_text(report.took) + ": " + size_text(received) + " sent";
}

std::vector<std::string> remarks_on(const CollectReport& report) {
  std::vector<std::pair<std::string, std::string>> texts;  // node, text
  for (const CollectedNode& node : report.nodes) {
    for (const std::string& path : node.missing)
      texts.emplace_back(node.name, plain_line(path) + " does not exist");
    const std::size_t more = node.special.empty() ? 0 : node.special.size() - 1;
    if (!node.special.empty())
      texts.emplace_back(node.name, plain_line(node.special.front()) +
                                        (more == 0 ? " is neither a file nor a folder"
                                                   : " and " + std::to_string(more) +
                                                         " more are neither files nor folders"));
  }
  std::vector<std::string> remarks;
  std::string all = problems_of_nodes(texts);
  for (std::string_view rest = all; !rest.empty();) {
    const std::string_view line = take_line(rest);
    remarks.push_back("collect: " + std::string(line.substr(line.find_first_not_of(' '))));
  }
  return remarks;
}

std::string problems_in(const CollectReport& report, const std::string& run) {
  std::vector<std::pair<std::string, std::string>> problems;
  for (const CollectedNode& node : report.nodes) problems.emplace_back(node.name, node.problem);
  return "collect: not all files were collected" + (kIndent + problems_of_nodes(problems)) +
         kIndent + "to collect the rest: dlaunch collect " + plain_line(run);
}

}  // namespace dlaunch
