// The settings of measuring ranks, as words of their command line: "op=all_reduce". Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/result.h"

namespace dlaunch::measure {

class Settings {
 public:
  Settings& set(const std::string& key, std::string value);
  Settings& set(const std::string& key, std::uint64_t value);

  /// "key=value" each, in the order of the keys.
  [[nodiscard]] std::vector<std::string> words() const;

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise = "") const;
  /// Returns `otherwise` also if the value is not a number.
  [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t otherwise = 0) const;
  [[nodiscard]] bool flag(const std::string& key) const { return number(key) != 0; }

  bool operator==(const Settings&) const = default;

 private:
  std::map<std::string, std::string> values_;
};

/// Errors: kUsage: a word without "=", or a key twice.
[[nodiscard]] Result<Settings> read_settings(const std::vector<std::string>& words);

}  // namespace dlaunch::measure
