#include "agent/output_pump.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dlaunch {

namespace {

constexpr std::size_t kReadSize = 64 * 1024;  // what a pipe holds by default (pipe(7))
// More than this in the channel's queue would only be memory: the file has it too.
constexpr std::size_t kChannelRoom = std::size_t{1} << 20;

}  // namespace

struct OutputPump::Pumped {
  Pumped(EventLoop& loop, Rank r, Stream s, UniqueFd fd, std::uint64_t first_credit)
      : rank(r), stream(s), pipe(loop, std::move(fd)), credit(first_credit) {}

  Rank rank;
  Stream stream;
  WatchedFd pipe;
  std::uint64_t credit;       // offset up to which the launcher takes bytes
  UniqueFd file;              // opened at the first byte
  bool file_broken = false;   // nothing more is written to it
  std::uint64_t read = 0;     // bytes read from the pipe
  std::uint64_t written = 0;  // of these, bytes in the file
  std::uint64_t sent = 0;  // offset up to which bytes were sent (or skipped, when they are nowhere)
  bool at_end = false;
  bool finished = false;
};

OutputPump::OutputPump(EventLoop& loop, Channel& channel) : loop_(loop), channel_(channel) {
  buffer_ = std::make_unique_for_overwrite<char[]>(kReadSize);
}

OutputPump::~OutputPump() = default;

void OutputPump::begin(Attempt attempt, std::string log_folder, std::uint64_t credit) {
  if (attempt != attempt_) streams_.clear();
  attempt_ = attempt;
  log_folder_ = std::move(log_folder);
  credit_ = credit;
}

void OutputPump::add(Rank rank, Stream stream, UniqueFd read_end) {
  auto pumped = std::make_unique<Pumped>(loop_, rank, stream, std::move(read_end), credit_);
  Pumped& reference = *pumped;
  streams_[{rank, stream}] = std::move(pumped);
  wait(reference);
}

void OutputPump::credit(const wire::OutputCredit& credit) {
  const auto found = streams_.find({credit.rank, credit.stream});
  if (credit.attempt != attempt_ || found == streams_.end()) return;
  Pumped& pumped = *found->second;
  pumped.credit = std::max(pumped.credit, credit.up_to);
  catch_up(pumped);
}

void OutputPump::resume() {
  for (auto& [key, pumped] : streams_) catch_up(*pumped);
}

void OutputPump::drain() {
  for (auto& [key, pumped] : streams_) {
    // Somebody outside the job may still hold the other end (a descriptor passed to a daemon), and
    // may write without end: what is not in the pipe now is not the job's output any more.
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
  ssize_t n = 0;
  do {
    n = ::read(pumped.pipe.get(), buffer_.get(), kReadSize);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EAGAIN ? ReadResult::nothing_now : ReadResult::end;
  if (n == 0) return ReadResult::end;
  const std::string_view bytes(buffer_.get(), static_cast<std::size_t>(n));
  store(pumped, bytes);
  pumped.read += bytes.size();
  offer(pumped, bytes);
  return ReadResult::some;
}

bool OutputPump::open_file(Pumped& pumped) {
  if (pumped.file) return true;
  const std::string path = log_folder_ + "/rank-" + std::to_string(pumped.rank.value) +
                           (pumped.stream == Stream::out ? ".out" : ".err");
  // Without a folder nothing is written, least of all into "/".
  if (!log_folder_.empty())
    pumped.file.reset(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!pumped.file) file_failed(pumped, log_folder_.empty() ? ENOENT : errno);
  return pumped.file.valid();
}

void OutputPump::store(Pumped& pumped, std::string_view bytes) {
  if (pumped.file_broken || !open_file(pumped)) return;
  while (!bytes.empty()) {
    const ssize_t n = ::write(pumped.file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_failed(pumped, errno);
    pumped.written += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void OutputPump::file_failed(Pumped& pumped, int error_number) {
  // A full disk must not block a rank: its pipe is emptied on, the file ends here.
  pumped.file_broken = true;
  channel_.send(wire::Notice{"the output of rank " + std::to_string(pumped.rank.value) +
                             " is not complete in " + log_folder_ + ": " +
                             errno_text(error_number)});
}

bool OutputPump::may_send(const Pumped& pumped) const {
  return pumped.sent < pumped.credit && channel_.queued() < kChannelRoom;
}

void OutputPump::offer(Pumped& pumped, std::string_view fresh) {
  const bool up_to_date = pumped.sent + fresh.size() == pumped.read;
  if (up_to_date && may_send(pumped)) send(pumped, fresh);
  // Bytes that are neither in the file nor sent are gone: go on behind them.
  if (pumped.file_broken && pumped.sent >= pumped.written) pumped.sent = pumped.read;
}

void OutputPump::send(Pumped& pumped, std::string_view bytes) {
  const auto size = std::min<std::uint64_t>(bytes.size(), pumped.credit - pumped.sent);
  channel_.send(wire::OutputData{attempt_, pumped.rank, pumped.stream, pumped.sent,
                                 std::string(bytes.substr(0, static_cast<std::size_t>(size)))});
  pumped.sent += size;
}

void OutputPump::catch_up(Pumped& pumped) {
  if (pumped.finished) return;
  while (pumped.sent < pumped.written && may_send(pumped)) {
    const ssize_t n =
        ::pread(pumped.file.get(), buffer_.get(), kReadSize, static_cast<off_t>(pumped.sent));
    if (n <= 0) {
      pumped.sent = pumped.read;  // the file was cut or removed under us
      break;
    }
    send(pumped, std::string_view(buffer_.get(), static_cast<std::size_t>(n)));
  }
  if (pumped.file_broken && pumped.sent >= pumped.written) pumped.sent = pumped.read;
  finish_if_complete(pumped);
}

void OutputPump::close(Pumped& pumped) {
  if (pumped.at_end) return;
  pumped.at_end = true;
  pumped.pipe.close();
  finish_if_complete(pumped);
}

void OutputPump::finish_if_complete(Pumped& pumped) {
  if (pumped.finished || !pumped.at_end) return;
  if (credit_ != 0 && pumped.sent < pumped.read) return;
  pumped.finished = true;
  pumped.file.reset();
  channel_.send(wire::OutputEnd{attempt_, pumped.rank, pumped.stream, pumped.read,
                                pumped.read - pumped.written});
}

}  // namespace dlaunch
