#include "launch/output/output_router.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "os/clock.h"
#include "os/terminal.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

// Above this the console is behind, and no stream gets new credit.
constexpr std::size_t kConsoleRoom = std::size_t{1} << 20;
// All windows together, and the limits of each one.
constexpr std::size_t kAllWindows = std::size_t{16} << 20;
constexpr std::size_t kMinWindow = std::size_t{16} << 10;
constexpr std::size_t kMaxWindow = std::size_t{512} << 10;

// Bars on a terminal are drawn ten times a second. Elsewhere a bar is one line when it is complete,
// and every ten seconds one that says how far it is.
constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kSettle{1};
constexpr std::uint32_t kShowStatesEvery = 10;

// Sources of RecentLines that are not streams.
constexpr std::size_t kOwnLines = std::string::npos;
constexpr std::size_t kMergedLines = kOwnLines - 1;
constexpr std::size_t kLooked = std::size_t{64} << 10;

std::size_t index_of(Rank rank, Stream stream) {
  return 2 * std::size_t{rank.value} + (stream == Stream::err ? 1 : 0);
}

Rank rank_of(std::size_t index) {
  return Rank(static_cast<std::uint32_t>(index / 2));
}

Stream stream_of(std::size_t index) {
  return index % 2 == 0 ? Stream::out : Stream::err;
}

}  // namespace

OutputRouter::OutputRouter(EventLoop& loop, ConsoleWriter& writer, Grant grant)
    : writer_(writer),
      grant_(std::move(grant)),
      progress_(loop, duplicate(writer.progress_fd())),
      bars_(loop),
      merge_(loop) {}

void OutputRouter::begin(Settings settings) {
  if (view_) flush_partial_lines();
  held_.clear();
  settings_ = std::move(settings);
  streams_.assign(2 * settings_.labels.size(), {});
  owed_.clear();
  open_streams_ = 0;
  passing_.clear();
  for (std::uint32_t rank = 0; rank < settings_.labels.size(); ++rank)
    passing_.push_back(is_shown(Rank(rank)) ||
                       (rank < settings_.followed.size() && settings_.followed[rank]));
  const auto count = static_cast<std::size_t>(std::count(passing_.begin(), passing_.end(), true));
  const std::size_t share = kAllWindows / std::max<std::size_t>(2 * count, 1);
  window_ = count == 0 ? 0 : static_cast<std::uint32_t>(std::clamp(share, kMinWindow, kMaxWindow));
  view_ = std::make_unique<ConsoleView>(settings_.console, settings_.labels);
  if (settings_.live && settings_.prompts_of && is_shown(*settings_.prompts_of))
    view_->show_prompts_of(*settings_.prompts_of);
}

std::uint32_t OutputRouter::first_credit() const {
  return window_;
}

OutputRouter::StreamState& OutputRouter::state(Rank rank, Stream stream) {
  return streams_[index_of(rank, stream)];
}

bool OutputRouter::is_shown(Rank rank) const {
  return !settings_.labels[rank.value].empty();
}

std::string OutputRouter::file_of(Rank rank, Stream stream) const {
  return settings_.folder + "/rank-" + std::to_string(rank.value) +
         (stream == Stream::out ? ".out" : ".err");
}

void OutputRouter::expect(Rank rank) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    StreamState& expected = state(rank, stream);
    if (expected.open) continue;
    expected.open = true;
    expected.granted = passing_[rank.value] ? window_ : 0;
    ++open_streams_;
  }
}

bool OutputRouter::has_all_known(Rank rank, Stream stream) const {
  const std::size_t index = index_of(rank, stream);
  if (index >= streams_.size() || !passing_[rank.value] || streams_[index].unwanted) return false;
  return streams_[index].received < streams_[index].granted;
}

void OutputRouter::give_up(Rank rank) {
  for (const Stream stream : {Stream::out, Stream::err}) close(rank, stream);
}

