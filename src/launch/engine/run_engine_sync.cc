// What is said and recorded of a sync.
#include "launch/engine/run_engine.h"
#include "os/clock.h"
#include "report/plain_text.h"
#include "text/duration_text.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kNoticeable{2};
constexpr std::size_t kMostNamed = 3;

std::string named(const std::vector<std::string>& paths, std::uint64_t count) {
  std::string text;
  for (std::size_t i = 0; i < paths.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : ", ") + plain_line(paths[i]);
  return text + (count > std::min(paths.size(), kMostNamed) ? ", ..." : "");
}

}  // namespace

void RunEngine::tell_sync(const SyncReport& report) {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  for (const SyncedNode& node : report.nodes) {
    files += node.files;
    bytes += node.bytes;
    if (events_) events_->add(node, wall_now());
    if (node.replaced > 0) {
      note("sync: " + node.name + ": replaced " + std::to_string(node.replaced) +
           (node.replaced == 1 ? " file that was" : " files that were") +
           " different there and not from here: " + named(node.examples, node.replaced));
    }
  }
  if (!report.special.empty())
    note("sync: not copied, because they are no files: " +
         named(report.special, report.special.size()));
  if (options_.quiet || (report.took < kNoticeable && options_.verbosity == 0)) return;
  say("dlaunch: copied the workdir to " + std::to_string(report.nodes.size()) +
      (report.nodes.size() == 1 ? " node" : " nodes") + " in " + duration_text(report.took) + ": " +
      files_text(files, bytes) + " sent");
}

}  // namespace dlaunch
