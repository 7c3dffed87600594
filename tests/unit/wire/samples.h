// One message of every kind, with a value other than the default in every field.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/result.h"
#include "model/time.h"
#include "wire/codec.h"
#include "wire/frame.h"
#include "wire/message.h"

namespace dlaunch::wire {

/// A message of any direction. What it takes the compiler to copy and compare all of them is spent
/// once, on samples.cc.
class Message {
 public:
  Message(ToAgent message);
  Message(FromAgent message);
  Message(ChannelMessage message);
  template <Encodable T>
  Message(T message) : Message(VariantOf<T>(std::move(message))) {}

  bool operator==(const Message& other) const;

 private:
  struct Any;
  friend Frame encode(const Message& message);
  std::shared_ptr<const Any> any_;
};

[[nodiscard]] Frame encode(const Message& message);
[[nodiscard]] Result<Message> decode(const FrameView& frame);
/// For GoogleTest: the name of the message.
void PrintTo(const Message& message, std::ostream* out);

/// Whether its payload is something other than CBOR.
[[nodiscard]] bool is_raw(const Message& message);

/// Every byte that an argument or a variable can hold: all but NUL (execve(2)).
[[nodiscard]] std::string every_byte();
[[nodiscard]] WallTime at(std::int64_t nanoseconds);

[[nodiscard]] NodeFacts sample_facts();
[[nodiscard]] StartRanks sample_start();
/// In the order of their types.
[[nodiscard]] std::vector<Message> samples();

}  // namespace dlaunch::wire
