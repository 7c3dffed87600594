#include "report/json_values.h"

#include <nlohmann/json.hpp>

namespace dlaunch {

using nlohmann::json;

namespace {
const json kNone;
}

const json& json_member(const json& object, const char* name) {
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

const json& json_item(const json& array, std::size_t index) {
  return array.is_array() && index < array.size() ? array[index] : kNone;
}

std::string json_text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "";
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

double json_real(const json& object, const char* name, double otherwise) {
  const json& value = json_member(object, name);
  return value.is_number() ? value.get<double>() : otherwise;
}

}  // namespace dlaunch
