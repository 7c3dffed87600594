// Decodes CBOR into values according to the field table. The bytes must have passed cbor::check.
#pragma once

#include <array>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "wire/cbor.h"
#include "wire/fields.h"

namespace dlaunch::wire {

/// A number but not a bool, which CBOR encodes differently.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

/// Reads one payload. Each get() reads the item at the cursor and returns false at the first thing
/// that does not match the table; problem() then describes the mismatch and its path.
class Decoder {
 public:
  explicit Decoder(std::string_view payload) : payload_(payload), cursor_(payload) {}

  /// `field "ranks[3].env": expected a list`; empty if nothing is wrong.
  [[nodiscard]] std::string problem() const;

  bool get(bool& out);
  template <Integer Number>
  bool get(Number& out, Range range = kAny);
  template <class Tag>
  bool get(Id<Tag>& out, Range range = kAny) {
    return get(out.value, range);
  }
  bool get(Stream& out);
  bool get(OutputPart& out);
  bool get(SyncEntry::Kind& out);
  bool get(WallTime& out);
  bool get(StartFailure::Step& out);
  bool get(NetworkInterface::Kind& out);
  bool get(MpiEnd& out);
  template <HasNames Value>
  bool get(Value& out) {
    return get_name(kNamesOf<Value>, out, "expected one of the names that the field allows");
  }
  bool get(std::string& out);
  bool get(std::optional<std::string>& out);
  bool get(Environment& out);
  template <class T>
  bool get(std::vector<T>& out, Range range = kAny);
  template <HasFields T>
  bool get(T& out);

 private:
  /// Where each field's value begins; kMissing until its key has been seen.
  static constexpr std::size_t kMissing = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] bool wrong(std::string what);
  [[nodiscard]] bool inside(std::string_view name);
  [[nodiscard]] bool inside(std::size_t index);
  /// Leaves the cursor after the map. `names` and `offsets` have `count` entries.
  [[nodiscard]] bool locate(const std::string_view* names, std::size_t* offsets, std::size_t count);
  [[nodiscard]] bool get_integer(std::int64_t& out, Range range);
  [[nodiscard]] bool get_bytes(std::string_view& out);
  [[nodiscard]] bool get_list(std::uint64_t& count);
  template <class Table, class Value>
  [[nodiscard]] bool get_name(const Table& table, Value& out, const char* expected);
  template <class Owner, class Member>
  bool get_field(const Field<Owner, Member>& field, std::size_t offset, Owner& out);
  // Checks that the table of fields cannot express.
  bool consistent(const ExitStatus& status);
  bool consistent(const StartRanks& start);
  bool consistent(const CpuCore& core);
  bool consistent(const StartCommand& command);
  template <class T>
  bool consistent(const T&) {
    return true;
  }

  std::string_view payload_;
  cbor::Cursor cursor_;
  std::string path_;  // built from the innermost field outward, once something is wrong
  std::string what_;
};

template <Integer Number>
bool Decoder::get(Number& out, Range range) {
  if constexpr (std::same_as<Number, std::uint64_t>) {
    const cbor::Head head = cursor_.head();
    if (head.major != cbor::Major::unsigned_number) return wrong("expected an unsigned number");
    out = head.argument;
  } else {
    if (!range.limits()) {
      range = {std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()};
    }
    std::int64_t value = 0;
    if (!get_integer(value, range)) return false;
    out = static_cast<Number>(value);
  }
  return true;
}

template <class Table, class Value>
bool Decoder::get_name(const Table& table, Value& out, const char* expected) {
  const cbor::Head head = cursor_.head();
  if (head.major == cbor::Major::text) {
    const std::string_view text = cursor_.content(head);
    for (const auto& [value, name] : table) {
      if (name != text) continue;
      out = value;
      return true;
    }
  }
  return wrong(expected);
}

template <class T>
bool Decoder::get(std::vector<T>& out, Range range) {
  std::uint64_t count = 0;
  if (!get_list(count)) return false;
  // check() has verified the count. The reservation is limited nevertheless, because an item may be
  // one byte on the wire but large in memory.
  constexpr std::uint64_t kReserved = 1024;
  out.clear();
  out.reserve(static_cast<std::size_t>(count < kReserved ? count : kReserved));
  for (std::uint64_t i = 0; i < count; ++i) {
    bool ok = false;
    if constexpr (requires(T & item) { get(item, range); }) {
      ok = get(out.emplace_back(), range);
    } else {
      ok = get(out.emplace_back());
    }
    if (!ok) return inside(static_cast<std::size_t>(i));
  }
  return true;
}

template <class Owner, class Member>
bool Decoder::get_field(const Field<Owner, Member>& field, std::size_t offset, Owner& out) {
  if (offset == kMissing) {
    what_ = "it is missing";
    return inside(field.name);
  }
  cursor_ = cbor::Cursor(payload_, offset);
  bool ok = false;
  if constexpr (requires { get(out.*field.member, field.range); }) {
    ok = get(out.*field.member, field.range);
  } else {
    ok = get(out.*field.member);
  }
  return ok || inside(field.name);
}

template <HasFields T>
bool Decoder::get(T& out) {
  return std::apply(
      [&](const auto&... each) {
        constexpr std::size_t kCount = sizeof...(each);
        // One element more than needed: a message without fields would otherwise need an array of
        // size 0.
        const std::array<std::string_view, kCount + 1> names = {each.name...};
        std::array<std::size_t, kCount + 1> offsets{};
        offsets.fill(kMissing);
        if (!locate(names.data(), offsets.data(), kCount)) return false;
        const cbor::Cursor behind = cursor_;
        [[maybe_unused]] std::size_t index = 0;
        if (!(get_field(each, offsets[index++], out) && ...)) return false;
        cursor_ = behind;
        return consistent(out);
      },
      kFields<T>);
}

}  // namespace dlaunch::wire
