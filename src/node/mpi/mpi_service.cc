#include "node/mpi/mpi_service.h"

#include <algorithm>
#include <utility>

#include "model/rank_variables.h"
#include "os/proc_file.h"

namespace dlaunch {

namespace {

// Time for a rank that has called MPI_Abort, and the shell around it, to end by itself. MPICH up to
// 4.0 waits to be killed.
constexpr std::chrono::milliseconds kPmixGrace{1000};
constexpr std::chrono::milliseconds kPmi1Grace{200};

}  // namespace

MpiService::MpiService(EventLoop& loop, AgentChannel& channel, SessionId id)
    : pmix_(loop, channel, id,
            {.on_connected = [this](Rank rank) { fail_if_mixed({rank}, {}); },
             .on_abort =
                 [this](Rank rank) {
                   if (on_abort_) on_abort_(rank, kPmixGrace);
                 }}),
      pmi1_(loop, channel,
            {.on_connected = [this](Rank rank) { fail_if_mixed({}, {rank}); },
             .on_abort =
                 [this](Rank rank) {
                   if (on_abort_) on_abort_(rank, kPmi1Grace);
                 },
             .environment_of =
                 [](pid_t pid) {
                   return read_proc_file("/proc/" + std::to_string(pid) + "/environ");
                 }}),
      id_(id) {}

/// Ends the barriers if some ranks speak only PMIx and others only PMI-1. A rank may speak both: an
/// MPI program that uses PMIx and also PMI_FD, as `dlaunch check` does.
void MpiService::fail_if_mixed(std::vector<Rank> pmix, std::vector<Rank> pmi1) {
  for (const Rank rank : pmix_.connected()) pmix.push_back(rank);
  for (const Rank rank : pmi1_.connected()) pmi1.push_back(rank);
  const auto lacks = [](const std::vector<Rank>& all, Rank rank) {
    return std::find(all.begin(), all.end(), rank) == all.end();
  };
  const bool only_pmix =
      std::any_of(pmix.begin(), pmix.end(), [&](Rank r) { return lacks(pmi1, r); });
  const bool only_pmi1 =
      std::any_of(pmi1.begin(), pmi1.end(), [&](Rank r) { return lacks(pmix, r); });
  if (only_pmix && only_pmi1) pmi1_.fail(wire::kPmi1Mixed);
}

void MpiService::prepare(const wire::PreparePmix& job) {
  judges_ = true;
  pmi1_.prepare(job);
  pmix_.prepare(job);
}

void MpiService::on(wire::PmixFence& done) {
  done.pmi1 ? pmi1_.on(done) : pmix_.on(done);
}

tl::expected<UniqueFd, StartFailure> MpiService::connect(Rank rank, const Environment& shared,
                                                         Environment& own) {
  pmix_.add_variables(rank, shared, own);
  if (!pmi1_.offered()) return UniqueFd();
  auto socket = pmi1_.open(rank);
  if (!socket) {
    return tl::unexpected(
        StartFailure{StartFailure::Step::resources, socket.error(), "a socket for PMI-1", ""});
  }
  own.insert_or_assign("PMI_FD", std::to_string(kPmiDescriptor));
  return std::move(*socket);
}

void MpiService::judge(Rank rank, ExitStatus& status) {
  if (!judges_) return;
  const WireUp seen = both(pmix_.seen(rank), pmi1_.seen(rank));
  if (!seen.offered) return;
  status = judged(seen, std::move(status));
  // If the status is not ok, the job ends anyway, and errors of other ranks would only distract.
  if (status.ok()) pmi1_.ended(rank);
}

void MpiService::expect_end() {
  judges_ = false;
  pmix_.expect_end();
}

void MpiService::finish(std::function<void()> done) {
  expect_end();
  pmix_.finish(std::move(done));
}

void MpiService::kill() {
  expect_end();
  pmix_.kill();
}

}  // namespace dlaunch