void OutputRouter::add(const wire::OutputData& data) {
  const std::size_t index = index_of(data.rank, data.stream);
  if (data.attempt != settings_.attempt || index >= streams_.size()) return;
  StreamState& stream = streams_[index];
  received_ += data.bytes.size();
  if (stream.unwanted) return;  // it was sent before the agent was told to stop
  if (must_wait(data.rank)) {
    held_.push_back({data.rank, data.stream, data.offset, std::string(data.bytes)});
    return;
  }
  take(data);
  if (!held_.empty() && !view_->has_prompt()) release_held();
}

bool OutputRouter::must_wait(Rank rank) const {
  return settings_.holds_others && rank != settings_.prompts_of && is_shown(rank) &&
         (view_->has_prompt() || !held_.empty());
}

void OutputRouter::release_held() {
  for (const Held& held : std::exchange(held_, {}))
    take({settings_.attempt, held.rank, held.stream, held.offset, held.bytes});
}

void OutputRouter::take(const wire::OutputData& data) {
  const std::size_t index = index_of(data.rank, data.stream);
  StreamState& stream = streams_[index];
  if (stream.unwanted) return;
  if (is_shown(data.rank)) show(data);
  stream.received = data.offset + data.bytes.size();
  if (!stream.owed && stream.granted - std::min(stream.granted, stream.received) < window_ / 2) {
    stream.owed = true;
    owed_.push_back(index);
  }
  grant_owed();
}

void OutputRouter::show(const wire::OutputData& data) {
  note_time();
  std::string text = writer_.take_buffer(data.stream);
  text.reserve(data.bytes.size() + data.bytes.size() / 4);
  mark_gap(data.rank, data.stream, data.offset, text);
  view_->add(data.rank, data.stream, data.bytes, text);
  count_lines(index_of(data.rank, data.stream), data.stream, text);
  put(data.stream, std::move(text));
  put_merged();
  bars_may_have_changed();
}

void OutputRouter::answered() {
  if (!view_ || !view_->answered()) return;
  live_ = {};  // it stays on the screen, and new output begins below it
  release_held();
}

void OutputRouter::end(const wire::OutputEnd& end) {
  if (end.attempt != settings_.attempt || index_of(end.rank, end.stream) >= streams_.size()) return;
  release_held();  // above the prompt
  StreamState& stream = state(end.rank, end.stream);
  if (stream.open && is_shown(end.rank)) {
    note_time();
    std::string text;
    if (stream.unwanted) {
      stream.skipped += end.size - std::min(end.size, stream.received);
    } else {
      mark_gap(end.rank, end.stream, end.size, text);
    }
    put(end.stream, std::move(text));
  }
  close(end.rank, end.stream);
}

void OutputRouter::mark_gap(Rank rank, Stream stream, std::uint64_t up_to, std::string& text) {
  StreamState& known = state(rank, stream);
  if (!known.open || up_to <= known.received) return;
  std::uint64_t gap = up_to - known.received;
  std::string mark = "[... " + std::to_string(gap) + " bytes lost]";
  if (known.skips) {
    gap += view_->drop_partial(rank, stream);
    mark = "[... " + size_text(gap) + " skipped, complete in " + file_of(rank, stream) + "]";
  }
  known.skips = false;
  view_->add_note(rank, stream, mark, text);
}

void OutputRouter::close(Rank rank, Stream stream) {
  StreamState& closed = state(rank, stream);
  if (!closed.open) return;
  closed.open = false;
  --open_streams_;
  std::string text;
  note_time();
  view_->finish(rank, stream, text);
  put(stream, std::move(text));
  put_merged();
  take_bars_away();
}

void OutputRouter::flush_partial_lines() {
  release_held();
  for (std::uint32_t rank = 0; 2 * std::size_t{rank} < streams_.size(); ++rank) give_up(Rank(rank));
  flush_merged();
}

