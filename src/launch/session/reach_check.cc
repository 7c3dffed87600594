#include "launch/session/reach_check.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "os/random.h"
#include "plan/candidates.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLongest{10};
// How long to wait for a better address, and for other nodes that cannot reach any: a lost SYN is
// sent again after one second (RFC 6298).
constexpr std::chrono::milliseconds kPatience{1500};

}  // namespace

void ReachCheck::begin(const JobSpec& spec, Cluster nodes) {
  cancel();
  under_way_ = true;
  failing_.clear();
  either_.clear();
  is_patient_ = false;
  keep_planned_ = spec.rendezvous.interface != "auto";
  nodes_ = std::move(nodes);
  auto candidates = rendezvous_candidates(spec.rendezvous, nodes_);
  if (!candidates) return finish(tl::unexpected(candidates.error()));
  candidates_ = std::move(*candidates);
  if (is_unchecked())
    return finish(
        Meeting{candidates_.front().address,
                candidates_.front().reason + ", not tested: only the ranks resolve the name",
                candidates_.front().routes});
  Meeting any;  // the port is the same for every address
  Result<MasterPlan> master = choose_master(spec.rendezvous, nodes_, any);
  if (!master) return finish(tl::unexpected(master.error()));
  record_.emplace(candidates_.size(), nodes_.nodes.size());
  knock_ = {};
  knock_.id = ++last_id_;
  knock_.port = master->port;
  for (const Candidate& candidate : candidates_) knock_.addresses.push_back(candidate.address);
  auto nonce = random_secret();
  auto answer = random_secret();
  if (!nonce || !answer) return finish(tl::unexpected((nonce ? answer : nonce).error()));
  knock_.nonce = std::move(*nonce);
  knock_.answer = std::move(*answer);
  // The rest of timeouts.connect is for the questions that follow (preparation.cc).
  const auto limit = std::min<Duration>(spec.timeouts.connect * 3 / 4, kLongest);
  knock_.limit_ms = static_cast<std::uint32_t>(std::max<Duration::rep>(limit.count(), 1));
  open_door();
}

bool ReachCheck::is_unchecked() const {
  return std::none_of(candidates_.begin(), candidates_.end(),
                      [](const Candidate& candidate) { return candidate.is_ip; });
}

void ReachCheck::open_door() {
  wire::OpenDoor door;
  door.id = knock_.id;
  door.addresses = knock_.addresses;
  door.any_address = std::any_of(candidates_.begin(), candidates_.end(),
                                 [](const Candidate& candidate) { return !candidate.is_own; });
  door.port = knock_.port;
  door.nonce = knock_.nonce;
  door.answer = knock_.answer;
  door.limit_ms = knock_.limit_ms + 1000;  // connecting ends first
  limit_.after(std::chrono::milliseconds(knock_.limit_ms), [this] { settle(); });
  callbacks_.send(nodes_.nodes.front().id, door);
}

void ReachCheck::on(NodeId node, const wire::DoorOpen& open) {
  if (!under_way_ || node != nodes_.nodes.front().id || open.id != knock_.id) return;
  for (std::size_t i = 0; i < std::min(open.errors.size(), record_->candidates()); ++i)
    record_->not_open(i, open.errors[i]);
  for (std::size_t other = 1; other < nodes_.nodes.size(); ++other)
    callbacks_.send(nodes_.nodes[other].id, knock_);
  look();
}

void ReachCheck::on(NodeId node, const wire::Knocked& knocked) {
  if (!under_way_ || knocked.id != knock_.id) return;
  const Node* const known = nodes_.find(node);
  if (known == nullptr) return;
  const auto index = static_cast<std::size_t>(known - nodes_.nodes.data());
  for (const wire::Knocked::One& one : knocked.results) {
    record_->add(index, one.address,
                 {one.error, one.round_trip_us, {one.interface, one.local_address}});
  }
  look();
}

void ReachCheck::look() {
  const ReachRecord::State state = record_->state();
  if (state == ReachRecord::State::open) return;
  if (state == ReachRecord::State::settled || state == ReachRecord::State::failed) return settle();
  if (std::exchange(is_patient_, true)) return;
  patience_.after(kPatience, [this] { settle(); });
}

void ReachCheck::settle() {
  record_->end();  // stops waiting
  if (const auto reached = record_->reached()) {
    return finish(meeting_at(*reached, candidates_, *record_, nodes_, keep_planned_));
  }
  for (const std::uint32_t node : who_fails_to_meet(*record_))
    failing_.push_back(nodes_.nodes[node].id);
  if (record_->nodes() == 2 && record_->is_any_open())
    either_ = {nodes_.nodes[0].id, nodes_.nodes[1].id};
  finish(tl::unexpected(unreachable(candidates_, *record_, nodes_, knock_.port)));
}

void ReachCheck::close() {
  limit_.cancel();
  patience_.cancel();
  if (!record_) return;
  for (const Node& node : nodes_.nodes) callbacks_.send(node.id, wire::CloseDoor{knock_.id});
  record_.reset();
}

void ReachCheck::cancel() {
  if (std::exchange(under_way_, false)) close();
}

void ReachCheck::finish(Result<Meeting> result) {
  under_way_ = false;
  close();
  // They have the facts of all nodes.
  nodes_ = {};
  candidates_.clear();
  callbacks_.done(std::move(result));
}

}  // namespace dlaunch
