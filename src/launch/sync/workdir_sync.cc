#include "launch/sync/workdir_sync.h"

#include <algorithm>
#include <utility>

#include "node/sync/sync_remarks.h"
#include "os/clock.h"
#include "sync/rules.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

constexpr std::uint32_t kMostPasses = 3;
constexpr std::uint64_t kHashBytes = std::uint64_t{1} << 20;  // in one turn
constexpr std::chrono::milliseconds kTick{200};
constexpr std::chrono::seconds kMoment{1};  // a shorter sync shows no line
// Limits for data in transit to all nodes together, and to one.
constexpr std::uint64_t kMostOnTheWay = std::uint64_t{128} << 20;
constexpr std::uint64_t kMostToOne = std::uint64_t{4} << 20;
constexpr std::size_t kMostNamed = 3;
constexpr std::size_t kMostSampled = 64;  // files, in one turn
constexpr const char* kIndent = "\n         ";

}  // namespace

WorkdirSync::WorkdirSync(EventLoop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)), timer_(loop) {}

void WorkdirSync::begin(WorkdirSyncSettings settings) {
  cancel();
  settings_ = std::move(settings);
  under_way_ = true;
  passes_ = 0;
  report_ = {};
  began_ = patient_from_ = monotonic_now();
  const std::uint64_t most =
      std::clamp(kMostOnTheWay / std::max<std::size_t>(settings_.nodes.size(), 1),
                 sync::Window::kFirst, kMostToOne);
  for (const auto& to : settings_.nodes)
    nodes_.push_back(
        std::make_unique<NodeSync>(to.node, to.name, sync::Window(most, settings_.window_delay)));
  timer_.after(kTick, [this] { tick(); });
  begin_pass();
}

void WorkdirSync::cancel() {
  marker_ = {};
  under_way_ = placing_ = working_ = false;
  ++turns_;
  lister_.reset();
  hashing_.reset();
  nodes_.clear();
  pass_ = {};
  timer_.cancel();
  if (std::exchange(shown_, false)) callbacks_.show("");
}

void WorkdirSync::begin_pass() {
  ++passes_;
  lister_.emplace(settings_.list);
  work_on();
}

void WorkdirSync::work_on() {
  if (working_ || !under_way_) return;
  working_ = true;
  loop_.post([this, turn = turns_] {
    if (turn != turns_) return;
    working_ = false;
    work();
  });
}

void WorkdirSync::work() {
  if (lister_) return list_some();
  const bool more_to_send = move_some();
  if (!under_way_) return;
  const bool more_to_hash = hash_some();
  if (!pass_.problem.empty()) return finish(fail(exit_code::kPreflight, "sync: " + pass_.problem));
  if (more_to_send || more_to_hash) return work_on();
  const bool all_ended =
      std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->ended(); });
  if (all_ended && !placing_) end_pass();
}

void WorkdirSync::list_some() {
  if (!lister_->step()) return work_on();
  if (!lister_->status()) return finish(tl::unexpected(lister_->status().error()));
  listed();
}

void WorkdirSync::listed() {
  report_.extent = lister_->extent();
  report_.special = lister_->special();
  const std::set<std::string> changed = std::move(pass_.changed);
  pass_ = {};
  pass_.id = ++last_id_;
  pass_.root = settings_.list.root;
  pass_.removes = settings_.removes;
  pass_.entries = lister_->take();
  if (passes_ == kMostPasses) take_samples(changed);
  lister_.reset();
  placing_ = true;
  // If the folder is read-only here, a node that shares it will find that nothing is to be copied.
  marker_ = FolderMarker(pass_.root);
  for (const auto& node : nodes_) {
    if (node->result().is_shared) continue;
    node->begin(pass_, marker_.name(), settings_.origin, [&](const wire::ToAgent& message) {
      callbacks_.send(node->result().node, message);
    });
  }
  places_answered();
}

/// For the last pass: a file that changed in the previous pass is likely to change again, and a log
/// that only grows must not make the sync fail.
void WorkdirSync::take_samples(const std::set<std::string>& changed) {
  for (std::size_t i = 0; i < pass_.entries.size() && pass_.samples.size() < kMostSampled; ++i) {
    SyncEntry& entry = pass_.entries[i];
    if (entry.kind != SyncEntry::Kind::file || !changed.contains(entry.path)) continue;
    const auto samples = EntryFile::take_samples(pass_.root, entry);
    if (samples) pass_.samples.emplace(static_cast<std::uint32_t>(i), *samples);
  }
}

void WorkdirSync::on(NodeId index, const wire::SyncAnswer& message) {
  if (!under_way_ || lister_) return;
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const auto& one) { return one->result().node == index; });
  if (node == nodes_.end()) return;
  (*node)->on(message, pass_, monotonic_now());
  if (placing_) return places_answered();
  if (!(*node)->problem().empty()) return finish(fail(exit_code::kPreflight, problems()));
  work_on();
}

