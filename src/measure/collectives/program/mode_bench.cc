// The mode "bench": one operation at a series of sizes, as nccl-tests measures it. For each size,
// out of place and in place: a checked call, warm-up calls, then `iterations` calls between two
// barriers.
#include <chrono>
#include <string>
#include <utility>

#include "measure/collectives/program/checked_buffers.h"
#include "measure/collectives/program/mode.h"
#include "measure/figures/operation.h"
#include "measure/figures/sizes.h"

namespace dlaunch::collectives {

namespace {

using Clock = std::chrono::steady_clock;
using measure::Operation;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// What is measured.
struct Wanted {
  Operation operation = Operation::all_reduce;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::uint64_t warmup = 5;
  std::uint64_t iterations = 20;
  bool check = true;
  std::vector<std::uint64_t> sizes;
};

Result<Wanted> read(const measure::Settings& settings) {
  const auto operation = measure::operation_named(settings.text("operation"));
  const auto type = data_type_named(settings.text("type", "float32"));
  const auto op = reduce_op_named(settings.text("op", "sum"));
  if (!operation || !type || !op)
    return Status(Code::invalid_argument, "bench: unknown operation, type or op");
  Wanted wanted{*operation,
                *type,
                *op,
                static_cast<int>(settings.number("root")),
                settings.number("warmup", 5),
                settings.number("iterations", 20),
                settings.flag("check"),
                {0}};
  if (!has_size(*operation)) return wanted;
  const measure::SizeSeries series{settings.number("first"), settings.number("last"),
                                   static_cast<std::uint32_t>(settings.number("factor", 2)),
                                   settings.number("step")};
  auto sizes = measure::sizes_of(series, size_of(*type));
  if (!sizes) return Status(Code::invalid_argument, sizes.error().message);
  wanted.sizes = std::move(*sizes);
  return wanted;
}

enum class Buffers : std::uint8_t { out_of_place, in_place };

/// One call of the series: where its buffers are.
struct Call {
  std::uint64_t count = 0;
  char* send = nullptr;
  char* receive = nullptr;
};

class Bench {
 public:
  Bench(Context& context, Wanted wanted)
      : context_(context),
        world_(context.team.world()),
        memory_(context.team.memory()),
        wanted_(std::move(wanted)),
        width_(size_of(wanted_.type)),
        ranks_(static_cast<std::uint32_t>(world_.size())) {}

  Status run() {
    if (Status ready = allocate(); !ready.ok()) return ready;
    bool any = false;
    std::uint64_t last = 0;
    for (const std::uint64_t bytes : wanted_.sizes) {
      const std::uint64_t count = count_of(wanted_.operation, bytes, width_, ranks_);
      const bool is_new = count > 0 && count != last;
      if (has_size(wanted_.operation) && !is_new) continue;
      last = count;
      any = true;
      if (Status done = measure_size(count); !done.ok()) return done;
    }
    if (any) return {};
    return {Code::invalid_argument, "the largest size is less than one element for each of " +
                                        std::to_string(ranks_) + " ranks"};
  }

 private:
  Status allocate() {
    const std::uint64_t most = count_of(wanted_.operation, wanted_.sizes.back(), width_, ranks_);
    const auto sizes = buffer_sizes(wanted_.operation, most, width_, ranks_);
    send_ = Buffer(memory_, has_out_of_place(wanted_.operation) ? sizes.send : 0);
    receive_ = Buffer(memory_, sizes.receive);
    const bool missing = (send_.size() > 0 && send_.data() == nullptr) ||
                         (receive_.size() > 0 && receive_.data() == nullptr);
    const auto anywhere = context_.team.max({missing ? 1.0 : 0.0});
    if (!anywhere) return anywhere.status();
    if (anywhere->front() == 0) return {};
    return {Code::unavailable, "not enough memory for buffers of " +
                                   measure::short_size(sizes.send + sizes.receive) + " bytes"};
  }

  /// The buffers of a call; if in place, by the rule of each operation in communicator.h.
  [[nodiscard]] Call call_of(std::uint64_t count, Buffers buffers) const {
    if (buffers == Buffers::out_of_place) return {count, send_.data(), receive_.data()};
    const std::size_t part = static_cast<std::size_t>(world_.rank()) * count * width_;
    switch (wanted_.operation) {
      case Operation::all_gather:
        return {count, receive_.data() + part, receive_.data()};
      case Operation::reduce_scatter:
        return {count, send_.data(), send_.data() + part};
      default:
        return {count, receive_.data(), receive_.data()};
    }
  }

  Status begin(const Call& call) {
    const int own = world_.rank();
    const int ranks = world_.size();
    switch (wanted_.operation) {
      case Operation::all_reduce:
        return world_.all_reduce(call.send, call.receive, call.count, wanted_.type, wanted_.op);
      case Operation::all_gather:
        return world_.all_gather(call.send, call.receive, call.count, wanted_.type);
      case Operation::reduce_scatter:
        return world_.reduce_scatter(call.send, call.receive, call.count, wanted_.type, wanted_.op);
      case Operation::broadcast:
        return world_.broadcast(call.receive, call.count, wanted_.type, wanted_.root);
      case Operation::reduce:
        return world_.reduce(call.send, call.receive, call.count, wanted_.type, wanted_.op,
                             wanted_.root);
      case Operation::all_to_all:
        return world_.all_to_all(call.send, call.receive, call.count, wanted_.type);
      case Operation::send_recv:
        return world_.send_receive(call.send, (own + 1) % ranks, call.receive,
                                   (own + ranks - 1) % ranks, call.count, wanted_.type);
      case Operation::barrier:
        return world_.barrier();
    }
    return {};
  }

