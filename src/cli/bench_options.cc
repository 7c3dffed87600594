#include "cli/bench_options.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "dlaunch/collectives/types.h"
#include "measure/operation.h"
#include "measure/sizes.h"
#include "spec/nearest.h"
#include "spec/scalar.h"

namespace dlaunch {

namespace {

using measure::Operation;

constexpr std::uint32_t kMostIterations = 1'000'000;
constexpr const char* kPairsSize = "4M";
constexpr std::chrono::seconds kShortestTimeout{1};

tl::unexpected<Error> usage(const std::string& message) {
  return fail(exit_code::kUsage, message);
}

/// "--type flaot32: unknown, did you mean "float32"? There are int8, ...".
template <class Name>
tl::unexpected<Error> unknown(const std::string& what, std::size_t count, Name name) {
  std::vector<std::string_view> names;
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(name(i));
    all += (i > 0 ? ", " : "") + std::string(names.back());
  }
  const std::string word = what.substr(what.rfind(' ') + 1);
  const auto near = spec::nearest(word, names);
  return usage(what + ": unknown" + (near ? ", did you mean " + std::string(*near) + '?' : "") +
               "; there are " + all);
}

Result<Operation> read_operation(const BenchOptions& options) {
  const auto& all = measure::all_operations();
  if (options.pairs) {
    if (options.operation.empty() || options.operation == "send_recv") return Operation::send_recv;
    return usage("--pairs measures send_recv between two nodes at a time, not " +
                 options.operation);
  }
  if (const auto known = measure::operation_named(options.operation)) return *known;
  if (options.operation.empty()) {
    return usage(
        "no operation given; for example: dlaunch bench all_reduce\n"
        "         try: dlaunch bench --help");
  }
  return unknown("operation " + options.operation, all.size(),
                 [&](std::size_t i) { return name_of(all[i]); });
}

Result<collectives::DataType> read_type(const std::string& name) {
  using collectives::DataType;
  if (const auto known = collectives::data_type_named(name)) return *known;
  // nccl-tests' words.
  if (name == "float") return DataType::float32;
  if (name == "double") return DataType::float64;
  if (name == "half") return DataType::float16;
  return unknown("--type " + name, collectives::kDataTypeCount,
                 [](std::size_t i) { return collectives::name_of(static_cast<DataType>(i)); });
}

Result<collectives::ReduceOp> read_op(const std::string& name) {
  using collectives::ReduceOp;
  if (const auto known = collectives::reduce_op_named(name)) return *known;
  return unknown("--op " + name, collectives::kReduceOpCount,
                 [](std::size_t i) { return collectives::name_of(static_cast<ReduceOp>(i)); });
}

Result<std::uint64_t> read_bytes(const char* option, const std::optional<std::string>& text,
                                 const char* otherwise) {
  const auto size = measure::read_size(text.value_or(otherwise));
  if (!size) return usage(std::string(option) + ": " + size.error().message);
  return *size;
}

Result<measure::SizeSeries> read_series(const BenchOptions& options, std::uint64_t type_size) {
  const auto first = read_bytes("--min-bytes", options.min_bytes, options.pairs ? kPairsSize : "8");
  // A smallest size alone may be above the default for the largest.
  const std::string least = options.min_bytes.value_or("8");
  const auto last =
      read_bytes("--max-bytes", options.max_bytes, options.pairs ? least.c_str() : "64M");
  const auto step = read_bytes("--step-bytes", options.step_bytes, "0");
  for (const auto* size : {&first, &last, &step}) {
    if (!*size) return tl::unexpected(size->error());
  }
  measure::SizeSeries series{*first, *last, options.factor.value_or(2), *step};
  if (options.pairs) series.last = series.first;
  const auto sizes = measure::sizes_of(series, type_size);
  if (!sizes) return usage(sizes.error().message);
  series.last = sizes->back();  // --max-bytes may be between two sizes
  return series;
}

/// What has no effect was meant somehow.
Status check_meaning(const BenchOptions& options, Operation operation) {
  const std::string name(name_of(operation));
  if (options.op && !reduces(operation)) return usage("--op: " + name + " reduces nothing");
  if (options.root && !has_root(operation)) return usage("--root: " + name + " has no root");
  const bool sized = options.min_bytes || options.max_bytes || options.step_bytes ||
                     options.factor || options.type;
  if (sized && !has_size(operation))
    return usage(name + " moves no data: leave out --type and the options of sizes");
  if (options.step_bytes && options.factor)
    return usage("--step-bytes and --step-factor: give one of them");
  if (options.check && options.no_check) return usage("--check and --no-check: give one of them");
  if (options.pairs && (options.max_bytes || options.factor || options.step_bytes))
    return usage("--pairs measures one size: give it as --min-bytes");
  return {};
}

Result<std::uint64_t> read_timeout(const std::optional<std::string>& text) {
  if (!text) return std::uint64_t{60'000};
  const auto limit = spec::parse_duration(*text);
  if (!limit || *limit < kShortestTimeout)
    return usage("--timeout " + *text + ": expected a time of 1s or more, for example 30s or 5m");
  return static_cast<std::uint64_t>(limit->count());
}

Result<MeasureBackend> read_backend(const std::string& name) {
  if (name == "auto") return MeasureBackend::automatic;
  if (name == "mpi") return MeasureBackend::mpi;
  if (name == "nccl") return MeasureBackend::nccl;
  return usage("--backend " + name + ": expected auto, mpi or nccl");
}

}  // namespace

void add_bench_options(CommandOptions command, BenchOptions& options) {
  command.positional("OPERATION", options.operation,
                     "all_reduce, all_gather, reduce_scatter, broadcast,\nreduce, all_to_all, "
                     "send_recv or barrier");
  command.value("-b,--min-bytes", options.min_bytes, "Smallest size, as 8 or 64K (default: 8)",
                "SIZE");
  command.value("-e,--max-bytes", options.max_bytes, "Largest size, as 1M or 4G (default: 64M)",
                "SIZE");
  command.number("-f,--step-factor", options.factor, "From size to size, times N (default: 2)",
                 "N");
  command.value("-i,--step-bytes", options.step_bytes, "Or so many bytes more", "SIZE");
  command.number("-N,--iterations,--iters", options.iterations,
                 "Timed calls of each size (default: 20)", "N");
  command.number("-w,--warmup,--warmup-iters", options.warmup,
                 "Calls before them that are not timed (default: 5)", "N");
  command.value("--type", options.type, "Of the elements, as bfloat16 (default: float32)", "TYPE");
  command.value("--op", options.op, "sum, prod, min, max or avg (default: sum)", "OP");
  command.number("--root", options.root, "Of broadcast and reduce (default: 0)", "RANK");
  command.flag("--check", options.check, "Compare every element with what it has to be\n(default)");
  command.flag("--no-check", options.no_check, "Leave that out");
  command.value("--backend", options.backend,
                "What to measure (default: auto: NCCL where\nevery node has a GPU, else MPI)",
                "auto|mpi|nccl");
  command.value("--timeout", options.timeout, "For one call (default: 60s)", "TIME");
  command.flag("--pairs", options.pairs,
               "Every two nodes by themselves, to find a slow\nlink: one size, --min-bytes "
               "(default: 4M)");
}

Result<BenchWish> read_bench_options(const BenchOptions& options) {
  const auto operation = read_operation(options);
  if (!operation) return tl::unexpected(operation.error());
  const auto type = read_type(options.type.value_or("float32"));
  if (!type) return tl::unexpected(type.error());
  const auto op = read_op(options.op.value_or("sum"));
  if (!op) return tl::unexpected(op.error());
  if (const Status status = check_meaning(options, *operation); !status)
    return tl::unexpected(status.error());
  const auto backend = read_backend(options.backend);
  if (!backend) return tl::unexpected(backend.error());
  const auto timeout = read_timeout(options.timeout);
  if (!timeout) return tl::unexpected(timeout.error());
  BenchWish wish;
  wish.type_size = collectives::size_of(*type);
  const auto series = read_series(options, wish.type_size);
  if (!series) return tl::unexpected(series.error());
  const std::uint32_t iterations = options.iterations.value_or(20);
  if (iterations < 1 || iterations > kMostIterations)
    return usage("--iterations " + std::to_string(iterations) + ": expected 1 to 1000000");
  wish.mode = options.pairs ? "pairs" : "bench";
  wish.backend = *backend;
  wish.root = options.root.value_or(0);
  wish.most_bytes = has_size(*operation) ? series->last : 0;
  measure::BenchHeader& header = wish.header;
  header.operation = *operation;
  header.type = has_size(*operation) ? std::string(collectives::name_of(*type)) : "-";
  header.op = reduces(*operation) ? std::string(collectives::name_of(*op)) : "";
  header.root = has_root(*operation) ? static_cast<std::int64_t>(wish.root) : -1;
  header.warmup = options.warmup.value_or(5);
  header.iterations = iterations;
  wish.settings.set("operation", std::string(name_of(*operation)))
      .set("type", std::string(collectives::name_of(*type)))
      .set("op", std::string(collectives::name_of(*op)))
      .set("first", series->first)
      .set("last", series->last)
      .set("factor", series->factor)
      .set("step", series->step)
      .set("root", wish.root)
      .set("warmup", header.warmup)
      .set("iterations", header.iterations)
      .set("check", options.no_check ? 0 : 1)
      .set("timeout_ms", *timeout);
  return wish;
}

Status check_ranks(const BenchWish& wish, std::uint32_t ranks) {
  const Operation operation = wish.header.operation;
  if (wish.mode == "pairs" && ranks < 2)
    return usage("--pairs needs two ranks, and there is one: give more hosts, or -n 2");
  if (has_root(operation) && wish.root >= ranks) {
    return usage("--root " + std::to_string(wish.root) + ": there are " + std::to_string(ranks) +
                 " ranks, counted from 0");
  }
  if (has_size(operation) && count_of(operation, wish.most_bytes, wish.type_size, ranks) == 0) {
    return usage("the largest size, " + measure::short_size(wish.most_bytes) +
                 " bytes, is less than one element of " + wish.header.type + " for each of " +
                 std::to_string(ranks) + " ranks");
  }
  return {};
}

Status check_mpi_size(const BenchWish& wish, std::uint32_t ranks) {
  const Operation operation = wish.header.operation;
  const std::uint64_t largest =
      largest_size(operation, collectives::kMostElementsOfMpi, wish.type_size, ranks);
  const std::uint64_t count = count_of(operation, wish.most_bytes, wish.type_size, ranks);
  if (size_of_count(operation, count, wish.type_size, ranks) <= largest) return {};
  const std::string type(wish.header.type);
  return usage("a size of " + measure::short_size(wish.most_bytes) + " is " +
               std::to_string(wish.most_bytes / wish.type_size) + " elements of " + type +
               ", and MPI takes at most " + std::to_string(collectives::kMostElementsOfMpi) +
               " in one call: with " + type + " the largest size is " + std::to_string(largest) +
               " bytes; --backend nccl has no such limit");
}

std::uint64_t bytes_per_rank(const BenchWish& wish, std::uint32_t ranks) {
  const auto operation = wish.header.operation;
  const std::uint64_t count = count_of(operation, wish.most_bytes, wish.type_size, ranks);
  const auto sizes = buffer_sizes(operation, count, wish.type_size, ranks);
  return has_out_of_place(operation) ? sizes.send + sizes.receive : sizes.receive;
}

}  // namespace dlaunch
