#include "launch/session/reach_check.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "plan/candidates.h"
#include "plan/make_plan.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLongest{10};
// A lost SYN is sent again after one second (RFC 6298): that is how long to wait for a better
// address, and for other nodes that cannot reach one.
constexpr std::chrono::milliseconds kPatience{1500};

/// 128 bits, as text: strings on the wire hold no zero bytes.
std::optional<std::string> secret() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return std::nullopt;
  std::string text;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> digits;
    (void)std::snprintf(digits.data(), digits.size(), "%02x", byte);
    text += digits.data();
  }
  return text;
}

}  // namespace

void ReachCheck::begin(const JobSpec& spec, const Cluster& cluster, std::size_t nodes) {
  cancel();
  under_way_ = true;
  failing_.clear();
  is_patient_ = false;
  keep_planned_ = spec.rendezvous.interface != "auto";
  cluster_ = cluster;
  auto candidates = rendezvous_candidates(spec.rendezvous, cluster, nodes);
  if (!candidates) return finish(tl::unexpected(candidates.error()));
  candidates_ = std::move(*candidates);
  if (is_unchecked())
    return finish(Meeting{candidates_.front().address,
                          candidates_.front().reason + ", not tried: only ranks can resolve a name",
                          candidates_.front().routes});
  Meeting any;  // the port is the same for every address
  Result<MasterPlan> master = choose_master(spec.rendezvous, cluster, any);
  if (!master) return finish(tl::unexpected(master.error()));
  record_.emplace(candidates_.size(), nodes);
  knock_ = {};
  knock_.id = ++last_id_;
  knock_.port = master->port;
  for (const Candidate& candidate : candidates_) knock_.addresses.push_back(candidate.address);
  const auto nonce = secret();
  const auto answer = secret();
  if (!nonce || !answer) return finish(fail_errno(exit_code::kInternal, "getrandom", errno));
  knock_.nonce = *nonce;
  knock_.answer = *answer;
  // The rest of timeouts.connect is for the questions that follow (AttemptPlanner).
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
  callbacks_.send(cluster_.nodes.front().id, door);
}

void ReachCheck::on(NodeId node, const wire::DoorOpen& open) {
  if (!under_way_ || node != cluster_.nodes.front().id || open.id != knock_.id) return;
  for (std::size_t i = 0; i < std::min(open.errors.size(), record_->candidates()); ++i)
    record_->not_open(i, open.errors[i]);
  for (std::uint32_t other = 1; other < record_->nodes(); ++other)
    callbacks_.send(cluster_.nodes[other].id, knock_);
  look();
}

void ReachCheck::on(NodeId node, const wire::Knocked& knocked) {
  if (!under_way_ || knocked.id != knock_.id) return;
  const Node* const known = cluster_.find(node);
  const auto place = static_cast<std::size_t>(known - cluster_.nodes.data());
  if (known == nullptr || place >= record_->nodes()) return;
  for (const wire::Knocked::One& one : knocked.results) {
    record_->add(place, one.address,
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
    return finish(meeting_at(*reached, candidates_, *record_, cluster_, keep_planned_));
  }
  failing_ = who_fails_to_meet(*record_);
  finish(tl::unexpected(unreachable(candidates_, *record_, cluster_, knock_.port)));
}

void ReachCheck::close() {
  limit_.cancel();
  patience_.cancel();
  if (!record_) return;
  for (std::uint32_t node = 0; node < record_->nodes(); ++node)
    callbacks_.send(cluster_.nodes[node].id, wire::CloseDoor{knock_.id});
  record_.reset();
}

void ReachCheck::cancel() {
  if (std::exchange(under_way_, false)) close();
}

void ReachCheck::finish(Result<Meeting> result) {
  under_way_ = false;
  close();
  callbacks_.done(std::move(result));
}

}  // namespace dlaunch
