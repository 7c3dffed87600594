// The mode "pairs": measures every two ranks, in rounds in which all ranks are busy, so that a slow
// link is identified by its two ends.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "measure/collectives/exchange.h"
#include "measure/collectives/machine.h"
#include "measure/collectives/program/mode.h"
#include "measure/figures/pairing.h"

namespace dlaunch::collectives {

namespace {

using Clock = std::chrono::steady_clock;

class Pairs {
 public:
  explicit Pairs(Context& context)
      : context_(context),
        world_(context.team.world()),
        type_(data_type_named(context.settings.text("type")).value_or(DataType::uint8)),
        bytes_(context.settings.number("first")),
        warmup_(context.settings.number("warmup", 5)),
        iterations_(context.settings.number("iterations", 20)),
        send_(context.team.memory(), bytes_),
        receive_(context.team.memory(), bytes_) {}

  Status run() {
    const bool missing = send_.data() == nullptr || receive_.data() == nullptr;
    const auto anywhere = context_.team.max({missing ? 1.0 : 0.0});
    if (!anywhere) return anywhere.status();
    if (anywhere->front() != 0) return {Code::unavailable, "not enough memory for the buffers"};
    auto exchange = Exchange::get(longest_wait());
    if (!exchange) return exchange.status();
    exchange_ = *exchange;
    const auto machines = context_.team.gather_text(machine());
    if (!machines) return machines.status();
    const int ranks = world_.size();
    for (int round = 0; round < ranks - 1 + ranks % 2; ++round) {
      for (const auto& part : parts_of(measure::pairs_of_round(ranks, round), *machines)) {
        if (Status done = measure(part); !done.ok()) return done;
      }
    }
    return {};
  }

 private:
  /// The limit for the others' part of a round, which is many calls; zero: no limit, as for calls.
  [[nodiscard]] std::chrono::milliseconds longest_wait() const {
    constexpr std::chrono::milliseconds kLeast = std::chrono::minutes(10);
    const std::chrono::milliseconds call(context_.settings.number("timeout_ms"));
    return call.count() > 0 ? std::max(kLeast, 10 * call) : call;
  }
  /// Waits in a blocking read of a socket; in a barrier of MPI ranks would spin while others
  /// measure. The watchdog is suspended meanwhile; the measuring pair has its own.
  Status meet(std::string next) {
    context_.watchdog.pause();
    const auto met = exchange_->broadcast("-");
    context_.watchdog.begin(std::move(next));
    return met.status();
  }
  [[nodiscard]] std::string name_of(int rank) const {
    return "rank " + std::to_string(rank) + " on " +
           context_.hosts.at(static_cast<std::size_t>(rank));
  }

  Status measure(const std::vector<measure::Pair>& part) {
    int partner = -1;
    for (const auto& [a, b] : part) {
      if (a == world_.rank()) partner = b;
      if (b == world_.rank()) partner = a;
    }
    const std::string what =
        partner < 0 ? "an exchange between other ranks"
                    : "send_recv of " + name_of(world_.rank()) + " with " + name_of(partner);
    if (Status met = meet(what); !met.ok()) return met;
    double mean = 0;
    if (partner >= 0) {
      if (Status done = time(partner, mean); !done.ok()) return done;
    }
    if (Status met = meet("gathering the results"); !met.ok()) return met;
    const auto all = context_.team.gather({mean});
    if (!all) return all.status();
    for (const auto& [a, b] : part) {
      const double slower =
          std::max((*all)[static_cast<std::size_t>(a)], (*all)[static_cast<std::size_t>(b)]);
      measure::Record record("pair");
      record.set("a", static_cast<double>(a)).set("b", static_cast<double>(b));
      record.set("bytes", static_cast<double>(bytes_)).set("mean", slower);
      write(context_, record);
    }
    return {};
  }

  Status time(int partner, double& mean) {
    Clock::time_point start = Clock::now();
    for (std::uint64_t i = 0; i < warmup_ + iterations_; ++i) {
      if (i == warmup_) start = Clock::now();
      Status done = world_.send_receive(send_.data(), partner, receive_.data(), partner,
                                        bytes_ / size_of(type_), type_);
      if (done.ok()) done = world_.synchronize();
      if (!done.ok()) return done;
      context_.watchdog.alive();
    }
    const std::chrono::duration<double, std::micro> whole = Clock::now() - start;
    mean = whole.count() / static_cast<double>(iterations_);
    return {};
  }

  Context& context_;
  Communicator& world_;
  const DataType type_;
  const std::uint64_t bytes_;  // each way, a multiple of the element size
  const std::uint64_t warmup_;
  const std::uint64_t iterations_;
  Buffer send_;
  Buffer receive_;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace

Status pairs_mode(Context& context) {
  return Pairs(context).run();
}

}  // namespace dlaunch::collectives
