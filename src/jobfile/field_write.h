// Stores a Value in JobSpec: to<&JobSpec::timeouts, &Timeouts::stop> is the `write` of a row.
// Conversions are overloads of assign(). A value that does not have the kind of its row is a
// programming error: it throws std::bad_variant_access, which the tests of the table would reveal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "jobfile/field_table.h"

namespace dlaunch::jobfile {

[[nodiscard]] inline int word_value(const Value& value) {
  return std::get<const Keyword*>(value)->value;
}
[[nodiscard]] inline bool is_word(const Value& value) {
  return std::holds_alternative<const Keyword*>(value);
}

inline void assign(bool& to, const Value& value) {
  to = std::get<bool>(value);
}

inline void assign(std::string& to, const Value& value) {
  to = is_word(value) ? std::string(std::get<const Keyword*>(value)->text)
                      : std::get<std::string>(value);
}

template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) void assign(T& to, const Value& value) {
  to = static_cast<T>(is_word(value) ? word_value(value) : std::get<std::int64_t>(value));
}

template <class T>
requires std::is_enum_v<T>
void assign(T& to, const Value& value) {
  to = static_cast<T>(word_value(value));
}

inline void assign(Duration& to, const Value& value) {
  to = std::get<Duration>(value);
}

inline void assign(std::optional<Duration>& to, const Value& value) {
  to = is_word(value) ? std::nullopt : std::optional(std::get<Duration>(value));
}

inline void assign(std::optional<double>& to, const Value& value) {
  to = is_word(value) ? std::nullopt : std::optional(std::get<double>(value));
}

inline void assign(std::optional<std::uint32_t>& to, const Value& value) {
  to = static_cast<std::uint32_t>(std::get<std::int64_t>(value));
}

inline void assign(std::optional<int>& to, const Value& value) {
  to = static_cast<int>(std::get<std::int64_t>(value));
}

inline void assign(std::vector<std::string>& to, const Value& value) {
  to = std::get<std::vector<std::string>>(value);
}

template <class T>
requires std::is_integral_v<T>
void assign(std::vector<T>& to, const Value& value) {
  to.clear();
  for (const std::int64_t number : std::get<std::vector<std::int64_t>>(value)) {
    to.push_back(static_cast<T>(number));
  }
}

template <class T>
requires std::is_enum_v<T>
void assign(std::vector<T>& to, const Value& value) {
  to.clear();
  for (const Keyword* word : std::get<std::vector<const Keyword*>>(value))
    to.push_back(static_cast<T>(word->value));
}

inline void assign(Environment& to, const Value& value) {
  to = std::get<Environment>(value);
}

inline void assign(std::map<std::string, std::string>& to, const Value& value) {
  const auto& from = std::get<Environment>(value);
  to = {from.begin(), from.end()};
}

inline void assign(Command& to, const Value& value) {
  to = std::get<Command>(value);
}
inline void assign(std::optional<Command>& to, const Value& value) {
  to = std::get<Command>(value);
}

inline void assign(std::optional<NodeRange>& to, const Value& value) {
  const int count = static_cast<int>(std::get<std::int64_t>(value));
  to = NodeRange{count, count};
}

inline void assign(ProcessesPerNode& to, const Value& value) {
  if (is_word(value)) {
    to = {static_cast<ProcessesPerNode::Kind>(word_value(value)), 0};
  } else {
    to = {ProcessesPerNode::Kind::count, static_cast<int>(std::get<std::int64_t>(value))};
  }
}

/// Steps into a member on the way to another one: gives an empty optional a value, selects the last
/// item of a list.
template <class T>
T& step_into(T& member) {
  return member;
}
template <class T>
T& step_into(std::optional<T>& member) {
  if (!member) member.emplace();
  return *member;
}
template <class T>
T& step_into(std::vector<T>& member) {
  return member.back();
}

template <auto Member, auto... Rest, class T>
auto& follow(T& object) {
  if constexpr (sizeof...(Rest) == 0) {
    return object.*Member;
  } else {
    return follow<Rest...>(step_into(object.*Member));
  }
}

template <auto... Path>
void to(JobSpec& job, const Value& value) {
  assign(follow<Path...>(job), value);
}

/// Begins the next item of a list of mappings.
template <auto... Path>
void add_to(JobSpec& job, const Value&) {
  follow<Path...>(job).emplace_back();
}

/// hosts: auto, or the next item of the list.
void begin_host(JobSpec& job, const Value& value);
/// restart.backoff: both ends of the range.
void put_backoff(JobSpec& job, const Value& value);
/// logs.console: a word, or the ranks to show.
void put_console(JobSpec& job, const Value& value);
/// metrics: patterns, and the file for Prometheus.
void put_metrics(JobSpec& job, const Value& value);
/// stdin: auto, none, or a rank.
void put_stdin(JobSpec& job, const Value& value);
/// Why a text is not a valid value of stdin, phrased to follow "stdin: "; empty: it is valid.
[[nodiscard]] std::string problem_of_stdin(std::string_view text);

/// A literal as an argument of a template.
template <std::size_t N>
struct Literal {
  constexpr Literal(const char (&text)[N]) { std::copy_n(text, N, characters); }  // NOLINT
  char characters[N];
};

/// Begins a role: with its count, or with a mapping whose keys follow.
template <Literal Name>
void begin_role(JobSpec& job, const Value& value) {
  RoleSpec& role = job.roles.emplace_back();
  role.name = Name.characters;
  if (const auto* count = std::get_if<std::int64_t>(&value)) role.count = static_cast<int>(*count);
}

/// Stores a text that has no member in JobSpec: to_setting<"namespace"> writes Connect::settings.
template <Literal Name>
void to_setting(JobSpec& job, const Value& value) {
  job.connect.settings[Name.characters] = std::get<std::string>(value);
}

}  // namespace dlaunch::jobfile
