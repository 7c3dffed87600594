// Encodes values as CBOR according to the field table.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "wire/cbor.h"
#include "wire/fields.h"

namespace dlaunch::wire {

class Encoder {
 public:
  explicit Encoder(std::string& out) : writer_(out) {}

  void put(bool value) { writer_.boolean(value); }
  template <std::integral Number>
  void put(Number value) {
    if constexpr (std::signed_integral<Number>) {
      writer_.number(static_cast<std::int64_t>(value));
    } else {
      writer_.number(static_cast<std::uint64_t>(value));
    }
  }
  template <class Tag>
  void put(Id<Tag> id) {
    put(id.value);
  }
  void put(Stream stream) { put(static_cast<std::uint8_t>(stream)); }
  void put(OutputPart part) { put(static_cast<std::uint8_t>(part)); }
  void put(SyncEntry::Kind kind) { put(static_cast<std::uint8_t>(kind)); }
  void put(WallTime at) { put(at.time_since_epoch().count()); }
  void put(StartFailure::Step step) {
    for (const auto& [known, name] : kStepNames) {
      if (known == step) writer_.text(name);
    }
  }
  void put(MpiEnd end) {
    for (const auto& [known, name] : kMpiEndNames) {
      if (known == end) writer_.text(name);
    }
  }
  void put(NetworkInterface::Kind kind) {
    for (const auto& [known, name] : kInterfaceKindNames) {
      if (known == kind) writer_.text(name);
    }
  }
  template <HasNames Value>
  void put(Value value) {
    writer_.text(name_in(kNamesOf<Value>, value));
  }
  /// Bytes, not text: strings from Unix have no known encoding, and CBOR text must be UTF-8.
  void put(const std::string& value) { writer_.bytes(value); }
  void put(const std::optional<std::string>& value) {
    if (value) {
      put(*value);
    } else {
      writer_.null();
    }
  }
  void put(const Environment& env) {
    writer_.head(cbor::Major::array, env.size());
    for (const auto& [name, value] : env) writer_.bytes(name, "=", value);
  }
  template <class T>
  void put(const std::vector<T>& list) {
    writer_.head(cbor::Major::array, list.size());
    for (const T& item : list) put(item);
  }
  template <HasFields T>
  void put(const T& value) {
    std::apply(
        [&](const auto&... each) {
          writer_.head(cbor::Major::map, sizeof...(each));
          ((writer_.text(each.name), put(value.*each.member)), ...);
        },
        kFields<T>);
  }

 private:
  cbor::Writer writer_;
};

}  // namespace dlaunch::wire
