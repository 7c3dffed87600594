// Whatever bytes arrive on a channel, in whatever pieces, they give messages or one error.
//
// Input: a byte that determines how the rest is cut into pieces, then the stream.
#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_check.h"
#include "planted_bug.h"
#include "unit/wire/samples.h"
#include "wire/bytes.h"
#include "wire/codec.h"
#include "wire/framer.h"
#include "wire/sequence.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

namespace dlaunch::wire {
namespace {

using fuzz::check;

constexpr std::size_t kLongestMessage = 600;
// A one-byte item may become a value of some 200 bytes in a list that doubles when it is full.
constexpr std::int64_t kMostBytesPerByte = 600;
constexpr std::int64_t kMostBytesAtAll = 512 * 1024;

struct Reading {
  std::vector<Frame> frames;
  std::optional<Error> error;
};

/// What the pieces cannot change; an error may quote whatever has arrived by then.
bool same(const Reading& a, const Reading& b) {
  const auto fault = [](const Reading& one) {
    const std::string message = one.error ? one.error->message : "";
    return message.substr(0, message.find(": received"));
  };
  return a.frames == b.frames && fault(a) == fault(b);
}

/// Pieces of 1 to `longest` bytes; all at once for 0.
Reading read_frames(std::string_view stream, std::uint8_t longest) {
  FrameReader reader;
  Reading result;
  std::minstd_rand random(longest);
  while (!stream.empty()) {
    const std::size_t wanted = longest == 0 ? stream.size() : 1 + random() % longest;
    reader.feed(stream.substr(0, wanted));
    stream.remove_prefix(std::min(wanted, stream.size()));
    while (true) {
      Result<std::optional<Frame>> frame = reader.next();
      if (!frame) {
        check(!result.error || *result.error == frame.error(), "a reader stays in its error");
        result.error = frame.error();
        break;
      }
      check(!result.error, "nothing follows an error");
      if (!*frame) break;
      result.frames.push_back(**std::move(frame));
    }
  }
  return result;
}

void check_error(const Error& error) {
  check(error.exit_code == exit_code::kNodeLost, "a malformed frame loses the node");
  check(error.message.starts_with("malformed "), "the error says so", error.message);
  fuzz::check_message(error.message, kLongestMessage, kLongestMessage);
}

void check_round_trip(const Message& message) {
  const Frame frame = encode(message);
  std::string bytes;
  append_frame(frame, bytes);
  const Reading again = read_frames(bytes, 0);
  check(!again.error && again.frames.size() == 1 && again.frames[0] == frame, "frame and back");
  const Result<Message> decoded = decode(again.frames[0]);
  check(decoded.has_value() && *decoded == message, "message and back");
}

void check_sequence(ControlReceiver& receiver, const Frame& frame) {
  const auto verdict = receiver.accept(frame);
  if (!verdict) fuzz::check_message(verdict.error().message, kLongestMessage, kLongestMessage);
  static_cast<void>(receiver.ack_due());
}

/// Planted bug: room for the end of one attempt, in a stream that has two of them.
class PlantedBug {
 public:
  void see(const Frame& frame) {
    if (frame.type == encode(AttemptEnded{}).type) ++ended_;
    if (ended_ > 1) fuzz::fill_buffer(1, ended_);
  }

 private:
  std::size_t ended_ = 0;
};

void read(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto longest = static_cast<std::uint8_t>(bytes[0]);
  const std::string_view stream = bytes.substr(1);
  const Reading reading = read_frames(stream, longest);
  if (reading.error) check_error(*reading.error);
  check(same(reading, read_frames(stream, 0)), "the pieces make no difference");
  ControlReceiver receiver(reading.frames.empty() ? 0 : reading.frames[0].node,
                           reading.frames.empty() ? 0 : reading.frames[0].session);
  PlantedBug bug;
  for (const Frame& frame : reading.frames) {
    check_sequence(receiver, frame);
    const fuzz::HeapMeter meter;
    const Result<Message> message = decode(frame);
    check(fuzz::HeapMeter::peak() <=
              kMostBytesAtAll + kMostBytesPerByte * static_cast<std::int64_t>(frame.payload.size()),
          "memory follows what came", std::to_string(fuzz::HeapMeter::peak()));
    if (!message) {
      check_error(message.error());
      continue;
    }
    check_round_trip(*message);
    if (fuzz::kPlanted) bug.see(frame);
  }
}

void mutate_payload(Frame& frame, std::size_t room) {
  const std::size_t size = frame.payload.size();
  frame.payload.resize(size + room);
  frame.payload.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(frame.payload.data()), size,
                                        frame.payload.size()));
}

/// Changes one frame and corrects its length, or repeats, drops or moves frames: otherwise nearly
/// every change would end in the framer.
std::string mutate_frames(std::string_view bytes, std::size_t room, unsigned seed) {
  std::vector<Frame> frames = read_frames(bytes.substr(1), 0).frames;
  if (frames.empty()) return std::string(bytes);
  std::minstd_rand random(seed);
  const std::size_t chosen = random() % frames.size();
  const std::size_t other = random() % frames.size();
  switch (random() % 8) {
    case 0:
      frames.push_back(frames[chosen]);
      break;
    case 1:
      frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(chosen));
      break;
    case 2:
      std::swap(frames[chosen], frames[other]);
      break;
    case 3:
      frames[chosen].type = static_cast<std::uint16_t>(1 + random() % kTypes);
      break;
    default:
      mutate_payload(frames[chosen], std::min<std::size_t>(room, 256));
  }
  std::string out(1, bytes[0]);
  for (const Frame& frame : frames) append_frame(frame, out);
  return out;
}

}  // namespace
}  // namespace dlaunch::wire

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max, unsigned seed) {
  if (size < 2 || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string mutated = dlaunch::wire::mutate_frames(bytes, max - size, seed);
  size = std::min(mutated.size(), max);
  std::memcpy(data, mutated.data(), size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlaunch::wire::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
