#include "node/stage/stage_run.h"

#include <algorithm>
#include <utility>

#include "node/stage/stage_files.h"
#include "node/sync/sync_remarks.h"
#include "os/clock.h"
#include "os/content_hash.h"
#include "sync/pieces.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kTick{200};
constexpr std::chrono::seconds kMoment{1};  // a shorter staging shows no line
// Limits for data in transit to all nodes together, and to one.
constexpr std::uint64_t kMostOnTheWay = std::uint64_t{128} << 20;
constexpr std::uint64_t kMostToOne = std::uint64_t{4} << 20;
constexpr const char* kIndent = "\n         ";

}  // namespace

StageRun::StageRun(EventLoop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)), timer_(loop) {}

/// The beginning of each error.
std::string StageRun::what() const {
  if (settings_.collects) return "";
  return settings_.self.empty() ? "stage: " : "stage: from " + settings_.self + ": ";
}

void StageRun::begin(StageRunSettings settings) {
  cancel();
  settings_ = std::move(settings);
  stage_ = Stage::listing;
  ++id_;
  began_ = patient_from_ = monotonic_now();
  source_.emplace(settings_.items, what());
  const std::uint64_t most =
      std::clamp(kMostOnTheWay / std::max<std::size_t>(settings_.nodes.size(), 1),
                 sync::Window::kFirst, kMostToOne);
  nodes_.reserve(settings_.nodes.size());
  for (const auto& to : settings_.nodes) {
    Node& node = nodes_.emplace_back(sync::Window(most, settings_.window_delay));
    node.result.node = to.node;
    node.result.name = to.name;
  }
  timer_.after(kTick, [this] { tick(); });
  work_on();
}

void StageRun::cancel() {
  if (stage_ > Stage::listing) {
    for (const Node& node : nodes_) send(node, wire::StageOver{id_});
  }
  stage_ = Stage::idle;
  ++turns_;
  working_ = false;
  timer_.cancel();
  source_.reset();
  environments_ = {};
  lacking_.clear();
  skipped_ = 0;
  nodes_.clear();
  to_hash_.clear();
  hashing_.reset();
  blocks_.clear();
  strong_.clear();
  untold_.clear();
  stream_ = {};
  stream_bytes_ = appended_ = zero_bytes_ = 0;
  began_again_ = false;
  trusts_copies_ = true;
  chain_.reset();
  pace_ = {};
  waiting_from_.reset();
  report_ = {};
  if (std::exchange(shown_, false)) callbacks_.show("");
}

bool StageRun::any_failed() const {
  return !all([](const Node& node) { return node.problem.empty(); });
}

void StageRun::work_on() {
  if (working_ || stage_ == Stage::idle) return;
  working_ = true;
  loop_.post([this, turn = turns_] {
    if (turn != turns_) return;
    working_ = false;
    work();
  });
}

void StageRun::work() {
  if (stage_ == Stage::listing) return list_some();
  bool more = hash_some();
  if (stage_ <= Stage::listing) return;
  if (stage_ == Stage::comparing && !more) return compare();
  if (stage_ == Stage::moving) more = move_some() || more;
  if (stage_ > Stage::listing && more) work_on();
}

// ---- what the nodes say

/// nullptr: it is lost, or not of this staging.
StageRun::Node* StageRun::find(NodeId id) {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& one) {
    return one.result.node == id && !one.is_lost;
  });
  return node == nodes_.end() ? nullptr : &*node;
}

void StageRun::hear(NodeId id, const wire::StageAnswer& answer) {
  Node* const node = find(id);
  if (node == nullptr) return;
  std::visit(
      [&](const auto& one) {
        if (one.id != id_) return;
        node->heard_at = monotonic_now();
        take(*node, one);
      },
      answer);
}

void StageRun::take(Node& node, const wire::StageReady&) {
  if (stage_ != Stage::checking) return;
  node.is_ready = true;
  all_ready();
}

void StageRun::all_ready() {
  if (stage_ != Stage::checking ||
      !all([](const Node& node) { return node.is_ready || !node.problem.empty(); }))
    return;
  if (any_failed()) return fail_at_nodes();
  stage_ = Stage::moving;
  moving_from_ = patient_from_ = monotonic_now();
  flush_hashes();
  for (std::size_t i = 0; i < nodes_.size() && stage_ == Stage::moving; ++i) {
    if (!nodes_[i].is_lost) feed(i);
  }
  work_on();
}

void StageRun::take(Node& node, const wire::StageProgress& progress) {
  if (stage_ != Stage::moving || progress.link != node.link) return;
  if (progress.position > stream_.size()) return;
  if (progress.position > node.position || progress.work > node.work) node.moved_at = node.heard_at;
  node.position = progress.position;
  node.work = progress.work;
  node.window.taken(progress.taken, node.heard_at);
  work_on();
}

