#include "node/output/output_pump.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "node/output/output_file.h"
#include "os/clock.h"

namespace dlaunch {

namespace {

constexpr std::size_t kReadSize = std::size_t{256} << 10;
// A pipe holds 64 KiB at first (pipe(7)). A pipe that was full kOftenFull times is enlarged, which
// saves context switches. Only a few are enlarged, because a user's memory for pipes is limited.
constexpr std::size_t kFullPipe = std::size_t{64} << 10;
constexpr std::uint32_t kOftenFull = 32;
constexpr std::uint32_t kMostWidePipes = 16;
// Queuing more in the channel would only cost memory and a copy, because the file has it too.
constexpr std::size_t kChannelRoom = AgentChannel::kLowWater;
// Bytes read from a file at once; a socket buffer takes about three of these.
constexpr std::size_t kPieceSize = std::size_t{64} << 10;
// Delay between recording times and writing them, so that one write covers many.
constexpr std::chrono::seconds kTimesWait{1};

}  // namespace

struct OutputPump::Pumped {
  Pumped(EventLoop& loop, Rank r, Stream s, UniqueFd fd, std::string path, bool shown,
         std::uint64_t first_credit)
      : rank(r),
        stream(s),
        pipe(loop, std::move(fd)),
        file(std::move(path)),
        is_shown(shown),
        credit(first_credit) {}

