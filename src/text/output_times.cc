#include "text/output_times.h"

#include <utility>

namespace dlaunch {

namespace {

constexpr std::string_view kHead = "dlaunch output times 1\n";
constexpr std::uint64_t kMostStreams = 2U << 20;  // for a million ranks

/// LEB128: seven bits per byte, lowest first.
void append_number(std::uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

/// Maps numbers of either sign to small unsigned ones: 0, -1, 1, -2, ...
std::uint64_t folded(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t unfolded(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

std::uint64_t& end_of(std::uint64_t stream, std::vector<std::uint64_t>& ends) {
  if (ends.size() <= stream) ends.resize(stream + 1);
  return ends[stream];
}

}  // namespace

void OutputTimesWriter::add(const OutputMark& mark) {
  if (mark.stream >= kMostStreams) return;
  if (last_ && (last_->stream != mark.stream || last_->at != mark.at)) write(*last_);
  last_ = mark;
}

std::string OutputTimesWriter::take() {
  if (last_) write(*std::exchange(last_, std::nullopt));
  return std::exchange(bytes_, {});
}

void OutputTimesWriter::write(const OutputMark& mark) {
  if (!std::exchange(has_begun_, true)) bytes_ += kHead;
  std::uint64_t& end = end_of(mark.stream, ends_);
  append_number(mark.stream, bytes_);
  append_number(mark.end - std::exchange(end, mark.end), bytes_);
  append_number(folded(mark.at - std::exchange(at_, mark.at)), bytes_);
}

OutputTimesReader::OutputTimesReader(std::string bytes) : bytes_(std::move(bytes)) {
  position_ = bytes_.starts_with(kHead) ? kHead.size() : bytes_.size();
}

std::optional<OutputMark> OutputTimesReader::next() {
  const auto stream = number();
  const auto more = number();
  const auto later = number();
  if (!stream || !more || !later || *stream >= kMostStreams) {
    position_ = bytes_.size();
    return std::nullopt;
  }
  // Wraps if the file is damaged; readers stop at the end of a stream.
  std::uint64_t& end = end_of(*stream, ends_);
  end += *more;
  at_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(at_) +
                                  static_cast<std::uint64_t>(unfolded(*later)));
  return OutputMark{*stream, end, at_};
}

std::optional<std::uint64_t> OutputTimesReader::number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && position_ < bytes_.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes_[position_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

}  // namespace dlaunch