void StageRun::take(Node& node, const wire::StageDone& done) {
  if (stage_ == Stage::listing) return;  // this is for an earlier staging: ours has not begun
  node.problem = plain_line(done.problem);
  if (node.problem.empty() && stage_ != Stage::moving)
    node.problem = "its agent ended the staging too early";
  if (stage_ == Stage::waiting) return;
  if (stage_ == Stage::claiming) return all_claimed();
  if (stage_ == Stage::looking) return all_looked();
  if (stage_ == Stage::checking) return all_ready();
  if (!node.problem.empty()) return fail_to_write(node);
  node.is_done = true;
  node.result.removed = done.removed;
  skipped_ = std::max(skipped_, done.skipped);
  all_done();
}

void StageRun::all_done() {
  if (!all([](const Node& one) { return one.is_done; })) return;
  for (Node& one : nodes_) {
    if (one.is_lost) continue;
    if (one.needs) one.result.bytes = stream_bytes_ - zero_bytes_;
    report_.nodes.push_back(one.result);
  }
  if (skipped_ > 0)
    report_.notes.push_back("stage: devices, FIFOs and sockets are not unpacked: " +
                            counted(skipped_, "member") + " left out");
  report_.took = monotonic_now() - began_;
  finish(std::move(report_));
}

// ---- blocks from here

/// Sends to each node in turn, so that none waits for another.
bool StageRun::move_some() {
  bool more = false;
  const MonotonicTime now = monotonic_now();
  for (Node& node : nodes_) {
    if (node.is_lost || node.source || node.door || !node.is_linked || !node.needs ||
        !node.window.open())
      continue;
    more = send_blocks(node, now) || more;
    if (stage_ != Stage::moving) return false;
  }
  return more;
}

/// Returns what is wrong with the block's file; empty if nothing is.
std::string StageRun::append_block(std::uint64_t position, StageSource::Reader& reader,
                                   std::string& pieces) {
  std::string bytes;
  const std::uint64_t block = stream_.at(position);
  std::string problem = source_->read(block, reader, bytes);
  if (!problem.empty()) return problem;
  sync::append_piece({block, block_hash(bytes), bytes}, pieces);
  if (position < appended_) return {};
  appended_ = position + 1;
  if (sync::is_zeros(bytes)) zero_bytes_ += bytes.size();
  return {};
}

bool StageRun::send_blocks(Node& node, MonotonicTime now) {
  wire::StageData data{id_, node.link, {}};
  while (node.fed < stream_.size() &&
         (data.bytes.empty() || data.bytes.size() + sync::kBlockBytes <= sync::kMostPieces)) {
    const std::size_t before = data.bytes.size();
    if (const std::string problem = append_block(node.fed, node.reader, data.bytes);
        !problem.empty()) {
      fail_to_read(problem);
      return false;
    }
    node.result.from_launcher += data.bytes.size() - before - sync::kPieceHeader;
    ++node.fed;
  }
  if (data.bytes.empty()) return false;
  node.window.sent(data.bytes.size(), now);
  send(node, std::move(data));
  return node.window.open() && node.fed < stream_.size();
}

// ---- time

void StageRun::tick() {
  timer_.after(kTick, [this] { tick(); });
  const MonotonicTime now = monotonic_now();
  if (stage_ == Stage::listing || hashing_) patient_from_ = now;  // the nodes wait for us
  if (stage_ == Stage::waiting) claim_again(now);
  watch_links(now);
  watch_pace(now);
  if (stage_ != Stage::idle && stage_ != Stage::waiting && now - began_ >= kMoment) tell_progress();
}

void StageRun::watch_links(MonotonicTime now) {
  for (std::size_t i = 0; i < nodes_.size() && stage_ != Stage::idle; ++i) {
    const Node& node = nodes_[i];
    const bool is_moving = stage_ == Stage::moving;
    const bool is_asked = (stage_ == Stage::claiming && !node.has_claimed) ||
                          (stage_ == Stage::looking && !node.has_looked) ||
                          (stage_ == Stage::checking && !node.is_ready) ||
                          (is_moving && !node.is_done);
    if (!is_asked || node.is_lost || !node.problem.empty()) continue;
    const Node* const source = is_moving && node.source ? &nodes_[*node.source] : nullptr;
    // The node has all that its source has, so the source is the slow one.
    if (source != nullptr && node.is_linked && source->position <= node.position) continue;
    const MonotonicTime since =
        std::max({is_moving ? node.moved_at : node.heard_at, patient_from_});
    const bool awaits_blocks =
        source != nullptr || (is_moving && node.door != nullptr && node.position < stream_.size());
    if (awaits_blocks && now - since > settings_.bridge) {
      source_failed(i, "nothing has arrived for " + duration_text(settings_.bridge));
    } else if (now - since > settings_.stall) {
      fail(node.result.name + ": has accepted no data for " + duration_text(settings_.stall) +
           "; its disk may be stuck");
    }
  }
}

