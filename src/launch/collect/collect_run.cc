#include "launch/collect/collect_run.h"

#include <algorithm>
#include <utility>

#include "os/clock.h"
#include "supervise/wording.h"
#include "sync/rules.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kAtOnce = 16;  // nodes, each with some MB on the way
constexpr std::chrono::milliseconds kTick{200};
constexpr std::chrono::seconds kMoment{1};  // a shorter collection shows no line
constexpr const char* kUnwanted = "its agent sent data that was not requested";
constexpr std::uint32_t kId = 1;  // one collection per session

std::string without_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Whether a node may write in the folder `root` of this machine for this item: a folder's copy, or
/// the folder that holds a file's copy.
bool is_root_of(const StageItem& item, const std::string& root) {
  const std::string to = sync::without_slashes(item.to);
  return root == to ||
         (!item.to.ends_with('/') && root == to.substr(0, std::max<std::size_t>(to.rfind('/'), 1)));
}

}  // namespace

CollectRun::CollectRun(EventLoop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)), timer_(loop) {}

void CollectRun::begin(CollectSettings settings) {
  settings_ = std::move(settings);
  began_ = monotonic_now();
  is_running_ = true;
  for (CollectSettings::From& from : settings_.nodes) {
    Source& source = sources_.emplace_back();
    source.result.node = from.node;
    source.result.name = std::move(from.name);
    source.result.problem = std::move(from.problem);
    source.items = std::move(from.items);
    source.needed = source.items.size();
    source.items.insert(source.items.end(), from.optional.begin(), from.optional.end());
    if (!source.result.problem.empty()) source.stage = Stage::over;
  }
  timer_.after(kTick, [this] { tick(); });
  post_ask_more();
}

void CollectRun::post_ask_more() {
  loop_.post([this] {
    if (is_running_) ask_more();
  });
}

CollectRun::Source* CollectRun::find(NodeId node) {
  const auto found = std::find_if(sources_.begin(), sources_.end(), [node](const Source& source) {
    return source.result.node == node && source.stage == Stage::asked;
  });
  return found == sources_.end() ? nullptr : &*found;
}

void CollectRun::ask_more() {
  auto asked = std::count_if(sources_.begin(), sources_.end(),
                             [](const Source& source) { return source.stage == Stage::asked; });
  for (Source& source : sources_) {
    if (source.stage != Stage::waiting) continue;
    if (static_cast<std::size_t>(asked++) >= kAtOnce) return;
    ask(source);
  }
  const bool is_over = std::all_of(sources_.begin(), sources_.end(), [](const Source& source) {
    return source.stage == Stage::over;
  });
  if (is_over) finish();
}

void CollectRun::ask(Source& source) {
  source.stage = Stage::asked;
  const NodeId node = source.result.node;
  source.files =
      std::make_unique<StageService>(loop_, environment_, [this, node](wire::StageAnswer answer) {
        callbacks_.send(node, wire::widened<wire::ToAgent>(std::move(answer)));
      });
  callbacks_.send(node, wire::CollectBegin{kId, source.items, settings_.most_bytes});
}

// ---- what a node says. A node may write only what it was asked for, and only to its target.

/// Accepts only one StageBegin: a link from a first one could take the place of a folder of a
/// second.
void CollectRun::take(Source& source, wire::StageBegin& begin) {
  const auto is_wanted = [&source](const std::string& root) {
    return std::any_of(source.items.begin(), source.items.end(),
                       [&root](const StageItem& item) { return is_root_of(item, root); });
  };
  if (begin.roots.empty() || !source.roots.empty() ||
      !std::all_of(begin.roots.begin(), begin.roots.end(), is_wanted))
    return refuse(source, kUnwanted);
  for (std::size_t i = 0; i < begin.origins.size(); ++i) {
    StageOrigin& origin = begin.origins[i];
    origin.name.clear();  // nothing is removed here
    if (i >= begin.roots.size() || !sync::lies_in(origin.marker, begin.roots[i]))
      origin.marker.clear();
  }
  begin.needs.clear();
  source.result.received = 0;
  source.roots = begin.roots;
  source.files->on(begin);
}

void CollectRun::take(Source& source, wire::StageEntries& entries) {
  for (const StageEntry& entry : entries.entries) {
    const std::string path = entry.root < source.roots.size()
                                 ? source.roots[entry.root] + '/' + entry.entry.path
                                 : std::string();
    const bool is_file = entry.entry.kind == SyncEntry::Kind::file;
    const bool is_wanted =
        std::any_of(source.items.begin(), source.items.end(), [&](const StageItem& item) {
          return sync::lies_in(path, item.to) &&
                 (is_file || path != sync::without_slashes(item.to));
        });
    if (!is_wanted || !entry.unpack.empty()) return refuse(source, kUnwanted);
  }
  source.files->on(entries);
}

void CollectRun::take(Source& source, wire::StageData& data) {
  source.result.received += data.bytes.size();
  source.files->on(data);
}

/// Everything comes over the agent's channel: nothing is connected, and nothing listens.
void CollectRun::take(Source& source, wire::StageFeed& feed) {
  feed.at.empty() ? source.files->on(feed) : refuse(source, kUnwanted);
}

void CollectRun::take(Source& source, wire::StageServe&) {
  refuse(source, kUnwanted);
}

void CollectRun::take(Source& source, const wire::CollectDone& done) {
  if (done.id != kId) return;
  source.result.files = done.files;
  source.result.bytes = done.bytes;
  source.result.problem = done.problem.empty() ? "" : without_newline(plain_text(done.problem));
  source.result.special = done.special;
  for (const std::uint32_t item : done.missing) {
    if (item < source.needed) source.result.missing.push_back(source.items[item].from);
  }
  end(source);
}

void CollectRun::refuse(Source& source, std::string problem) {
  source.result.problem = std::move(problem);
  end(source);
}

void CollectRun::node_lost(NodeId node, const std::string& why) {
  for (Source& source : sources_) {
    if (source.result.node == node && source.stage != Stage::over) refuse(source, why);
  }
}

void CollectRun::give_up(const std::string& why) {
  if (!is_running_) return;
  for (Source& source : sources_) {
    if (source.stage == Stage::over) continue;
    source.result.problem = why;
    source.stage = Stage::over;
    if (source.files) source.files->abandon();
  }
  finish();
}

void CollectRun::end(Source& source) {
  source.stage = Stage::over;
  if (source.files) source.files->abandon();
  post_ask_more();
}

// ---- time

void CollectRun::tick() {
  timer_.after(kTick, [this] { tick(); });
  const std::chrono::duration<double> passed = monotonic_now() - began_;
  if (passed > settings_.limit)
    return give_up("did not finish within " + wording::duration(settings_.limit) +
                   " (timeouts.collect)");
  if (passed < kMoment) return;
  std::uint64_t bytes = 0;
  std::size_t over = 0;
  for (const Source& source : sources_) {
    bytes += source.result.received;
    if (source.stage == Stage::over) ++over;
  }
  callbacks_.show(
      "dlaunch: collecting from " + counted(sources_.size(), "node") + ", " + std::to_string(over) +
      " done, " + size_text(bytes) + " received, " +
      size_text(static_cast<std::uint64_t>(static_cast<double>(bytes) / passed.count())) + "/s");
}

void CollectRun::finish() {
  is_running_ = false;
  timer_.cancel();
  callbacks_.show("");
  CollectReport report;
  report.took = monotonic_now() - began_;
  for (Source& source : sources_) report.nodes.push_back(std::move(source.result));
  callbacks_.done(std::move(report));
}

}  // namespace dlaunch
