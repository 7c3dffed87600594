// The first half of a staging: finds out what is here and on the nodes, and which blocks are
// missing.
#include <algorithm>

#include "node/stage/stage_run.h"
#include "os/clock.h"
#include "os/content_hash.h"
#include "os/own_machine.h"
#include "os/random.h"
#include "sync/rules.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

constexpr std::uint64_t kHashBlocks = 16;  // in one turn
constexpr std::size_t kMostInMessage = 512;
constexpr std::uint32_t kMostAnnounced = 4096;

}  // namespace

void StageRun::list_some() {
  if (!source_->list_some()) return work_on();
  if (!source_->status()) return finish(tl::unexpected(source_->status().error()));
  report_.extent = source_->extent();
  report_.special = source_->special();
  if (report_.extent.bytes > settings_.most_bytes)
    return fail("the size is " + size_text(report_.extent.bytes) + ", but `collect_limit` is " +
                size_text(settings_.most_bytes));
  if (settings_.collects) return begin_nodes();
  // This turn takes long if an environment has thousands of links, but nothing runs yet.
  environments_ = source_->environments();
  if (!settings_.needs_all) environments_.needs.clear();
  for (const std::string& folder : environments_.moved)
    report_.notes.push_back("stage: scripts in the environment " + plain_line(folder) +
                            " contain its path " +
                            (settings_.self.empty() ? "on this machine" : "on the source node") +
                            "; leave out `to` to keep that path");
  begin_nodes();
}

void StageRun::begin_nodes() {
  stage_ = Stage::claiming;
  patient_from_ = monotonic_now();
  wire::StageBegin begin{id_, source_->roots(), source_->origins(own_hostname()),
                         {},  settings_.by,     settings_.for_ranks};
  if (settings_.collects) {
    for (StageOrigin& origin : begin.origins) origin = {"", origin.marker, "", false};
  }
  for (const auto& need : environments_.needs) begin.needs.push_back(need.path);
  for (Node& node : nodes_) {
    node.has_claimed = false;
    node.other = {};
    node.heard_at = monotonic_now();
    send(node, begin);
  }
}

void StageRun::take(Node& node, const wire::StageClaimed& claimed) {
  if (stage_ != Stage::claiming) return;
  node.has_claimed = true;
  node.other = claimed;
  all_claimed();
}

/// Either all nodes are claimed or none: two stagings that have claimed some nodes each would wait
/// for each other.
void StageRun::all_claimed() {
  if (!all([](const Node& node) { return node.has_claimed || !node.problem.empty(); })) return;
  for (const Node& node : nodes_) {
    if (node.is_lost || node.other.by.empty()) continue;
    return any_failed() ? fail_at_nodes() : wait_for(node);
  }
  if (waiting_from_)
    report_.notes.push_back("stage: the other staging ended after " +
                            duration_text(monotonic_now() - *waiting_from_));
  stage_ = Stage::looking;
  patient_from_ = monotonic_now();
  for (Node& node : nodes_) {
    if (node.problem.empty() && !node.is_lost) announce(node);
  }
  all_looked();
}

void StageRun::wait_for(const Node& node) {
  // Random, so that two stagings that wait do not try at the same time.
  constexpr std::uint64_t kLeastMs = 300;
  constexpr std::uint64_t kSpreadMs = 1000;
  for (const Node& one : nodes_) send(one, wire::StageOver{id_});
  const MonotonicTime now = monotonic_now();
  const std::string what = plain_line(node.other.by) + ", which stages " +
                           plain_line(node.other.target) + " on " + node.result.name;
  if (!waiting_from_) {
    waiting_from_ = now;
    callbacks_.note("stage: waiting for " + what + ", at most " +
                    duration_text(settings_.patience));
  }
  if (now - *waiting_from_ > settings_.patience)
    return fail(what + ", did not end within " + duration_text(settings_.patience));
  stage_ = Stage::waiting;
  again_at_ = now + std::chrono::milliseconds(kLeastMs + random_number() % kSpreadMs);
  shown_ = true;
  callbacks_.show("dlaunch: staging waits for " + what + ", " +
                  duration_text(now - *waiting_from_));
}

void StageRun::claim_again(MonotonicTime now) {
  if (now < again_at_) return;
  ++id_;  // answers to the last question do not count
  begin_nodes();
}

