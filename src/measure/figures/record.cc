#include "measure/figures/record.h"

#include <utility>

#include "text/json_text.h"

namespace dlaunch::measure {

namespace {

template <class T>
T value_in(const std::map<std::string, Record::Value>& values, const std::string& key) {
  const auto found = values.find(key);
  if (found == values.end()) return T();
  const T* value = std::get_if<T>(&found->second);
  return value != nullptr ? *value : T();
}

void append(std::string& out, double value) {
  append_number(out, value);
}

void append(std::string& out, const std::string& value) {
  append_json_string(out, value);
}

template <class T>
void append(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    append(out, values[i]);
  }
  out += ']';
}

}  // namespace

void append_number(std::string& out, double value) {
  append_real(out, value);
}

Record& Record::set(const std::string& key, double value) {
  values_.insert_or_assign(key, value);
  return *this;
}

Record& Record::set(const std::string& key, std::string value) {
  values_.insert_or_assign(key, std::move(value));
  return *this;
}

Record& Record::set(const std::string& key, std::vector<double> values) {
  values_.insert_or_assign(key, std::move(values));
  return *this;
}

Record& Record::set(const std::string& key, std::vector<std::string> values) {
  values_.insert_or_assign(key, std::move(values));
  return *this;
}

double Record::number(const std::string& key) const {
  return value_in<double>(values_, key);
}

std::string Record::text(const std::string& key) const {
  return value_in<std::string>(values_, key);
}

std::vector<double> Record::numbers(const std::string& key) const {
  return value_in<std::vector<double>>(values_, key);
}

std::vector<std::string> Record::texts(const std::string& key) const {
  return value_in<std::vector<std::string>>(values_, key);
}

std::string to_json(const Record& record) {
  std::string out = "{\"record\":";
  append_json_string(out, record.kind_);
  for (const auto& [key, value] : record.values_) {
    out += ',';
    append_json_string(out, key);
    out += ':';
    std::visit([&](const auto& one) { append(out, one); }, value);
  }
  return out + '}';
}

}  // namespace dlaunch::measure