void StageRun::tell_progress() {
  shown_ = true;
  const auto left = static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.is_lost; }));
  std::string text =
      "dlaunch: staging " + size_text(report_.extent.bytes) + " to " + counted(left, "node");
  if (stage_ != Stage::moving) {
    text += stage_ == Stage::listing ? ", reading the list" : ", comparing";
  } else if (stream_.size() > 0) {
    const bool unpacks = std::any_of(settings_.items.begin(), settings_.items.end(),
                                     [](const StageItem& item) { return item.unpack; });
    std::uint64_t least = stream_.size();
    for (const Node& node : nodes_) {
      if (node.needs && !node.is_done && !node.is_lost) least = std::min(least, node.position);
    }
    const double share = static_cast<double>(least) / static_cast<double>(stream_.size());
    const double there = share * static_cast<double>(stream_bytes_);
    const std::chrono::duration<double> passed = monotonic_now() - moving_from_;
    text += ", " + size_text(static_cast<std::uint64_t>(there)) + " of " +
            size_text(stream_bytes_) + " on all";
    if (least == stream_.size() && unpacks) text += ", unpacking";
    if (least > 0 && least < stream_.size() && passed.count() > 1) {
      const auto rate = static_cast<std::uint64_t>(there / passed.count());
      const auto time =
          std::chrono::seconds(static_cast<std::int64_t>(passed.count() * (1 / share - 1)) + 1);
      text += ", " + size_text(rate) + "/s, " + duration_text(time) + " left";
    }
  }
  callbacks_.show(std::move(text));
}

// ---- the end

void StageRun::fail(std::string problem) {
  finish(dlaunch::fail(exit_code::kPreflight, what() + std::move(problem)));
}

/// Files that have changed are listed and compared again, once.
void StageRun::fail_to_read(const std::string& problem) {
  // `collect` accepts only one list.
  if (!source_->has_changed() || began_again_ || settings_.collects) return fail(problem);
  callbacks_.note(what() + problem + "; it is read again");
  began_again_ = true;
  begin_again();
}

/// A node counts as one that has a file by its size and time, which is not enough to feed others.
void StageRun::fail_to_write(const Node& node) {
  std::optional<std::size_t> first = node.source;
  while (first && nodes_[*first].source) first = nodes_[*first].source;
  if (!first || !nodes_[*first].holds || node.problem.find(kFileDiffers) == std::string::npos)
    return fail_at_nodes();
  callbacks_.note(
      what() + node.result.name + ": " + node.problem.substr(0, node.problem.find(kFileDiffers)) +
      "what came from " + nodes_[*first].result.name +
      " differs from the source: it may have another file of the same size and time, "
      "which stays until you remove it there. The staging begins again without its help");
  trusts_copies_ = false;
  begin_again();
}

/// Without the nodes that are lost.
void StageRun::begin_again() {
  std::vector<NodeId> lost;
  for (const Node& node : nodes_) {
    if (node.is_lost) lost.push_back(node.result.node);
  }
  const bool began_again = began_again_;
  const bool trusts_copies = trusts_copies_;
  StageRunSettings settings = std::move(settings_);
  begin(std::move(settings));
  began_again_ = began_again;
  trusts_copies_ = trusts_copies;
  for (const NodeId node : lost) node_lost(node);
}

void StageRun::fail_at_nodes() {
  if (settings_.collects) return fail(nodes_.front().problem);
  std::vector<std::pair<std::string, std::string>> problems;
  for (const Node& node : nodes_) problems.emplace_back(node.result.name, node.problem);
  std::string text =
      "files cannot be copied; nothing was started" + (kIndent + problems_of_nodes(problems));
  for (std::size_t i = 0; i < source_->targets().size(); ++i) {
    const std::string start = plain_line(source_->targets()[i]) + ": cannot be unpacked";
    if (!all([&](const Node& node) { return !node.problem.starts_with(start); }))
      text += kIndent + ("the archive is " + plain_line(settings_.items[i].from));
  }
  std::vector<StagedEnvironments::Need> lacking;
  for (const std::uint32_t need : lacking_) lacking.push_back(environments_.needs[need]);
  for (const std::string& line : advice_on(lacking)) text += kIndent + line;
  if (!lacking.empty())
    text += kIndent + std::string("to stage it anyway: --set active_env=optional");
  fail(std::move(text));
}

void StageRun::finish(Result<StageReport> report) {
  cancel();
  callbacks_.done(std::move(report));
}

}  // namespace dlaunch