/// Sends a few thousand entries at a time; otherwise those in transit to all nodes would fill the
/// memory.
void StageRun::announce(Node& node) {
  const std::vector<StageEntry>& entries = source_->entries();
  while (!node.all_announced && node.announced - node.looked < kMostAnnounced) {
    wire::StageEntries message{id_, {}, false};
    for (; node.announced < entries.size() && message.entries.size() < kMostInMessage;
         ++node.announced)
      message.entries.push_back(entries[node.announced]);
    node.all_announced = message.last = node.announced == entries.size();
    send(node, message);
  }
}

/// An agent that names an unknown entry is faulty, and gets nothing for that entry; an agent that
/// names more blocks than a file has ends the staging.
void StageRun::take(Node& node, const wire::StageWants& wants) {
  if (stage_ != Stage::looking || node.has_looked) return;
  for (const StageWant& want : wants.wants) {
    if (want.entry >= source_->entries().size()) continue;
    auto& hashes = node.wants[want.entry];
    hashes.insert(hashes.end(), want.hashes.begin(), want.hashes.end());
    const sync::BlockMap& map = source_->map();
    if (hashes.size() > map.end_of(want.entry) - map.first_of(want.entry))
      node.problem = "its agent named more blocks than a file has";
  }
  note_missing(node, wants.missing);
  node.has_answered = true;
  node.looked = std::clamp(wants.looked, node.looked, node.announced);
  announce(node);
  node.has_looked = wants.last;
  all_looked();
}

void StageRun::note_missing(Node& node, const std::vector<std::uint32_t>& missing) {
  const auto& needs = environments_.needs;
  for (const std::uint32_t one : missing) {
    if (one < needs.size()) {
      lacking_.insert(one);
    } else {
      node.problem = "its agent reported a missing path that it was not asked about";
    }
  }
  if (missing.empty() || !node.problem.empty()) return;
  const StagedEnvironments::Need& first = needs[missing.front()];
  node.problem = plain_line(first.path) + " does not exist, but the environment " +
                 plain_line(first.environment) + " needs it";
  if (missing.size() > 1) node.problem += " and " + std::to_string(missing.size() - 1) + " more";
}

void StageRun::all_looked() {
  if (stage_ != Stage::looking) return;
  // Fail now, not after the other nodes have hashed all that they have.
  const bool all_answered =
      all([](const Node& node) { return node.has_answered || !node.problem.empty(); });
  if (all_answered && any_failed()) return fail_at_nodes();
  if (!all([](const Node& node) { return node.has_looked; })) return;
  for (const Node& node : nodes_) {
    for (const auto& [entry, hashes] : node.wants) {
      if (!hashes.empty()) blocks_.try_emplace(entry);
    }
  }
  for (const auto& [entry, hashes] : blocks_) to_hash_.push_back(entry);
  stage_ = Stage::comparing;
  work_on();
}

/// True: there is more to do.
bool StageRun::hash_some() {
  if (stage_ != Stage::comparing && stage_ != Stage::moving) return false;
  if (!hashing_) {
    if (to_hash_.empty()) return false;
    hashing_ = Hashing();
    hashing_->entry = to_hash_.front();
    hashing_->block = source_->map().first_of(hashing_->entry);
    to_hash_.pop_front();
  }
  const std::uint64_t end = source_->map().end_of(hashing_->entry);
  std::string bytes;
  for (std::uint64_t i = 0; i < kHashBlocks && hashing_->block < end; ++i, ++hashing_->block) {
    bytes.clear();
    if (const std::string problem = source_->read(hashing_->block, hashing_->reader, bytes);
        !problem.empty()) {
      fail_to_read(problem);
      return false;
    }
    hashing_->strong.add(bytes);
    if (stage_ == Stage::comparing) hashing_->blocks.push_back(block_hash(bytes));
  }
  if (hashing_->block == end) end_hash();
  patient_from_ = monotonic_now();  // nodes may be waiting for the hash
  return true;
}

void StageRun::end_hash() {
  strong_[hashing_->entry] = hashing_->strong.hash();
  if (stage_ == Stage::comparing) {
    blocks_[hashing_->entry] = std::move(hashing_->blocks);
  } else {
    untold_.push_back(hashing_->entry);
    if (untold_.size() >= kMostInMessage || to_hash_.empty() ||
        source_->entries()[hashing_->entry].entry.size >= sync::kBlockBytes)
      flush_hashes();
  }
  hashing_.reset();
}

