#include "node/stage/stage_run.h"

#include <algorithm>
#include <utility>

#include "node/sync/sync_remarks.h"
#include "os/clock.h"
#include "os/content_hash.h"
#include "os/random.h"
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
constexpr std::uint32_t kConnectMs = 5000;
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
  chain_.reset();
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
  if (stage_ == Stage::idle) return;
  if (stage_ == Stage::comparing && !more) return compare();
  if (stage_ == Stage::moving) more = move_some() || more;
  if (stage_ != Stage::idle && more) work_on();
}

// ---- what the nodes say

void StageRun::hear(NodeId id, const wire::StageAnswer& answer) {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const Node& one) { return one.result.node == id; });
  if (node == nodes_.end()) return;
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
  for (std::size_t i = 0; i < nodes_.size() && stage_ == Stage::moving; ++i) feed(i);
  work_on();
}

// ---- where the nodes get their blocks

void StageRun::feed(std::size_t index) {
  Node& node = nodes_[index];
  node.link = ++last_link_;
  node.is_linked = false;
  node.moved_at = monotonic_now();
  node.source = chain_->source_of(index);
  node.door.reset();
  if (!node.source) return feed_from_here(index);
  if (!make_key(node.key)) return;
  send(nodes_[*node.source],
       wire::StageServe{id_, node.link, node.key, settings_.addresses(*node.source, index),
                        2 * kConnectMs, node.result.node});
}

bool StageRun::make_key(StageKey& key) {
  auto ticket = random_secret();
  auto up = random_secret();
  auto down = random_secret();
  const bool made = ticket && up && down;
  if (made) {
    key = {*std::move(ticket), *std::move(up), *std::move(down)};
  } else {
    fail("this machine has no random numbers");
  }
  return made;
}

void StageRun::feed_from_here(std::size_t index) {
  Node& node = nodes_[index];
  wire::StageFeed feed{id_, node.link, {}, {}, kConnectMs};
  if (node.needs && settings_.own_addresses && !node.has_no_door &&
      stream_bytes_ >= settings_.least_direct) {
    feed.limit_ms = static_cast<std::uint32_t>(settings_.reach.count());
    if (!make_key(feed.key)) return;
    node.door = std::make_unique<StageDoor>(
        loop_, blocks_for(index),
        wire::StageServe{id_, node.link, feed.key, settings_.own_addresses(index),
                         2 * feed.limit_ms, node.result.node});
    feed.at = node.door->addresses();
    if (feed.at.empty()) {
      node.door.reset();
      feed.key = {};
    }
  }
  send(node, std::move(feed));
}

StageDoor::Blocks StageRun::blocks_for(std::size_t index) {
  return {.position = [this] { return stream_.size(); },
          .append =
              [this, index, reader = std::make_shared<StageSource::Reader>()](
                  std::uint64_t position, std::string& pieces) {
                const std::size_t before = pieces.size() + sync::kPieceHeader;
                // The error will be reported when the block is sent by send().
                if (!append_block(position, *reader, pieces).empty()) return false;
                nodes_[index].moved_at = monotonic_now();
                if (settings_.self.empty())
                  nodes_[index].result.from_launcher += pieces.size() - before;
                return true;
              }};
}

void StageRun::take(Node& source, const wire::StageListening& listening) {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& one) {
    return one.link == listening.link && one.source == index_of(source) && !one.is_done;
  });
  if (stage_ != Stage::moving || node == nodes_.end()) return;
  if (listening.at.empty())
    return source_failed(index_of(*node), "the two nodes have no address in common");
  send(*node,
       wire::StageFeed{id_, node->link, std::exchange(node->key, {}), listening.at, kConnectMs});
}

void StageRun::take(Node& node, const wire::StageLinked& linked) {
  if (stage_ != Stage::moving || linked.link != node.link || node.is_done) return;
  if (!linked.problem.empty()) {
    if (node.source || node.door) source_failed(index_of(node), plain_line(linked.problem));
    return;
  }
  if (linked.position > stream_.size()) return;
  node.is_linked = true;
  node.position = node.fed = linked.position;
  node.moved_at = node.heard_at;
  node.window.restart();
  node.result.source = node.source ? nodes_[*node.source].result.name : settings_.self;
  work_on();
}

/// What has arrived counts: the next source goes on after it.
void StageRun::source_failed(std::size_t index, const std::string& why) {
  Node& node = nodes_[index];
  const bool is_from_launcher = !node.source && settings_.self.empty();
  const bool was_linked = node.is_linked;
  const std::string from = node.source ? nodes_[*node.source].result.name : settings_.self;
  if (node.source) {
    chain_->failed(*node.source, index);
  } else {
    node.has_no_door = true;
  }
  feed(index);
  if (stage_ != Stage::moving) return;
  if (is_from_launcher) {
    // Many launchers are where nodes cannot reach them.
    if (was_linked)
      report_.notes.push_back("stage: " + node.result.name +
                              " lost its connection to the launcher (" + why +
                              "); the rest went through the connection of its agent");
    return;
  }
  std::string by = "the launcher";
  if (node.source) by = nodes_[*node.source].result.name;
  if (node.door) by = settings_.self;
  report_.notes.push_back("stage: " + from + " could not feed " + node.result.name + " (" + why +
                          "); " + by + " fed it instead");
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
  if (!node.problem.empty()) return fail_at_nodes();
  node.is_done = true;
  node.result.removed = done.removed;
  skipped_ = std::max(skipped_, done.skipped);
  if (!all([](const Node& one) { return one.is_done; })) return;
  for (Node& one : nodes_) {
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
    if (node.source || node.door || !node.is_linked || !node.needs || !node.window.open()) continue;
    more = send_blocks(node, now) || more;
    if (stage_ == Stage::idle) return false;
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
      fail(problem);
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
    if (!is_asked || !node.problem.empty()) continue;
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
  std::string text = "dlaunch: staging " + size_text(report_.extent.bytes) + " to " +
                     std::to_string(nodes_.size()) + (nodes_.size() == 1 ? " node" : " nodes");
  if (stage_ != Stage::moving) {
    text += stage_ == Stage::listing ? ", reading the list" : ", comparing";
  } else if (stream_.size() > 0) {
    const bool unpacks = std::any_of(settings_.items.begin(), settings_.items.end(),
                                     [](const StageItem& item) { return item.unpack; });
    std::uint64_t least = stream_.size();
    for (const Node& node : nodes_) {
      if (node.needs && !node.is_done) least = std::min(least, node.position);
    }
    const double share = static_cast<double>(least) / static_cast<double>(stream_.size());
    const double there = share * static_cast<double>(stream_bytes_);
    const std::chrono::duration<double> passed = monotonic_now() - moving_from_;
    text += ", " + size_text(static_cast<std::uint64_t>(there)) + " of " +
            size_text(stream_bytes_) + " on all";
    if (least == stream_.size() && unpacks) text += ", unpacking";
    if (least > 0 && least < stream_.size() && passed.count() > 1) {
      const auto rate = static_cast<std::uint64_t>(there / passed.count());
      const auto left =
          std::chrono::seconds(static_cast<std::int64_t>(passed.count() * (1 / share - 1)) + 1);
      text += ", " + size_text(rate) + "/s, " + duration_text(left) + " left";
    }
  }
  callbacks_.show(std::move(text));
}

// ---- the end

void StageRun::fail(std::string problem) {
  finish(dlaunch::fail(exit_code::kPreflight, what() + std::move(problem)));
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
