#include "report/verdict_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

std::vector<RankOnHost> members_of(const StandingGroup& group) {
  std::vector<RankOnHost> members;
  for (const Standing* one : group) {
    if (members.empty() || members.back().rank != one->rank)
      members.push_back({one->rank, one->host, 1});
  }
  return members;
}

std::string counted_as(const StandingGroup& group, std::size_t count, std::string_view more) {
  const auto workers = std::count_if(group.begin(), group.end(),
                                     [](const Standing* one) { return one->worker != 0; });
  const std::string noun(more);
  if (workers == 0) return counted(count, noun + "rank");
  if (static_cast<std::size_t>(workers) == group.size()) return counted(count, noun + "worker");
  return std::to_string(count) + ' ' + noun + (count == 1 ? "process" : "processes");
}

std::string workers_in(const StandingGroup& group) {
  const bool are_ranks =
      std::all_of(group.begin(), group.end(), [](const Standing* one) { return one->worker == 0; });
  if (are_ranks) return "";
  return (group.size() == 1 ? "worker pid " + std::to_string(group.front()->worker)
                            : counted_as(group, group.size())) +
         " of ";
}

std::string subject_of(const StandingGroup& group) {
  const auto members = members_of(group);
  return workers_in(group) + ranks_of(members) + " on " + hosts_of(members);
}

std::string place_of(const Standing& one, Length length) {
  const std::string& name = one.operation.empty() ? one.function : one.operation;
  const std::string& place = length == Length::line ? one.path : one.place;
  if (name.empty()) return "";
  return plain_line(place.empty() ? name : name + " (" + place + ')');
}

std::string after_word(std::string_view word, const std::string& text) {
  return text.empty() ? "" : std::string(word) + text;
}

std::string state_in_words(const Standing& one, Length length) {
  const std::string place = place_of(one, length);
  const std::string in_place = after_word(" in ", place);
  const std::string detail = plain_line(one.detail);
  using Why = Standing::Why;
  switch (one.why) {
    case Why::stopped:
    case Why::blocked:
      return "is " + detail + in_place;
    case Why::ended:
      return "has ended";
    case Why::dead_loader:
      return "waits for data loaders that have ended" + in_place;
    case Why::deadlock:
      return "has threads that wait for locks: " + detail;
    case Why::loader:
      return "waits for data" + in_place + after_word("; ", detail);
    case Why::starved:
      return "is" + in_place + ", waiting for a CPU most of the time";
    case Why::elsewhere:
      break;
    case Why::ranks:
      return "waits" + in_place;
  }
  if (one.is_busy) return "is busy" + in_place;
  if (place.empty()) return detail.empty() ? "is in an unknown place" : "is " + detail;
  return "is in " + place + (length == Length::line ? after_word(", ", detail) : "");
}

std::string state_in_words(const StandingGroup& group, Length length) {
  std::string text = state_in_words(*group.front(), length);
  if (group.size() == 1) return text;
  static constexpr std::pair<std::string_view, std::string_view> kPlural[] = {
      {"is ", "are "}, {"has ", "have "}, {"waits", "wait"}, {"stands ", "stand "}};
  for (const auto& [one, many] : kPlural) {
    if (text.starts_with(one)) return std::string(many) + text.substr(one.size());
  }
  return text;
}

std::string clause_of(const StandingGroup& group) {
  return subject_of(group) + ' ' + state_in_words(group, Length::headline);
}

std::string time_text_of(std::chrono::milliseconds time) {
  const auto whole = std::chrono::round<std::chrono::seconds>(time);
  if (whole < std::chrono::seconds(2) || whole >= std::chrono::seconds(60))
    return duration_text(time);
  return std::to_string(whole.count()) + " s";
}

}  // namespace dlaunch
