#include "wire/decoder.h"

#include <chrono>

namespace dlaunch::wire {

std::string Decoder::problem() const {
  if (what_.empty()) return "";
  return path_.empty() ? what_ : "field \"" + path_ + "\": " + what_;
}

bool Decoder::wrong(std::string what) {
  what_ = std::move(what);
  return false;
}

bool Decoder::inside(std::string_view name) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_.insert(0, std::string(name) + (joined ? "" : "."));
  return false;
}

bool Decoder::inside(std::size_t index) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_.insert(0, '[' + std::to_string(index) + ']' + (joined ? "" : "."));
  return false;
}

bool Decoder::locate(const std::string_view* names, std::size_t* offsets, std::size_t count) {
  const cbor::Head map = cursor_.head();
  if (map.major != cbor::Major::map) return wrong("expected a map");
  std::size_t next = 0;  // a sender usually writes the fields in the table's order
  for (std::uint64_t left = map.argument; left > 0; --left) {
    const cbor::Head key_head = cursor_.head();
    if (key_head.major != cbor::Major::text) return wrong("expected text as the name of a field");
    const std::string_view key = cursor_.content(key_head);
    std::size_t tried = 0;
    while (tried < count && names[(next + tried) % count] != key) ++tried;
    if (tried < count) {
      const std::size_t found = (next + tried) % count;
      if (offsets[found] != kMissing) {
        what_ = "it occurs twice";
        return inside(names[found]);
      }
      offsets[found] = cursor_.position();
      next = found + 1;
    }
    cursor_.skip();
  }
  return true;
}

bool Decoder::get_integer(std::int64_t& out, Range range) {
  const cbor::Head head = cursor_.head();
  const bool negative = head.major == cbor::Major::negative_number;
  if (head.major != cbor::Major::unsigned_number && !(negative && range.min < 0)) {
    return wrong(range.min < 0 ? "expected a number" : "expected an unsigned number");
  }
  const bool representable =
      head.argument <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto magnitude = static_cast<std::int64_t>(head.argument);
  out = negative ? -1 - magnitude : magnitude;
  if (representable && out >= range.min && out <= range.max) return true;
  return wrong("expected a number from " + std::to_string(range.min) + " to " +
               std::to_string(range.max) + (representable ? ", not " + std::to_string(out) : ""));
}

bool Decoder::get_bytes(std::string_view& out) {
  const cbor::Head head = cursor_.head();
  if (head.major != cbor::Major::bytes) return wrong("expected a byte string");
  out = cursor_.content(head);
  // Every system call would cut the string at the NUL byte.
  if (out.find('\0') != std::string_view::npos) return wrong("a string with a NUL byte");
  return true;
}

bool Decoder::get_list(std::uint64_t& count) {
  const cbor::Head head = cursor_.head();
  if (head.major != cbor::Major::array) return wrong("expected a list");
  count = head.argument;
  return true;
}

bool Decoder::get(bool& out) {
  const cbor::Head head = cursor_.head();
  const bool is_boolean = head.major == cbor::Major::simple &&
                          (head.argument == cbor::kTrue || head.argument == cbor::kFalse);
  if (!is_boolean) return wrong("expected true or false");
  out = head.argument == cbor::kTrue;
  return true;
}

bool Decoder::get(Stream& out) {
  std::int64_t number = 0;
  if (!get_integer(number, {1, 2})) return false;
  out = static_cast<Stream>(number);
  return true;
}

bool Decoder::get(OutputPart& out) {
  std::int64_t number = 0;
  if (!get_integer(number, {1, 3})) return false;
  out = static_cast<OutputPart>(number);
  return true;
}

bool Decoder::get(SyncEntry::Kind& out) {
  std::int64_t number = 0;
  if (!get_integer(number, {1, 3})) return false;
  out = static_cast<SyncEntry::Kind>(number);
  return true;
}

bool Decoder::get(WallTime& out) {
  std::int64_t nanoseconds = 0;
  // Years 1843 to 2096, so that the difference of two such times also fits into 64 bits.
  constexpr std::int64_t kMost = 4'000'000'000'000'000'000;
  if (!get_integer(nanoseconds, {-kMost, kMost})) return false;
  out = WallTime(std::chrono::nanoseconds(nanoseconds));
  return true;
}

bool Decoder::get(StartFailure::Step& out) {
  return get_name(kStepNames, out,
                  "expected workdir, execute, interpreter, resources, file, container or module");
}

bool Decoder::get(NetworkInterface::Kind& out) {
  return get_name(kInterfaceKindNames, out, "expected a kind of network interface");
}

bool Decoder::get(MpiEnd& out) {
  return get_name(kMpiEndNames, out,
                  "expected fine, aborted, never_connected, not_finalized or other_world");
}

bool Decoder::get(std::string& out) {
  std::string_view bytes;
  if (!get_bytes(bytes)) return false;
  out = bytes;
  return true;
}

bool Decoder::get(std::optional<std::string>& out) {
  cbor::Cursor ahead = cursor_;
  const cbor::Head head = ahead.head();
  if (head.major == cbor::Major::simple && head.argument == cbor::kNull) {
    cursor_ = ahead;
    out.reset();
    return true;
  }
  return get(out.emplace());
}

bool Decoder::get(Environment& out) {
  std::uint64_t count = 0;
  if (!get_list(count)) return false;
  out.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view entry;
    if (!get_bytes(entry)) return inside(static_cast<std::size_t>(i));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      what_ = "expected NAME=VALUE";
      return inside(static_cast<std::size_t>(i));
    }
    // The sender's map is ordered, so each variable goes to the end.
    const std::size_t before = out.size();
    out.emplace_hint(out.end(), entry.substr(0, equals), entry.substr(equals + 1));
    if (out.size() == before) {
      what_ = "a variable that occurs twice";
      return inside(static_cast<std::size_t>(i));
    }
  }
  return true;
}

bool Decoder::consistent(const ExitStatus& status) {
  if (!status.signaled || (status.value >= kSignal.min && status.value <= kSignal.max)) return true;
  what_ = "expected a signal from 1 to 64, not " + std::to_string(status.value);
  return inside("value");
}

bool Decoder::consistent(const StartCommand& command) {
  if (!command.argv.empty()) return true;
  what_ = "an empty list";
  return inside("argv");
}

bool Decoder::consistent(const CpuCore& core) {
  if (!core.threads.empty()) return true;
  what_ = "an empty list";
  return inside("threads");
}

bool Decoder::consistent(const StartRanks& start) {
  for (std::size_t i = 0; i < start.ranks.size(); ++i) {
    if (start.ranks[i].command < start.commands.size()) continue;
    what_ = "there is no command " + std::to_string(start.ranks[i].command);
    return inside("ranks[" + std::to_string(i) + "].command");
  }
  return true;
}

}  // namespace dlaunch::wire