void StageRun::flush_hashes() {
  for (std::size_t next = 0; next < untold_.size();) {
    wire::StageHashes message{id_, {}, {}};
    for (; next < untold_.size() && message.entries.size() < kMostInMessage; ++next) {
      message.entries.push_back(untold_[next]);
      const StrongHash& hash = strong_[untold_[next]];
      message.words.insert(message.words.end(), hash.begin(), hash.end());
    }
    for (const Node& node : nodes_) {
      if (node.needs) send(node, message);
    }
  }
  untold_.clear();
}

/// Makes one stream of all blocks that nodes lack.
void StageRun::compare() {
  source_->unmark();
  const sync::BlockMap& map = source_->map();
  std::vector<bool> missing(map.total());
  for (Node& node : nodes_) {
    if (node.is_lost) continue;
    for (const auto& [entry, hashes] : node.wants) {
      const std::vector<std::uint64_t>* const own = hashes.empty() ? nullptr : &blocks_.at(entry);
      bool is_same = true;
      const std::uint64_t first = map.first_of(entry);
      for (std::uint64_t i = 0; i < map.end_of(entry) - first; ++i) {
        if (own != nullptr && i < hashes.size() && hashes[i] == (*own)[i]) continue;
        missing[first + i] = true;
        is_same = false;
      }
      node.needs = node.needs || !is_same;
      if (is_same) node.same.push_back(entry);
    }
    node.wants.clear();
  }
  stream_ = sync::BlockStream(missing);
  std::vector<bool> forwards;
  std::vector<bool> holds;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.holds = settings_.nodes[i].forwards && may_hold(node);
    holds.push_back(node.holds);
    forwards.push_back(node.holds || (node.needs && settings_.nodes[i].forwards));
    if (node.is_lost) forwards.back() = false;
  }
  chain_.emplace(std::move(forwards), holds);
  // Without a node in the middle, the connection alone protects what is sent.
  const bool all_direct = all([this](const Node& node) { return is_direct(node); });
  for (const BlockRun& run : stream_.runs()) {
    const auto first = map.place_of(run.first);
    const auto last = map.place_of(run.first + run.count - 1);
    for (std::uint32_t entry = first.entry; entry <= last.entry; ++entry) {
      const std::uint64_t from = entry == first.entry ? first.offset : 0;
      const std::uint64_t size = source_->entries()[entry].entry.size;
      if (map.first_of(entry) == map.end_of(entry)) continue;
      stream_bytes_ += (entry == last.entry ? last.offset + last.size : size) - from;
      if (strong_.contains(entry)) {
        if (untold_.empty() || untold_.back() != entry) untold_.push_back(entry);
      } else if ((to_hash_.empty() || to_hash_.back() != entry) &&
                 !(all_direct && stream_.has(map.first_of(entry), map.end_of(entry)))) {
        to_hash_.push_back(entry);
      }
    }
  }
  blocks_.clear();
  stage_ = Stage::checking;
  patient_from_ = monotonic_now();
  for (Node& node : nodes_) send_stream(node);
}

/// Whether the node has all blocks of the stream, in files. An archive was unpacked there. A node
/// whose files are staged may not read those of other nodes (launch/stage/job_staging.h), and needs
/// no other node to get its own.
bool StageRun::may_hold(const Node& node) const {
  if (node.needs || node.is_lost || stream_.size() == 0 || !settings_.self.empty() ||
      !trusts_copies_)
    return false;
  const auto& entries = source_->entries();
  return std::all_of(stream_.runs().begin(), stream_.runs().end(), [&](const BlockRun& run) {
    const std::uint32_t last = source_->map().place_of(run.first + run.count - 1).entry;
    for (std::uint32_t i = source_->map().place_of(run.first).entry; i <= last; ++i) {
      if (!entries[i].unpack.empty()) return false;
    }
    return true;
  });
}

void StageRun::send_stream(Node& node) {
  const std::vector<BlockRun> none;
  const std::vector<BlockRun>& runs = node.needs || node.holds ? stream_.runs() : none;
  std::size_t run = 0;
  std::size_t same = 0;
  wire::StageStream message;
  do {
    message = {id_, {}, {}, false, is_direct(node), node.holds};
    for (; run < runs.size() && message.runs.size() < kMostInMessage; ++run)
      message.runs.push_back(runs[run]);
    for (; same < node.same.size() && message.same.size() < kMostInMessage; ++same)
      message.same.push_back(node.same[same]);
    message.last = run == runs.size() && same == node.same.size();
    send(node, message);
  } while (!message.last);
}

}  // namespace dlaunch
