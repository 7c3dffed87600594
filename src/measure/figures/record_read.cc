// Separate from record.cc because the ranks' program only writes records.
#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "measure/figures/record.h"

namespace dlaunch::measure {

namespace {

using Json = nlohmann::json;

bool all_are(const Json& list, bool (Json::*is)() const noexcept) {
  return std::all_of(list.begin(), list.end(), [&](const Json& one) { return (one.*is)(); });
}

/// False: not a value of a record.
bool take(Record& record, const std::string& key, const Json& value) {
  if (value.is_null()) return true;
  if (value.is_number()) {
    record.set(key, value.get<double>());
  } else if (value.is_string()) {
    record.set(key, value.get<std::string>());
  } else if (value.is_array() && !value.empty() && all_are(value, &Json::is_string)) {
    record.set(key, value.get<std::vector<std::string>>());
  } else if (value.is_array() && all_are(value, &Json::is_number)) {
    record.set(key, value.get<std::vector<double>>());
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<Record> read_record(std::string_view line) {
  const auto no_record = [&] {
    return fail(exit_code::kInternal,
                "rank 0 printed a line that is not a record: " + std::string(line.substr(0, 200)));
  };
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return no_record();
  const auto kind = json.find("record");
  if (kind == json.end() || !kind->is_string()) return no_record();
  Record record(kind->get<std::string>());
  for (const auto& [key, value] : json.items()) {
    if (key != "record" && !take(record, key, value)) return no_record();
  }
  return record;
}

}  // namespace dlaunch::measure