  Status begin_and_wait(const Call& call) {
    Status done = begin(call);
    return done.ok() ? world_.synchronize() : done;
  }

  Status measure_size(std::uint64_t count) {
    const std::uint64_t bytes = size_of_count(wanted_.operation, count, width_, ranks_);
    measure::Record row("size");
    row.set("bytes", static_cast<double>(bytes)).set("count", static_cast<double>(count));
    context_.watchdog.begin(
        std::string(name_of(wanted_.operation)) +
        (has_size(wanted_.operation) ? " of " + measure::short_size(bytes) : ""));
    for (const Buffers buffers : {Buffers::out_of_place, Buffers::in_place}) {
      const bool has_it = buffers == Buffers::in_place ? has_in_place(wanted_.operation)
                                                       : has_out_of_place(wanted_.operation);
      if (!has_it) continue;
      const std::string prefix = buffers == Buffers::in_place ? "in_" : "out_";
      if (Status done = measure_call(call_of(count, buffers), prefix, row); !done.ok()) return done;
    }
    write(context_, row);
    return {};
  }

  Status measure_call(const Call& call, const std::string& prefix, measure::Record& row) {
    if (wanted_.check && has_size(wanted_.operation)) {
      const auto wrong = check(call);
      if (!wrong) return wrong.status();
      row.set(prefix + "wrong", static_cast<double>(*wrong));
    }
    for (std::uint64_t i = 0; i < wanted_.warmup; ++i) {
      if (Status done = begin_and_wait(call); !done.ok()) return done;
      context_.watchdog.alive();
    }
    std::vector<double> times;  // of each call, then the mean of all
    if (Status done = time(call, times); !done.ok()) return done;
    const auto slowest = context_.team.max(times);
    if (!slowest) return slowest.status();
    times = *slowest;
    row.set(prefix + "mean", times.back());
    times.pop_back();
    row.set(prefix + "times", std::move(times));
    return {};
  }

  /// The mean is over back-to-back calls, as nccl-tests times them. On a GPU these overlap, so the
  /// time of each call is measured in a second round.
  Status time(const Call& call, std::vector<double>& times) {
    times.reserve(wanted_.iterations + 1);
    const bool is_asynchronous = world_.takes_device_buffers() && memory_.is_device();
    if (Status met = context_.team.barrier(); !met.ok()) return met;
    const Clock::time_point start = Clock::now();
    Clock::time_point before = start;
    for (std::uint64_t i = 0; i < wanted_.iterations; ++i) {
      if (Status done = begin(call); !done.ok()) return done;
      context_.watchdog.alive();
      if (is_asynchronous) continue;
      const Clock::time_point now = Clock::now();
      times.push_back(microseconds(now - before));
      before = now;
    }
    if (Status done = world_.synchronize(); !done.ok()) return done;
    const double mean =
        microseconds(Clock::now() - start) / static_cast<double>(wanted_.iterations);
    while (times.size() < wanted_.iterations) {
      before = Clock::now();
      if (Status done = begin_and_wait(call); !done.ok()) return done;
      context_.watchdog.alive();
      times.push_back(microseconds(Clock::now() - before));
    }
    times.push_back(mean);
    return {};
  }

  /// The number of wrong elements at all ranks after one call.
  Result<std::uint64_t> check(const Call& call) {
    const CheckedCall checked{wanted_.operation, world_.rank(), world_.size(), wanted_.root,
                              call.count};
    const Pattern pattern(wanted_.type, wanted_.op, world_.size(), ++calls_);
    const auto sizes = buffer_sizes(wanted_.operation, call.count, width_, ranks_);
    const Progress alive = [this] { context_.watchdog.alive(); };
    char* input = wanted_.operation == Operation::broadcast ? call.receive : call.send;
    Status done = spoil(memory_, call.receive, sizes.receive, alive);
    if (done.ok()) done = fill(memory_, input, wanted_.type, pattern, inputs(checked), alive);
    if (done.ok()) done = context_.team.barrier();
    if (done.ok()) done = begin_and_wait(call);
    if (!done.ok()) return done;
    context_.watchdog.alive();
    const auto mine =
        compare(memory_, call.receive, wanted_.type, pattern, outputs(checked), alive);
    if (!mine) return mine.status();
    const auto all = context_.team.sum({static_cast<double>(*mine)});
    if (!all) return all.status();
    context_.watchdog.alive();
    return static_cast<std::uint64_t>(all->front());
  }

  Context& context_;
  Communicator& world_;
  Memory& memory_;
  const Wanted wanted_;
  const std::size_t width_;
  const std::uint32_t ranks_;
  Buffer send_;
  Buffer receive_;
  std::uint64_t calls_ = 0;  // checked ones
};

}  // namespace

Status bench_mode(Context& context) {
  auto wanted = read(context.settings);
  if (!wanted) return wanted.status();
  return Bench(context, std::move(*wanted)).run();
}

}  // namespace dlaunch::collectives
