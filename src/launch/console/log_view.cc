#include "launch/console/log_view.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "model/time.h"
#include "os/clock.h"
#include "os/folder_watch.h"
#include "os/proc_file.h"
#include "text/output_times.h"

namespace dlaunch {

namespace {

/// How often to look for a state that no file shows, such as an engine that was killed.
constexpr std::chrono::milliseconds kLook{1000};
/// Pause between reads, so that ranks that print without a pause are not read byte by byte.
constexpr std::chrono::milliseconds kPause{20};
/// Ends a view whose reader has exited; not an exit code.
constexpr int kReaderGone = -1;
/// As wide as a time.
constexpr const char* kNoTime = "(no time recorded)         ";

/// For a lost run whose ranks were on other nodes.
void say_where_output_is(const RunView& run) {
  if (run.left.empty()) return;
  std::fprintf(stderr,
               "dlaunch: the launcher of run %s was killed; output it had not collected is on the "
               "nodes:\n%s",
               run.id.c_str(), left_text(run.left).c_str());
}

/// A reader that exits is not an error.
Status without_reader(Status status) {
  return status || status.error().exit_code == kReaderGone ? Status() : status;
}

std::string folder_of(const RunView& run, std::uint32_t attempt) {
  return run.path + "/attempt-" + std::to_string(attempt);
}

}  // namespace

void say_no_output(const RunView& run) {
  std::string state = name_of(run.state);
  if (run.witness.ending && run.witness.ending->exit_code != 0)
    state += ", exit " + std::to_string(run.witness.ending->exit_code);
  std::fprintf(stderr, "dlaunch: no output%s (run %s: %s)\n", is_live(run.state) ? " yet" : "",
               run.id.c_str(), state.c_str());
}

LogView::LogView(const RunView& run, LogSelection selection, std::vector<std::string> labels)
    : run_(run), selection_(std::move(selection)), labels_(std::move(labels)) {
  std::signal(SIGPIPE, SIG_IGN);
  options_.prefix = selection_.ranks.size() > 1;
  options_.colour = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 &&
                    std::getenv("NO_COLOR") == nullptr;
}

Status LogView::show() {
  begin_attempt(first_attempt());
  Status status = skip();
  if (status && selection_.timestamps) status = read_by_time();
  time_.clear();  // what follows has no recorded time
  for (RankStream& stream : streams_) {
    if (status) status = read_all(stream);
  }
  if (status) status = finish_timed();
  if (status && !has_written_ && selection_.tail.value_or(1) > 0) say_no_output(run_);
  if (status) say_where_output_is(run_);
  return without_reader(std::move(status));
}

Status LogView::follow() {
  begin_attempt(first_attempt());
  Status status = skip();
  if (status && selection_.timestamps) status = read_by_time();
  if (status) status = follow_until_end();
  return without_reader(std::move(status));
}

Status LogView::follow_until_end() {
  follows_ = true;
  FolderWatch watch;
  watch.add(run_.path);
  watch.add(folder_of(run_, attempt_));
  for (;;) {
    // State first, then files, so that what the engine wrote before it ended is read.
    const auto seen = read_run_state(run_.path);
    const bool ended = seen && !is_live(seen->state) && seen->state != RunState::unknown;
    const auto next = next_attempt();
    auto news = read_round();
    while (news && *news) news = read_round();
    if (!news) return tl::unexpected(news.error());
    if (next) {
      if (const Status finished = finish_attempt(); !finished) return finished;
      std::fprintf(stderr, "dlaunch: attempt %u\n", *next);
      begin_attempt(*next);
      watch.add(folder_of(run_, attempt_));
      continue;
    }
    if (!seen) return tl::unexpected(seen.error());
    if (!ended) {
      watch.wait(kLook);
      ::poll(nullptr, 0, kPause.count());
      continue;
    }
    if (const Status finished = finish_attempt(); !finished) return finished;
    std::fprintf(stderr, "dlaunch: run %s %s\n", seen->id.c_str(), state_text(*seen).c_str());
    if (const auto whole = read_run(run_.path)) say_where_output_is(*whole);
    return {};
  }
}

void LogView::begin_attempt(std::uint32_t attempt) {
  attempt_ = attempt;
  streams_.clear();
  const std::string folder = folder_of(run_, attempt);
  for (const std::uint32_t rank : selection_.ranks) {
    if (selection_.out) streams_.emplace_back(folder, Rank(rank), Stream::out);
    if (selection_.err) streams_.emplace_back(folder, Rank(rank), Stream::err);
  }
  view_.emplace(options_, labels_);
  timed_.clear();
  timed_.resize(streams_.size());
}

namespace {

/// The time marks of an attempt, merged from its two files.
class Marks {
 public:
  explicit Marks(const std::string& folder)
      : readers_{OutputTimesReader(read_proc_file(folder + "/local.times", kMostTimes)),
                 OutputTimesReader(read_proc_file(folder + "/remote.times", kMostTimes))},
        heads_{readers_[0].next(), readers_[1].next()} {}

