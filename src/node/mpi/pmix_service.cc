#include "node/mpi/pmix_service.h"

#include <algorithm>
#include <string_view>

#include "node/mpi/pmix_program.h"

namespace dlaunch {

namespace {

// A start takes some 30 ms; a machine that is short of memory or processes may be slow.
constexpr std::chrono::seconds kStartLimit{20};
constexpr std::chrono::seconds kFinishLimit{2};

// PMIX_ERR_OUT_OF_RESOURCE of pmix_common.h, for messages that are too large.
constexpr std::int32_t kOutOfResource = -29;

// Where Open MPI puts memory that ranks of a node share. The default is /dev/shm itself, where
// killed ranks would leave that memory behind. Open MPI 5 also has the first variable, for its btl
// "sm", and the third in place of the second.
constexpr std::string_view kMemoryFolders[] = {"OMPI_MCA_btl_vader_backing_directory",
                                               "OMPI_MCA_osc_sm_backing_store",
                                               "OMPI_MCA_osc_sm_backing_directory"};

}  // namespace

PmixService::PmixService(EventLoop& loop, AgentChannel& channel, SessionId id, Callbacks callbacks)
    : loop_(loop), channel_(channel), id_(id), limit_(loop), callbacks_(std::move(callbacks)) {}

void PmixService::prepare(const wire::PreparePmix& job) {
  ready("replaced by a newer plan");  // the launcher counts the answers
  attempt_ = job.attempt;
  ranks_.clear();
  fences_.clear();
  waiting_.clear();
  helper_.reset();
  running_ = false;
  served_ = false;
  lost_ = false;
  if (!job.pmix) {
    channel_.send(wire::PmixReady{attempt_, ""});
    return;
  }
  starting_ = true;
  if (job.own >= job.nodes.size()) return ready("it has no rank of the job");
  start(job);
}

void PmixService::start(const wire::PreparePmix& job) {
  auto folders = make_pmix_folders(id_);
  if (!folders) return ready(folders.error().message);
  folders_ = std::move(*folders);
  auto helper = PmixHelper::start(
      loop_,
      {.on_message =
           [this](pmix::HelperMessage message) { std::visit([this](auto& m) { on(m); }, message); },
       .on_end = [this](const std::string& said) { ended(said); }});
  if (!helper) return ready(helper.error().message);
  helper_ = std::move(*helper);
  running_ = true;
  pmix::Setup setup;
  setup.name_space = job.name_space;
  setup.node = job.own;
  setup.folder = folders_.files;
  for (const wire::PreparePmix::Node& node : job.nodes)
    setup.nodes.push_back({node.name, node.ranks});
  helper_->send(setup);
  limit_.after(kStartLimit, [this] {
    ready("dlaunch-pmix was not ready within " + std::to_string(kStartLimit.count()) + " s");
    helper_->kill();
  });
}

void PmixService::ready(std::string refused) {
  if (!std::exchange(starting_, false)) return;
  limit_.cancel();
  served_ = refused.empty();
  channel_.send(wire::PmixReady{attempt_, std::move(refused)});
}

void PmixService::ended(const std::string& said) {
  running_ = false;
  ready(why_no_pmix(said));
  if (on_finished_) return over();
  // Ranks that need it end by themselves or continue as worlds of one: see judge().
  if (std::exchange(served_, false)) {
    lost_ = true;
    channel_.send(wire::Notice{"dlaunch-pmix ended before its ranks" +
                               (said.empty() ? "" : ": " + said.substr(0, said.find('\n'))) +
                               "; Open MPI ranks that had not called MPI_Finalize by then failed"});
  }
}

void PmixService::on(pmix::Ready& answer) {
  for (pmix::Ready::OfRank& rank : answer.ranks) ranks_[rank.rank].env = std::move(rank.env);
  ready(std::move(answer.refused));
}

// ---- between nodes

/// Fences with the same members occur in the same order on every node, so a number identifies each,
/// even one that fails.
void PmixService::on(pmix::Fence& fence) {
  const std::uint64_t counter = fences_[fence.members]++;
  if (fence.members.size() > wire::kMostSpans) {  // on all nodes alike: none waits for this one
    helper_->send(pmix::FenceDone{fence.id, kOutOfResource, ""});
    return;
  }
  if (fence.bytes.size() > wire::kMostPmixBytes) {  // only this node knows, so tell the others
    fence.status = kOutOfResource;
    fence.bytes.clear();
  }
  waiting_.emplace(std::pair{fence.members, counter}, fence.id);
  channel_.send(wire::PmixFence{attempt_, counter, fence.status, std::move(fence.members),
                                std::move(fence.bytes)});
}

void PmixService::on(wire::PmixFence& done) {
  if (done.attempt != attempt_ || !running_) return;
  const auto found = waiting_.find({done.members, done.counter});
  if (found == waiting_.end()) return;
  helper_->send(pmix::FenceDone{found->second, done.status, std::move(done.bytes)});
  waiting_.erase(found);
}

void PmixService::on(const pmix::DataWanted& wanted) {
  channel_.send(wire::PmixWanted{attempt_, wanted.id, Rank(wanted.rank)});
}

void PmixService::on(const wire::PmixWanted& wanted) {
  if (wanted.attempt == attempt_ && running_)
    helper_->send(pmix::DataWanted{wanted.id, wanted.rank.value});
}

void PmixService::on(pmix::Data& data) {
  const bool fits = data.bytes.size() <= wire::kMostPmixBytes;
  channel_.send(wire::PmixData{attempt_, data.id, fits ? data.status : kOutOfResource,
                               fits ? std::move(data.bytes) : std::string()});
}

void PmixService::on(wire::PmixData& data) {
  if (data.attempt == attempt_ && running_)
    helper_->send(pmix::Data{data.id, data.status, std::move(data.bytes)});
}

// ---- ranks

void PmixService::on(const pmix::Aborted& aborted) {
  RankState& rank = ranks_[aborted.rank];
  const bool first = !rank.aborted;
  if (first) rank.aborted = aborted.code;
  helper_->send(pmix::AbortSeen{aborted.id});
  if (first) callbacks_.on_abort(Rank(aborted.rank));
}

void PmixService::on(const pmix::Connected& rank) {
  ranks_[rank.rank].connected = true;
  callbacks_.on_connected(Rank(rank.rank));
}

std::vector<Rank> PmixService::connected() const {
  std::vector<Rank> found;
  for (const auto& [rank, one] : ranks_) {
    if (one.connected) found.emplace_back(rank);
  }
  return found;
}

void PmixService::on(const pmix::Refused& refused) {
  channel_.send(wire::Notice{"rank " + std::to_string(refused.rank) + " called " + refused.what +
                             ", which is not possible here: the call fails. Programs that start "
                             "others need mpirun"});
}

void PmixService::add_variables(Rank rank, const Environment& shared, Environment& own) const {
  const auto found = ranks_.find(rank.value);
  if (!served_ || found == ranks_.end()) return;
  for (const std::string& entry : found->second.env) {
    const std::size_t end = entry.find('=');
    if (end != std::string::npos && end > 0)
      own.insert_or_assign(entry.substr(0, end), entry.substr(end + 1));
  }
  if (folders_.shared_memory.empty()) return;
  for (const std::string_view name : kMemoryFolders) {
    if (!shared.contains(std::string(name))) own.emplace(name, folders_.shared_memory);
  }
}

/// If the server was lost, what a rank had not done by then counts as not done at all, because the
/// rank may have continued as a world of one.
WireUp PmixService::seen(Rank rank) {
  if (!served_ && !lost_) return {};
  // The rank waited until its last message was written, which may not have been read yet.
  if (running_) helper_->catch_up();
  const auto found = ranks_.find(rank.value);
  if ((!served_ && !lost_) || found == ranks_.end()) return {};
  const RankState& state = found->second;
  return {true, state.connected, state.finalized, state.aborted, std::nullopt, false};
}

// ---- the end

std::optional<pid_t> PmixService::process() const {
  return running_ ? std::optional(helper_->pid()) : std::nullopt;
}

void PmixService::finish(std::function<void()> done) {
  expect_end();
  on_finished_ = std::move(done);
  if (!running_) return over();
  helper_->send(pmix::Finish{});
  limit_.after(kFinishLimit, [this] { helper_->kill(); });
}

void PmixService::over() {
  limit_.cancel();
  remove_folders();
  if (const auto done = std::exchange(on_finished_, nullptr)) done();
}

void PmixService::kill() {
  expect_end();
  if (running_) helper_->kill();
}

void PmixService::remove_folders() {
  if (folders_.files.empty()) return;
  remove_pmix_folders(id_);
  folders_ = PmixFolders();
}

}  // namespace dlaunch
