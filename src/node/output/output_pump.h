// Moves the output of ranks from pipes to files on this node and, as far as credit allows, to the
// channel. The file is written first and never waits for the channel; a launcher that is behind
// gets bytes from the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "os/channel.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "text/output_times.h"

namespace dlaunch {

class OutputFile;

class OutputPump {
 public:
  OutputPump(EventLoop& loop, AgentChannel& channel);
  ~OutputPump();

  /// Drops the streams of an earlier attempt. `credit` 0: no output is sent.
  void begin(Attempt attempt, std::string log_folder, std::uint64_t credit);
  /// Whether further attempts record the times of their output in local.times (text/output_times.h)
  /// beside the output. The launcher itself records the times of output that is copied to it.
  void keep_times(bool wanted) { keeps_times_ = wanted; }
  /// `is_shown` false: the output goes only to its file.
  void add(Rank rank, Stream stream, UniqueFd read_end, bool is_shown = true);
  void credit(const wire::OutputCredit& credit);
  /// The channel has room again.
  void resume();
  /// The requested part of a stored stream of this attempt, or of the rank's error file. Offsets
  /// count all bytes that the rank has written to the stream, even those that the file lacks.
  [[nodiscard]] wire::FetchedOutput fetch(const wire::FetchOutput& request);
  /// How much the rank has written to the stream, and when the last bytes arrived; both are 0 if
  /// there was no output.
  struct Written {
    std::uint64_t bytes = 0;
    MonotonicTime last{0};
  };
  [[nodiscard]] Written written(Rank rank, Stream stream) const;
  /// The stored part of the stream from `begin` on, at most 64 KiB, in the form of fetch()'s
  /// answer.
  [[nodiscard]] wire::FetchedOutput read(Rank rank, Stream stream, std::uint64_t begin) const;
  /// Call when the launcher has everything: the files will not be read again.
  void forget(Attempt attempt);
  /// Call when a session continues over a new connection: resends each stream from the offset up to
  /// which the launcher has received it. Complete streams are sent whole in this call, so that
  /// their bytes precede their OutputEnd, which the channel repeats.
  void rewind(const wire::Resume& theirs);
  /// Call after all writers have ended: reads what is in the pipes without waiting, and closes
  /// them.
  void drain();

 private:
  struct Pumped;
  using Key = std::pair<Rank, Stream>;

  void note_time(const Pumped& pumped);
  void write_times();
  void wait(Pumped& pumped);
  void read_some(Pumped& pumped);
  enum class ReadResult { some, nothing_now, end };
  ReadResult read_once(Pumped& pumped);
  void widen_pipe(Pumped& pumped);
  void disk_failed(int error_number);
  void offer(Pumped& pumped, std::string_view fresh);
  void skip(Pumped& pumped, std::uint64_t to);
  void pass_gap(Pumped& pumped);
  void send(Pumped& pumped, std::string_view bytes);
  bool send_stored(Pumped& pumped);
  void catch_up(Pumped& pumped);
  void close(Pumped& pumped);
  void finish_if_complete(Pumped& pumped);
  [[nodiscard]] std::string file_of(Rank rank, const char* ending) const;
  void fetch_stream(const wire::FetchOutput& request, wire::FetchedOutput& answer) const;
  void fetch_file(const wire::FetchOutput& request, wire::FetchedOutput& answer) const;
  [[nodiscard]] bool may_send(const Pumped& pumped) const;

  EventLoop& loop_;
  AgentChannel& channel_;
  Attempt attempt_;
  std::string log_folder_;
  std::uint64_t credit_ = 0;
  bool told_disk_ = false;
  std::uint32_t wide_pipes_ = 0;
  std::map<Key, std::unique_ptr<Pumped>> streams_;
  std::size_t open_ = 0;  // streams that are not at their end
  bool keeps_times_ = false;
  OutputTimesWriter times_;
  std::unique_ptr<OutputFile> times_file_;  // null: no times are kept
  Timer write_times_;
  bool times_wait_ = false;
  std::unique_ptr<char[]> buffer_;  // not zeroed, so that unused pages are never touched
};

}  // namespace dlaunch
