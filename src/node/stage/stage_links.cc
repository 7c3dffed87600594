// Where the nodes of a staging get their blocks, and what happens when that ends.
#include <algorithm>
#include <utility>

#include "node/stage/stage_run.h"
#include "os/clock.h"
#include "os/random.h"
#include "sync/blocks.h"
#include "sync/pieces.h"
#include "text/plain_text.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

constexpr std::uint32_t kConnectMs = 5000;

}  // namespace

void StageRun::feed(std::size_t index) {
  Node& node = nodes_[index];
  node.link = ++last_link_;
  node.is_linked = false;
  node.moved_at = monotonic_now();
  node.source = node.needs ? chain_->source_of(index) : std::nullopt;
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

// ---- lost nodes

void StageRun::node_lost(NodeId id) {
  Node* const node = stage_ == Stage::idle ? nullptr : find(id);
  if (node == nullptr) return;
  node->is_lost = true;
  node->door.reset();
  if (chain_) chain_->lost(index_of(*node));
  if (all([](const Node&) { return false; }))
    return finish(dlaunch::fail(exit_code::kNodeLost, what() + "no node is left"));
  if (stage_ == Stage::claiming) return all_claimed();
  if (stage_ == Stage::looking) return all_looked();
  if (stage_ == Stage::checking) return all_ready();
  if (stage_ != Stage::moving) return;
  close_gap(index_of(*node));
  if (stage_ == Stage::moving) all_done();
}

/// Those that the lost node has fed go on from the node before it.
void StageRun::close_gap(std::size_t lost) {
  for (std::size_t i = 0; i < nodes_.size() && stage_ == Stage::moving; ++i) {
    const Node& node = nodes_[i];
    if (node.source == lost && !node.is_done && !node.is_lost) source_failed(i, "it is lost");
  }
}

// ---- slow nodes

void StageRun::watch_pace(MonotonicTime now) {
  if (stage_ != Stage::moving) return;
  std::vector<sync::Pace::Progress> nodes;
  nodes.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    // What one that has everything could send is not known.
    const bool is_known = node.source && nodes_[*node.source].needs;
    nodes.push_back({is_known ? node.source : std::nullopt, node.link, node.position,
                     node.is_done || node.is_lost || !node.needs});
  }
  const auto verdict = pace_.watch(nodes, now);
  if (!verdict) return;
  const auto rate = [](std::uint64_t blocks) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(sync::Pace::kPeriod).count();
    return size_text(blocks * sync::kBlockBytes / static_cast<std::uint64_t>(seconds)) + "/s";
  };
  report_.notes.push_back("stage: " + nodes_[verdict->node].result.name +
                          " is slow and comes last now, so that it holds up no other: " +
                          nodes_[verdict->receiver].result.name + " got only " +
                          rate(verdict->own) + " from " + nodes_[verdict->source].result.name +
                          ", which got " + rate(verdict->could));
  chain_->move_to_end(verdict->node);
  for (std::size_t i = 0; i < nodes_.size() && stage_ == Stage::moving; ++i) {
    const Node& node = nodes_[i];
    const bool is_affected = i == verdict->node || node.source == verdict->node;
    if (is_affected && node.needs && !node.is_done && !node.is_lost) feed(i);
  }
}

}  // namespace dlaunch