void OutputRouter::cut_off() {
  release_held();
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    StreamState& cut = streams_[index];
    if (!cut.open) continue;
    const Rank rank = rank_of(index);
    const Stream stream = stream_of(index);
    if (is_shown(rank) && !cut.unwanted) {
      std::string text;
      note_time();
      view_->drop_partial(rank, stream);
      view_->add_note(rank, stream, "[... the rest is in " + file_of(rank, stream) + "]", text);
      put(stream, std::move(text));
    }
    cut.unwanted = true;
    close(rank, stream);
  }
}

void OutputRouter::grant_owed() {
  if (owed_.empty()) return;
  // Progress reports are requested before the first look, so that no progress is missed.
  writer_.ask_progress();
  const std::array<bool, 2> full{writer_.pending(Stream::out) > kConsoleRoom,
                                 writer_.pending(Stream::err) > kConsoleRoom};
  find_stalls();
  const auto kept = std::partition(owed_.begin(), owed_.end(),
                                   [&](std::size_t index) { return !full[index % 2]; });
  for (auto at = owed_.begin(); at != kept; ++at) grant(*at);
  owed_.erase(owed_.begin(), kept);
  if (!owed_.empty()) wait_for_progress();
}

void OutputRouter::grant(std::size_t index) {
  StreamState& stream = streams_[index];
  stream.owed = false;
  if (stream.unwanted) return;
  stream.granted = stream.received + window_;
  wire::OutputCredit credit{settings_.attempt, rank_of(index), stream_of(index), stream.granted};
  if (stream.skips) credit.keep_last = window_;
  grant_(credit);
}

/// A console that was stuck for long continues near the end: an hour of old output would hide the
/// current state.
void OutputRouter::find_stalls() {
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (writer_.broken(stream)) drop_broken(stream);
    if (!writer_.has_stalled(stream)) continue;
    for (const std::size_t index : owed_)
      streams_[index].skips |= stream_of(index) == stream || writer_.is_one_file();
  }
}

void OutputRouter::drop_broken(Stream stream) {
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    if (stream_of(index) == stream && streams_[index].open) want_no_more(index);
  }
}

void OutputRouter::want_no_more(std::size_t index) {
  StreamState& stream = streams_[index];
  if (stream.unwanted || !is_shown(rank_of(index))) return;
  stream.unwanted = true;
  grant_({settings_.attempt, rank_of(index), stream_of(index), stream.granted, 0});
}

void OutputRouter::skip_rest(Stream stream) {
  flush_merged();
  discarded_ += writer_.discard(stream);
  live_ = {};
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    const bool goes_there = stream_of(index) == stream || writer_.is_one_file();
    if (goes_there && streams_[index].open) want_no_more(index);
  }
}

std::string OutputRouter::skipped_text() const {
  std::uint64_t bytes = discarded_;
  std::size_t streams = 0;
  std::size_t last = 0;
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    if (streams_[index].skipped == 0) continue;
    bytes += streams_[index].skipped;
    ++streams;
    last = index;
  }
  if (bytes == 0) return "";
  return "[... " + size_text(bytes) + " skipped, complete in " +
         (streams == 1 ? file_of(rank_of(last), stream_of(last)) : settings_.folder) + "]";
}

void OutputRouter::wait_for_progress() {
  if (waiting_) return;
  waiting_ = true;
  progress_.on_readable([this] {
    waiting_ = false;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(progress_.get(), &count, sizeof count);
    grant_owed();
  });
}

LiveLines::Size OutputRouter::size_now() const {
  LiveLines::Size size = settings_.live->fallback;
  if (const auto found = terminal_size(settings_.live->fd); found && found->columns > 0)
    size = {found->columns, std::max<std::size_t>(found->rows, 2)};
  return size;
}

void OutputRouter::say(Stream stream, std::string text) {
  flush_merged();  // our line may be about the ranks' lines
  count_lines(kOwnLines, stream, text);
  put(stream, std::move(text));
}