  std::optional<OutputMark> next() {
    const bool second = heads_[1] && (!heads_[0] || heads_[1]->at < heads_[0]->at);
    return std::exchange(heads_[second ? 1 : 0], readers_[second ? 1 : 0].next());
  }

 private:
  static constexpr std::size_t kMostTimes = std::size_t{1} << 30;
  std::array<OutputTimesReader, 2> readers_;
  std::array<std::optional<OutputMark>, 2> heads_;
};

}  // namespace

Status LogView::read_by_time() {
  std::map<std::uint64_t, std::size_t> wanted;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const RankStream& stream = streams_[i];
    wanted[2 * std::uint64_t{stream.rank().value} + (stream.stream() == Stream::err ? 1 : 0)] = i;
  }
  Marks marks(folder_of(run_, attempt_));
  while (const auto mark = marks.next()) {
    const auto found = wanted.find(mark->stream);
    if (found == wanted.end()) continue;
    time_ = time_text(WallTime(std::chrono::milliseconds(mark->at)));
    RankStream& stream = streams_[found->second];
    while (stream.offset() < mark->end) {
      const auto bytes = stream.next(mark->end);
      if (!bytes) return tl::unexpected(bytes.error());
      if (bytes->empty()) break;
      if (Status printed = print_timed(found->second, *bytes); !printed) return printed;
    }
  }
  return {};
}

std::string LogView::timed_line(std::size_t index, std::string_view line) const {
  std::string text = timed_[index].time.empty() ? kNoTime : timed_[index].time;
  text += ' ';
  if (options_.prefix) text += labels_[streams_[index].rank().value] + " | ";
  return text.append(line).append(1, '\n');
}

Status LogView::print_timed(std::size_t index, std::string_view bytes) {
  TimedStream& timed = timed_[index];
  timed.time = time_;
  std::string text;
  timed.lines.add(
      bytes, [&](std::string_view line, bool /*continues*/) { text += timed_line(index, line); });
  return write(streams_[index].stream(), text);
}

/// Prints what is left without a newline, such as progress bars.
Status LogView::finish_timed() {
  for (std::size_t i = 0; i < timed_.size(); ++i) {
    std::string text;
    timed_[i].lines.finish(
        [&](std::string_view line, bool /*continues*/) { text += timed_line(i, line); });
    if (Status printed = write(streams_[i].stream(), text); !printed) return printed;
  }
  return {};
}

Status LogView::skip() {
  if (!selection_.tail) return {};
  for (RankStream& stream : streams_) {
    if (Status skipped = stream.skip_to_last(*selection_.tail); !skipped) return skipped;
  }
  return {};
}

Result<bool> LogView::read_round() {
  bool news = false;
  for (RankStream& stream : streams_) {
    const auto bytes = stream.next();
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) continue;
    news = true;
    if (const Status printed = print(stream, *bytes); !printed)
      return tl::unexpected(printed.error());
  }
  return news;
}

Status LogView::read_all(RankStream& stream) {
  for (;;) {
    const auto bytes = stream.next();
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) break;
    if (Status printed = print(stream, *bytes); !printed) return printed;
  }
  std::string text;
  view_->finish(stream.rank(), stream.stream(), text);
  return write(stream.stream(), text);
}

Status LogView::finish_attempt() {
  if (selection_.timestamps) return finish_timed();
  for (const RankStream& stream : streams_) {
    std::string text;
    view_->finish(stream.rank(), stream.stream(), text);
    if (Status written = write(stream.stream(), text); !written) return written;
  }
  return {};
}

Status LogView::print(RankStream& stream, std::string_view bytes) {
  if (selection_.timestamps) {
    if (follows_) time_ = time_text(wall_now());
    return print_timed(static_cast<std::size_t>(&stream - streams_.data()), bytes);
  }
  if (!options_.prefix) return write(stream.stream(), bytes);
  std::string text;
  view_->add(stream.rank(), stream.stream(), bytes, text);
  return write(stream.stream(), text);
}

Status LogView::write(Stream stream, std::string_view text) {
  const int fd = stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO;
  has_written_ = has_written_ || !text.empty();
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EPIPE) {
      return fail(kReaderGone, "");
    } else if (errno != EINTR) {
      return fail_errno(exit_code::kInternal, "cannot write", errno);
    }
  }
  return {};
}

std::uint32_t LogView::first_attempt() const {
  if (selection_.attempt) return *selection_.attempt;
  const auto attempts = attempts_of(run_.path);
  return attempts.empty() ? 0 : attempts.back();
}

std::optional<std::uint32_t> LogView::next_attempt() const {
  if (selection_.attempt) return std::nullopt;
  for (const std::uint32_t attempt : attempts_of(run_.path)) {
    if (attempt > attempt_) return attempt;
  }
  return std::nullopt;
}

}  // namespace dlaunch