void WorkdirSync::places_answered() {
  if (!std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->placed(); }))
    return;
  placing_ = false;
  patient_from_ = monotonic_now();  // fast nodes have waited for the others
  marker_ = {};
  if (std::string text = problems(); !text.empty())
    return finish(fail(exit_code::kPreflight, std::move(text)));
  for (const auto& node : nodes_) node->place_is_good();
  work_on();
}

std::string WorkdirSync::problems() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& node : nodes_) found.emplace_back(node->result().name, node->problem());
  const std::string text = problems_of_nodes(found);
  return text.empty()
             ? text
             : "sync: the workdir cannot be copied; nothing was started" + (kIndent + text);
}

/// Each node in turn, so that none waits for another.
bool WorkdirSync::move_some() {
  if (placing_) return false;
  bool more = false;
  const MonotonicTime now = monotonic_now();
  for (const auto& node : nodes_) {
    const NodeId index = node->result().node;
    more = node->step(pass_, now, [&](const wire::ToAgent& message) {
      callbacks_.send(index, message);
    }) || more;
  }
  return more;
}

bool WorkdirSync::hash_some() {
  if (!hashing_) {
    while (!pass_.to_hash.empty() && pass_.hashes.contains(pass_.to_hash.front()))
      pass_.to_hash.pop_front();
    if (pass_.to_hash.empty()) return false;
    hashing_.emplace(Hashing{});
    hashing_->entry = pass_.to_hash.front();
    pass_.to_hash.pop_front();
    const SyncEntry& entry = pass_.entries[hashing_->entry];
    const ContentHash* samples = pass_.samples_of(hashing_->entry);
    if (hashing_->file.open(pass_.root, entry, samples) != EntryFile::Outcome::good) {
      end_hash(std::nullopt);
      return true;
    }
  }
  std::string bytes;
  const auto outcome = hashing_->file.read(kHashBytes, bytes);
  hashing_->hasher.add(bytes);
  if (outcome != EntryFile::Outcome::good) {
    end_hash(std::nullopt);
  } else if (hashing_->file.at_end()) {
    end_hash(hashing_->hasher.hash());
  }
  return true;
}

void WorkdirSync::end_hash(std::optional<ContentHash> hash) {
  const std::string& path = pass_.entries[hashing_->entry].path;
  if (!hash && hashing_->file.error() != 0) {
    pass_.problem = plain_line(pass_.root + '/' + path) + ": " + errno_text(hashing_->file.error());
  } else if (!hash) {
    pass_.changed.insert(path);
  }
  pass_.hashes.emplace(hashing_->entry, hash);
  hashing_.reset();
}

void WorkdirSync::end_pass() {
  if (pass_.changed.empty()) {
    for (const auto& node : nodes_) report_.nodes.push_back(node->result());
    report_.took = monotonic_now() - began_;
    return finish(std::move(report_));
  }
  if (passes_ < kMostPasses) return begin_pass();
  std::string names;
  std::size_t named = 0;
  for (const std::string& path : pass_.changed) {
    if (++named > kMostNamed) break;
    names += (named == 1 ? "" : ", ") + plain_line(path);
  }
  if (pass_.changed.size() > kMostNamed) names += ", ...";
  finish(fail(exit_code::kPreflight, "sync: files changed during each of " +
                                         std::to_string(kMostPasses) + " copies: " + names +
                                         kIndent +
                                         "files that a job writes can be left out with a "
                                         ".gitignore file"));
}

void WorkdirSync::tick() {
  timer_.after(kTick, [this] { tick(); });
  const MonotonicTime now = monotonic_now();
  if (lister_ || hashing_) patient_from_ = now;  // the nodes wait for us
  for (const auto& node : nodes_) {
    const bool silent = now - std::max(node->heard_at(), patient_from_) > settings_.stall;
    if (node->ended() || (placing_ && node->placed()) || !silent) continue;
    return finish(fail(exit_code::kPreflight,
                       "sync: " + node->result().name + ": has accepted no data for " +
                           duration_text(settings_.stall) + "; its disk may be stuck"));
  }
  if (now - began_ >= kMoment) tell_progress();
}

void WorkdirSync::tell_progress() {
  std::uint64_t sent = 0;
  std::uint64_t wanted = 0;
  std::size_t left = 0;
  for (const auto& node : nodes_) {
    sent += node->result().bytes;
    wanted += node->wanted_bytes();
    if (!node->ended()) ++left;
  }
  shown_ = true;
  std::string text = "dlaunch: copying the workdir to " + std::to_string(nodes_.size()) +
                     (nodes_.size() == 1 ? " node" : " nodes");
  if (lister_) {
    text += ", reading it";
  } else if (wanted == 0) {
    text += ", comparing";
  } else {
    text += ", " + size_text(sent) + " of " + size_text(wanted) + " sent";
  }
  if (left < nodes_.size()) text += ", " + std::to_string(left) + " not ready";
  callbacks_.show(std::move(text));
}

void WorkdirSync::finish(Result<SyncReport> report) {
  cancel();
  callbacks_.done(std::move(report));
}

}  // namespace dlaunch