void OutputRouter::count_lines(std::size_t whose, Stream stream, std::string_view text) {
  if (stream != Stream::err && !writer_.is_one_file()) return;
  // The beginning of that much output has scrolled off the screen anyway.
  if (text.size() > kLooked) text.remove_prefix(text.size() - kLooked);
  recent_.add(whose, static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
}

std::size_t OutputRouter::recent_lines(Rank rank, Stream stream, std::size_t window) const {
  if (writer_.broken(stream)) return 0;
  const std::size_t merged = recent_.count(kMergedLines, window);
  return recent_.count(index_of(rank, stream), window) +
         (merged == 0 ? 0 : view_->recently_merged(rank, stream, merged, writer_.is_one_file()));
}

void OutputRouter::put(Stream stream, std::string text) {
  if (text.empty()) return;
  const bool over_bars =
      live_.drawn() && (writer_.is_one_file() || stream == settings_.live->stream);
  if (!over_bars) return writer_.write(stream, std::move(text));
  const LiveLines::Size size = size_now();
  std::string all;
  live_.erase(size, all);
  all += text;
  draw_live(size, all);
  writer_.write(stream, std::move(all));
}

void OutputRouter::note_time() {
  if (settings_.console.merged) view_->set_time(monotonic_now());
}

/// Call after everything that adds to the view.
void OutputRouter::put_merged() {
  if (!settings_.console.merged) return;
  for (ConsoleView::Piece& piece : view_->take_merged()) {
    count_lines(kMergedLines, piece.stream, piece.text);
    put(piece.stream, std::move(piece.text));
  }
  const auto due = view_->merged_due();
  if (!due || std::exchange(merging_, true)) return;
  merge_.after(*due - monotonic_now(), [this] {
    merging_ = false;
    note_time();
    put_merged();
  });
}

void OutputRouter::flush_merged() {
  if (!view_ || !settings_.console.merged) return;
  view_->show_waiting();
  put_merged();
}

void OutputRouter::draw_live(const LiveLines::Size& size, std::string& text) {
  if (!status_.empty()) return live_.draw({LiveRow{"", 0, status_}}, size, text);
  if (view_ && view_->has_live_rows()) live_.draw(view_->live_rows(), size, text);
}

void OutputRouter::show_status(const LiveTarget& target, std::string text) {
  if (view_ || text == status_) return;
  settings_.live = target;
  status_ = std::move(text);
  const LiveLines::Size size = size_now();
  std::string all;
  live_.erase(size, all);
  draw_live(size, all);
  writer_.write(target.stream, std::move(all));
}

void OutputRouter::bars_may_have_changed() {
  if (!view_->has_live_rows()) return take_bars_away();
  bars_changed_ = true;
  idle_ticks_ = 0;
  arm_ticks();
}

void OutputRouter::arm_ticks() {
  if (ticking_ || !view_->has_live_rows()) return;
  ticking_ = true;
  const std::chrono::nanoseconds every = settings_.live ? kRedraw : kSettle;
  bars_.after(every, [this] { tick(); });
}

void OutputRouter::tick() {
  ticking_ = false;
  std::array<std::string, 2> done;
  note_time();
  view_->settle(done);
  if (!settings_.live && ++ticks_ % kShowStatesEvery == 0) view_->show_states(done);
  put(Stream::out, std::move(done[0]));
  put(Stream::err, std::move(done[1]));
  put_merged();
  if (settings_.live && bars_changed_) redraw();
  take_bars_away();
  // Bars that do not change need no timer.
  if (++idle_ticks_ <= kShowStatesEvery) arm_ticks();
}

void OutputRouter::take_bars_away() {
  if (!live_.drawn() || view_->has_live_rows()) return;
  std::string text;
  live_.erase(size_now(), text);
  writer_.write(settings_.live->stream, std::move(text));
}

void OutputRouter::redraw() {
  // A terminal that lags gets no outdated states.
  if (writer_.pending(settings_.live->stream) > 0) return;
  const LiveLines::Size size = size_now();
  std::string text;
  live_.erase(size, text);
  live_.draw(view_->live_rows(), size, text);
  bars_changed_ = false;
  if (!text.empty()) writer_.write(settings_.live->stream, std::move(text));
}

}  // namespace dlaunch
