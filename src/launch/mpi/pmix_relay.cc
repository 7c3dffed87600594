#include "launch/mpi/pmix_relay.h"

#include <algorithm>

namespace dlaunch {

namespace {

// Codes of pmix_common.h, which a server gets when a fence or request fails.
constexpr std::int32_t kBadParameter = -27;
constexpr std::int32_t kOutOfResource = -29;
constexpr std::int32_t kNotFound = -46;

// More than any job has at the same time; an agent must not exhaust our memory.
constexpr std::size_t kMostFences = 4096;
constexpr std::size_t kMostQuestions = 1 << 20;
constexpr std::size_t kMostHeld = std::size_t{256} << 20;  // bytes of all fences together

}  // namespace

PmixRelay::PmixRelay(const LaunchPlan& plan) : attempt_(plan.attempt) {
  for (const RankPlan& rank : plan.ranks) node_of_rank_.push_back(plan.nodes[rank.node.value].id);
  for (const NodePlan& node : plan.nodes) {
    if (!node.ranks.empty()) nodes_.push_back(node.id);
  }
}

void PmixRelay::append(const wire::PmixFence& from, wire::PmixFence& sum) {
  if (sum.status == 0) sum.status = from.status;
  if (sum.status == 0 && (sum.bytes.size() + from.bytes.size() > wire::kMostPmixBytes ||
                          held_ + from.bytes.size() > kMostHeld))
    sum.status = kOutOfResource;
  if (sum.status == 0) {
    sum.bytes += from.bytes;
    held_ += from.bytes.size();
  } else {
    held_ -= sum.bytes.size();
    sum.bytes = std::string();  // releases its memory
  }
}

/// Empty: one of the members is not a rank of the job.
std::vector<NodeId> PmixRelay::nodes_of(const std::vector<RankSpan>& members) const {
  if (members.empty()) return nodes_;
  std::set<NodeId> nodes;
  for (const RankSpan& span : members) {
    const std::uint64_t end = std::uint64_t{span.first.value} + span.count;
    if (end > node_of_rank_.size()) return {};
    for (std::uint64_t rank = span.first.value; rank < end; ++rank)
      nodes.insert(node_of_rank_[rank]);
  }
  return {nodes.begin(), nodes.end()};
}

std::vector<PmixRelay::Letter> PmixRelay::on(NodeId from, wire::PmixFence fence) {
  if (fence.attempt != attempt_) return {};
  const bool pmi1 = fence.pmi1;
  if (pmi1 && pmi1_failed_) return {};
  if (pmi1 && fence.status != 0) return fail_pmi1(fence.status);
  std::vector<Letter> letters = contribute(from, fence);
  // Each fence would wait for ranks that use the other protocol. So the PMI-1 ranks are made to
  // fail, and the PMIx ranks are then ended with them.
  if (is_open(pmi1) && is_open(!pmi1)) {
    for (Letter& letter : fail_pmi1(wire::kPmi1Mixed)) letters.push_back(std::move(letter));
  }
  return letters;
}

bool PmixRelay::is_open(bool pmi1) const {
  return std::any_of(fences_.begin(), fences_.end(),
                     [&](const auto& one) { return std::get<bool>(one.first) == pmi1; });
}

std::vector<PmixRelay::Letter> PmixRelay::fail_pmi1(std::int32_t status) {
  pmi1_failed_ = true;
  std::erase_if(fences_, [this](const auto& one) {
    const bool erased = std::get<bool>(one.first);
    if (erased) held_ -= one.second.sum.bytes.size();
    return erased;
  });
  wire::PmixFence failed{attempt_, 0, status, {}, {}};
  failed.pmi1 = true;
  return {{nodes_, std::move(failed)}};
}

std::vector<PmixRelay::Letter> PmixRelay::contribute(NodeId from, const wire::PmixFence& fence) {
  const Key key{fence.pmi1, fence.members, fence.counter};
  auto found = fences_.find(key);
  if (found == fences_.end()) {
    Fence begun;
    begun.nodes = nodes_of(fence.members);
    begun.awaited = {begun.nodes.begin(), begun.nodes.end()};
    begun.sum = {attempt_, fence.counter, 0, fence.members, "", fence.pmi1};
    if (begun.nodes.empty() || fences_.size() >= kMostFences) {
      if (fence.pmi1) return fail_pmi1(wire::kPmi1TooMuch);
      begun.sum.status = begun.nodes.empty() ? kBadParameter : kOutOfResource;
      return {{{from}, std::move(begun.sum)}};
    }
    if (!begun.awaited.contains(from)) return {};
    found = fences_.emplace(key, std::move(begun)).first;
  }
  Fence& open = found->second;
  if (open.awaited.erase(from) == 0) return {};
  append(fence, open.sum);
  if (open.sum.pmi1 && open.sum.status != 0) return fail_pmi1(wire::kPmi1TooMuch);
  if (!open.awaited.empty()) return {};
  held_ -= open.sum.bytes.size();
  std::vector<Letter> letters = {{std::move(open.nodes), std::move(open.sum)}};
  fences_.erase(found);
  return letters;
}

std::vector<PmixRelay::Letter> PmixRelay::on(NodeId from, const wire::PmixWanted& wanted) {
  if (wanted.attempt != attempt_) return {};
  const bool known = wanted.rank.value < node_of_rank_.size();
  if (!known || questions_.size() >= kMostQuestions) {
    return {{{from}, wire::PmixData{attempt_, wanted.id, known ? kOutOfResource : kNotFound, ""}}};
  }
  const NodeId answerer = node_of_rank_[wanted.rank.value];
  questions_.insert_or_assign(++next_question_, Question{from, wanted.id, answerer});
  return {{{answerer}, wire::PmixWanted{attempt_, next_question_, wanted.rank}}};
}

std::vector<PmixRelay::Letter> PmixRelay::on(NodeId from, wire::PmixData data) {
  const auto found = questions_.find(data.id);
  if (data.attempt != attempt_ || found == questions_.end() || found->second.answerer != from)
    return {};
  data.id = found->second.id;
  std::vector<Letter> letters = {{{found->second.asker}, std::move(data)}};
  questions_.erase(found);
  return letters;
}

}  // namespace dlaunch