  Rank rank;
  Stream stream;
  WatchedFd pipe;
  OutputFile file;
  bool is_shown;                   // sent to the launcher
  std::uint64_t credit;            // offset up to which the launcher accepts bytes
  std::uint64_t read = 0;          // bytes read from the pipe
  MonotonicTime last_read{0};      // when the last of them arrived
  std::uint64_t sent = 0;          // offset up to which bytes were sent or skipped
  std::uint64_t wanted_from = 0;   // bytes before this were skipped at the launcher's request
  std::uint64_t end_sequence = 0;  // of its OutputEnd, if it is finished
  std::uint32_t full = 0;          // reads that found the pipe full
  bool at_end = false;
  bool finished = false;
};

OutputPump::OutputPump(EventLoop& loop, AgentChannel& channel)
    : loop_(loop), channel_(channel), write_times_(loop) {
  buffer_ = std::make_unique_for_overwrite<char[]>(kReadSize);
}

OutputPump::~OutputPump() = default;

void OutputPump::begin(Attempt attempt, std::string log_folder, std::uint64_t credit) {
  if (attempt != attempt_) {
    streams_.clear();
    told_disk_ = false;
    wide_pipes_ = 0;
    open_ = 0;
    write_times();
    times_ = {};
    times_file_.reset();
  }
  attempt_ = attempt;
  log_folder_ = std::move(log_folder);
  credit_ = credit;
  if (keeps_times_ && !times_file_)
    times_file_ = std::make_unique<OutputFile>(log_folder_ + "/local.times");
}

void OutputPump::add(Rank rank, Stream stream, UniqueFd read_end, bool is_shown) {
  auto pumped = std::make_unique<Pumped>(loop_, rank, stream, std::move(read_end),
                                         file_of(rank, stream == Stream::out ? "out" : "err"),
                                         is_shown && credit_ > 0, is_shown ? credit_ : 0);
  Pumped& reference = *pumped;
  streams_[{rank, stream}] = std::move(pumped);
  ++open_;
  wait(reference);
}

std::string OutputPump::file_of(Rank rank, const char* ending) const {
  if (log_folder_.empty()) return {};
  return log_folder_ + "/rank-" + std::to_string(rank.value) + '.' + ending;
}

wire::FetchedOutput OutputPump::fetch(const wire::FetchOutput& request) {
  wire::FetchedOutput answer{request.attempt, request.rank, request.part, request.offset, {}};
  if (request.attempt != attempt_) return answer;
  if (request.part == wire::OutputPart::error_file) {
    fetch_file(request, answer);
  } else {
    fetch_stream(request, answer);
  }
  return answer;
}

OutputPump::Written OutputPump::written(Rank rank, Stream stream) const {
  const auto found = streams_.find({rank, stream});
  if (found == streams_.end()) return {};
  return {found->second->read, found->second->last_read};
}

wire::FetchedOutput OutputPump::read(Rank rank, Stream stream, std::uint64_t begin) const {
  const auto part = stream == Stream::out ? wire::OutputPart::out : wire::OutputPart::err;
  wire::FetchedOutput answer{attempt_, rank, part, begin, {}};
  fetch_stream({attempt_, rank, part, begin, kPieceSize}, answer);
  return answer;
}

void OutputPump::fetch_stream(const wire::FetchOutput& request, wire::FetchedOutput& answer) const {
  const Stream stream = request.part == wire::OutputPart::out ? Stream::out : Stream::err;
  const auto found = streams_.find({request.rank, stream});
  if (found == streams_.end()) return;
  const Pumped& pumped = *found->second;
  answer.offset = pumped.read;  // unless something is stored
  const auto piece = pumped.file.stored().from(request.offset);
  if (!piece) return;
  const std::size_t size = std::min(request.size, wire::kMostFetched);
  const std::size_t n = pumped.file.read(*piece, buffer_.get(), size);
  if (n == 0) return;  // the file was cut or removed
  answer.offset = piece->begin;
  answer.bytes.assign(buffer_.get(), n);
}

/// Does not follow a link in place of this file, because the rank itself writes it.
void OutputPump::fetch_file(const wire::FetchOutput& request, wire::FetchedOutput& answer) const {
  const std::string path = file_of(request.rank, "error.json");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return;
  const std::size_t size = std::min(request.size, wire::kMostFetched);
  const ssize_t n = ::pread(fd.get(), buffer_.get(), size, static_cast<off_t>(request.offset));
  if (n > 0) answer.bytes.assign(buffer_.get(), static_cast<std::size_t>(n));
}

void OutputPump::forget(Attempt attempt) {
  if (attempt != attempt_) return;
  streams_.clear();
  open_ = 0;
}

void OutputPump::credit(const wire::OutputCredit& credit) {
  const auto found = streams_.find({credit.rank, credit.stream});
  if (credit.attempt != attempt_ || found == streams_.end()) return;
  Pumped& pumped = *found->second;
  pumped.credit = std::max(pumped.credit, credit.up_to);
  if (credit.keep_last == 0) {
    pumped.is_shown = false;
    return finish_if_complete(pumped);
  }
  if (pumped.read - pumped.sent > credit.keep_last) {
    // The launcher does not know this offset, so it accepts these bytes regardless of `up_to`.
    pumped.credit = std::max(pumped.credit, pumped.read);
    skip(pumped, pumped.read - credit.keep_last);
  }
  catch_up(pumped);
}

void OutputPump::skip(Pumped& pumped, std::uint64_t to) {
  pumped.sent = pumped.wanted_from = to;
  const auto piece = pumped.file.stored().from(to);
  if (!piece || piece->begin != to) return;
  const std::size_t n = pumped.file.read(*piece, buffer_.get(), kPieceSize);
  const std::size_t line_end = std::string_view(buffer_.get(), n).find('\n');
  if (line_end != std::string_view::npos) pumped.sent += line_end + 1;
  pumped.wanted_from = pumped.sent;
}

void OutputPump::rewind(const wire::Resume& theirs) {
  std::map<Key, std::uint64_t> received;
  for (const wire::Resume::Received& one : theirs.streams) {
    if (one.attempt == attempt_) received[{one.rank, one.stream}] = one.received;
  }
  for (auto& [key, pumped] : streams_) {
    if (!pumped->is_shown) continue;
    if (pumped->finished && pumped->end_sequence <= theirs.control_received) continue;
    const auto found = received.find(key);
    const std::uint64_t there = found == received.end() ? 0 : found->second;
    pumped->sent = std::max(std::min(there, pumped->sent), pumped->wanted_from);
    if (!pumped->finished) continue;
    // Resends at most the stream's credit, because no more can have been lost with the connection.
    pass_gap(*pumped);
    while (pumped->sent < pumped->read && send_stored(*pumped)) {
    }
  }
}

void OutputPump::resume() {
  for (auto& [key, pumped] : streams_) catch_up(*pumped);
}

void OutputPump::drain() {
  for (auto& [key, pumped] : streams_) {
    // A process outside the job may still hold the other end (a descriptor passed to a daemon) and
    // write without end: only what is in the pipe now is the job's output.
    int left = 0;
    if (!pumped->at_end) ::ioctl(pumped->pipe.get(), FIONREAD, &left);
    const std::uint64_t end = pumped->read + static_cast<std::uint64_t>(std::max(left, 0));
    while (!pumped->at_end && pumped->read < end && read_once(*pumped) == ReadResult::some) {
    }
    close(*pumped);
  }
}

void OutputPump::wait(Pumped& pumped) {
  pumped.pipe.on_readable([this, &pumped] {
    if (!pumped.at_end) read_some(pumped);
  });
}

void OutputPump::read_some(Pumped& pumped) {
  if (read_once(pumped) == ReadResult::end) {
    close(pumped);
  } else {
    wait(pumped);
  }
}

OutputPump::ReadResult OutputPump::read_once(Pumped& pumped) {
  // Bytes that cannot be sent now need not be copied through this process.
  if (!pumped.is_shown || pumped.sent < pumped.read || !may_send(pumped)) {
    const std::size_t moved = pumped.file.take(pumped.pipe.get(), kReadSize);
    pumped.read += moved;
    if (moved > 0) {
      pumped.last_read = monotonic_now();
      note_time(pumped);
    }
    if (moved >= kFullPipe && ++pumped.full == kOftenFull) widen_pipe(pumped);
    if (moved > 0) return ReadResult::some;
  }
  ssize_t n = 0;
  do {
    n = ::read(pumped.pipe.get(), buffer_.get(), kReadSize);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EAGAIN ? ReadResult::nothing_now : ReadResult::end;
  if (n == 0) return ReadResult::end;
  const std::string_view bytes(buffer_.get(), static_cast<std::size_t>(n));
  // The file comes first. A full disk must not block the rank, so reading its pipe continues.
  const MonotonicTime now = monotonic_now();
  if (const int error = pumped.file.append(bytes, now); error != 0) disk_failed(error);
  pumped.read += bytes.size();
  pumped.last_read = now;
  note_time(pumped);
  if (bytes.size() >= kFullPipe && ++pumped.full == kOftenFull) widen_pipe(pumped);
  offer(pumped, bytes);
  return ReadResult::some;
}

void OutputPump::note_time(const Pumped& pumped) {
  if (!times_file_) return;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch();
  times_.add({2 * std::uint64_t{pumped.rank.value} + (pumped.stream == Stream::err ? 1 : 0),
              pumped.read, now.count()});
  if (!std::exchange(times_wait_, true)) write_times_.after(kTimesWait, [this] { write_times(); });
}

/// Silently drops times that cannot be stored.
void OutputPump::write_times() {
  times_wait_ = false;
  write_times_.cancel();
  if (!times_file_) return;
  const std::string bytes = times_.take();
  if (!bytes.empty()) (void)times_file_->append(bytes, monotonic_now());
}

void OutputPump::widen_pipe(Pumped& pumped) {
  if (wide_pipes_ == kMostWidePipes) return;
  if (::fcntl(pumped.pipe.get(), F_SETPIPE_SZ, static_cast<int>(kReadSize)) >= 0) ++wide_pipes_;
}

void OutputPump::disk_failed(int error_number) {
  if (told_disk_) return;  // one message for all ranks
  told_disk_ = true;
  channel_.send(wire::Notice{"cannot write to " + log_folder_ + ": " + errno_text(error_number) +
                             "; the ranks go on, but output that cannot be stored is lost"});
}

bool OutputPump::may_send(const Pumped& pumped) const {
  return pumped.sent < pumped.credit && channel_.queued() < kChannelRoom && channel_.is_connected();
}

void OutputPump::offer(Pumped& pumped, std::string_view fresh) {
  if (!pumped.is_shown) return;
  const bool up_to_date = pumped.sent + fresh.size() == pumped.read;
  if (up_to_date && may_send(pumped)) send(pumped, fresh);
  pass_gap(pumped);
}

void OutputPump::pass_gap(Pumped& pumped) {
  // Bytes that are neither sent nor stored are lost: continue after them.
  if (pumped.sent == pumped.read) return;
  const auto piece = pumped.file.stored().from(pumped.sent);
  pumped.sent = piece ? piece->begin : pumped.read;
}

void OutputPump::send(Pumped& pumped, std::string_view bytes) {
  const auto size = std::min<std::uint64_t>(bytes.size(), pumped.credit - pumped.sent);
  bytes = bytes.substr(0, static_cast<std::size_t>(size));
  channel_.send(wire::OutputData{attempt_, pumped.rank, pumped.stream, pumped.sent, bytes});
  pumped.sent += size;
}

void OutputPump::catch_up(Pumped& pumped) {
  if (pumped.finished || !pumped.is_shown) return;
  pass_gap(pumped);
  while (pumped.sent < pumped.read && may_send(pumped) && send_stored(pumped)) {
  }
  finish_if_complete(pumped);
}

/// False: nothing more can be sent.
bool OutputPump::send_stored(Pumped& pumped) {
  const auto piece = pumped.file.stored().from(pumped.sent);
  const std::size_t n = piece ? pumped.file.read(*piece, buffer_.get(), kPieceSize) : 0;
  if (n == 0) {
    pumped.sent = pumped.read;  // the file was truncated
    return false;
  }
  send(pumped, std::string_view(buffer_.get(), n));
  pass_gap(pumped);
  return true;
}

void OutputPump::close(Pumped& pumped) {
  if (pumped.at_end) return;
  pumped.at_end = true;
  pumped.pipe.close();
  if (open_ > 0 && --open_ == 0) write_times();
  finish_if_complete(pumped);
}

void OutputPump::finish_if_complete(Pumped& pumped) {
  if (pumped.finished || !pumped.at_end) return;
  if (pumped.is_shown && pumped.sent < pumped.read) return;
  pumped.finished = true;
  pumped.file.close();
  pumped.end_sequence = channel_.send(
      wire::OutputEnd{attempt_, pumped.rank, pumped.stream, pumped.read, pumped.file.lost()});
}

}  // namespace dlaunch
