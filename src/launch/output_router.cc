#include "launch/output_router.h"

#include <algorithm>

#include <unistd.h>

namespace dlaunch {

namespace {

// Above this the console is behind and nobody gets new credit.
constexpr std::size_t kConsoleRoom = std::size_t{1} << 20;
// All windows together, and the limits of each one.
constexpr std::size_t kAllWindows = std::size_t{64} << 20;
constexpr std::size_t kMinWindow = std::size_t{16} << 10;
constexpr std::size_t kMaxWindow = std::size_t{512} << 10;

std::size_t index_of(Rank rank, Stream stream) {
  return 2 * std::size_t{rank.value} + (stream == Stream::err ? 1 : 0);
}

}  // namespace

OutputRouter::OutputRouter(EventLoop& loop, ConsoleWriter& writer, Grant grant)
    : writer_(writer), grant_(std::move(grant)), progress_(loop, duplicate(writer.progress_fd())) {}

void OutputRouter::begin(Attempt attempt, ConsoleOptions options, std::vector<std::string> labels,
                         bool show) {
  attempt_ = attempt;
  show_ = show;
  streams_.assign(2 * labels.size(), {});
  owed_.clear();
  open_streams_ = 0;
  const std::size_t share = kAllWindows / std::max<std::size_t>(streams_.size(), 1);
  window_ = static_cast<std::uint32_t>(std::clamp(share, kMinWindow, kMaxWindow));
  view_ = std::make_unique<ConsoleView>(options, std::move(labels));
}

std::uint32_t OutputRouter::first_credit() const {
  return show_ ? window_ : 0;
}

OutputRouter::StreamState& OutputRouter::state(Rank rank, Stream stream) {
  return streams_[index_of(rank, stream)];
}

void OutputRouter::expect(Rank rank) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    StreamState& expected = state(rank, stream);
    if (expected.open) continue;
    expected.open = true;
    expected.granted = first_credit();
    ++open_streams_;
  }
}

void OutputRouter::give_up(Rank rank) {
  for (const Stream stream : {Stream::out, Stream::err}) close(rank, stream);
}

void OutputRouter::add(const wire::OutputData& data) {
  if (data.attempt != attempt_ || index_of(data.rank, data.stream) >= streams_.size()) return;
  StreamState& stream = state(data.rank, data.stream);
  std::string text;
  mark_gap(data.rank, data.stream, data.offset, text);
  stream.received = data.offset + data.bytes.size();
  received_ += data.bytes.size();
  view_->add(data.rank, data.stream, data.bytes, text);
  if (!text.empty()) writer_.write(data.stream, std::move(text));
  if (!stream.owed && stream.granted - std::min(stream.granted, stream.received) < window_ / 2) {
    stream.owed = true;
    owed_.push_back(index_of(data.rank, data.stream));
  }
  grant_owed();
}

void OutputRouter::end(const wire::OutputEnd& end) {
  if (end.attempt != attempt_ || index_of(end.rank, end.stream) >= streams_.size()) return;
  std::string text;
  if (show_) mark_gap(end.rank, end.stream, end.size, text);
  if (!text.empty()) writer_.write(end.stream, std::move(text));
  close(end.rank, end.stream);
}

void OutputRouter::mark_gap(Rank rank, Stream stream, std::uint64_t up_to, std::string& text) {
  const StreamState& known = state(rank, stream);
  if (!known.open || up_to <= known.received) return;
  const std::string mark = "[... " + std::to_string(up_to - known.received) + " bytes lost]\n";
  view_->add(rank, stream, mark, text);
}

void OutputRouter::close(Rank rank, Stream stream) {
  StreamState& closed = state(rank, stream);
  if (!closed.open) return;
  closed.open = false;
  --open_streams_;
  std::string text;
  view_->finish(rank, stream, text);
  if (!text.empty()) writer_.write(stream, std::move(text));
}

void OutputRouter::flush_partial_lines() {
  for (std::uint32_t rank = 0; 2 * std::size_t{rank} < streams_.size(); ++rank) give_up(Rank(rank));
}

void OutputRouter::grant_owed() {
  if (owed_.empty()) return;
  if (writer_.pending() > kConsoleRoom) return wait_for_progress();
  for (const std::size_t index : owed_) {
    StreamState& stream = streams_[index];
    stream.owed = false;
    stream.granted = stream.received + window_;
    const auto rank = Rank(static_cast<std::uint32_t>(index / 2));
    grant_(wire::OutputCredit{attempt_, rank, index % 2 == 0 ? Stream::out : Stream::err,
                              stream.granted});
  }
  owed_.clear();
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

}  // namespace dlaunch
