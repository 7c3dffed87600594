// How much of the ranks' output the console view handles, and what the event log and the summary
// cost.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "launch/console/console_view.h"
#include "launch/console/console_writer.h"
#include "report/evidence.h"
#include "report/summary.h"
#include "runs/event_log.h"

namespace dlaunch {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

/// Lines of `width` bytes, including "\n" (or `end`).
std::string lines_of(std::size_t width, const std::string& end = "\n") {
  std::string line(width - end.size(), 'x');
  line += end;
  std::string text;
  while (text.size() < kChunk) text += line;
  text.resize(kChunk);
  return text;
}

void view_bytes(benchmark::State& state, ConsoleOptions options, const std::string& chunk) {
  ConsoleView view(options, {"node0:0", "node0:1"});
  std::string out;
  for (auto _ : state) {
    out.clear();
    view.add(Rank(1), Stream::out, chunk, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(chunk.size()) * state.iterations());
}

void view_plain(benchmark::State& state) {
  view_bytes(state, {false, false}, lines_of(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(view_plain)->Arg(100);

void view_prefix(benchmark::State& state) {
  view_bytes(state, {true, false}, lines_of(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(view_prefix)->Arg(20)->Arg(100)->Arg(1000);

void view_prefix_carriage_returns(benchmark::State& state) {
  view_bytes(state, {true, false}, lines_of(100, "\r"));
}
BENCHMARK(view_prefix_carriage_returns);

void view_prefix_no_line_end(benchmark::State& state) {
  view_bytes(state, {true, false}, std::string(kChunk, 'x'));
}
BENCHMARK(view_prefix_no_line_end);

/// The whole way to a pipe whose reader discards everything.
void writer_to_pipe(benchmark::State& state) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return state.SkipWithError("pipe2");
  std::thread reader([fd = ends[0]] {
    std::vector<char> buffer(kChunk);
    while (::read(fd, buffer.data(), buffer.size()) > 0) continue;
  });
  const std::string text = lines_of(100);
  {
    ConsoleWriter writer(ends[1], ends[1]);
    for (auto _ : state) {
      writer.write(Stream::out, text);
      if (writer.pending() > (std::size_t{4} << 20)) writer.drain(std::chrono::seconds(60));
    }
    writer.drain(std::chrono::seconds(60));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
}
BENCHMARK(writer_to_pipe)->UseRealTime();

void event_log_1000_events(benchmark::State& state) {
  const std::string path = "/tmp/dlaunch-bench-" + std::to_string(::getpid()) + ".jsonl";
  const WallTime now{std::chrono::seconds(1795208502)};
  for (auto _ : state) {
    Result<EventLog> log = EventLog::open(path);
    if (!log) return state.SkipWithError(log.error().message.c_str());
    for (std::uint32_t i = 0; i < 500; ++i) {
      log->add(event::RankStarted{Attempt(0), Rank(i), 4711, now}, now);
      log->add(event::RankExited{Attempt(0), Rank(i), ExitStatus{}, now}, now);
    }
    if (!log->flush()) return state.SkipWithError("flush");
    state.PauseTiming();
    ::unlink(path.c_str());
    state.ResumeTiming();
  }
}
BENCHMARK(event_log_1000_events)->Unit(benchmark::kMicrosecond);

void summary_of_1000_ranks(benchmark::State& state) {
  RunReport report;
  report.outcome.cause = Cause::exit_code;
  report.outcome.first = Rank(5);
  RankEnd end;
  end.how = RankEnd::How::stopped;
  end.started = end.ended = WallTime{std::chrono::seconds(1795208502)};
  report.ranks.assign(1000, end);
  const SummaryInput input{nullptr, report, "runs/x", {}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(summary_text(input));
    benchmark::DoNotOptimize(summary_json(input));
  }
}
BENCHMARK(summary_of_1000_ranks)->Unit(benchmark::kMicrosecond);

void evidence_in_64_kib(benchmark::State& state) {
  std::string tail = lines_of(100);
  tail += "\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: x\n";
  for (auto _ : state) benchmark::DoNotOptimize(find_evidence(tail));
}
BENCHMARK(evidence_in_64_kib)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace dlaunch

BENCHMARK_MAIN();
