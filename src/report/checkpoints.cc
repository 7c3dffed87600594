#include "report/checkpoints.h"

#include <algorithm>

#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

std::string shown(const CheckpointAccount::Item& item) {
  return plain_line(item.path) + " (" + size_text(item.bytes) + ')';
}

void write_item(JsonText& json, std::string_view name,
                const std::optional<CheckpointAccount::Item>& item) {
  json.key(name);
  if (!item) {
    json.null();
    return;
  }
  json.begin_object().key("path").string(item->path).key("bytes").number(item->bytes);
  json.key("age_s").billionths(item->age.count()).end_object();
}

}  // namespace

void CheckpointTally::merge(std::map<std::string, Seen>& all, const CheckpointItem& item,
                            WallTime at) {
  const auto age = std::max(std::chrono::nanoseconds(at - item.written), std::chrono::nanoseconds(0));
  const auto [known, is_new] = all.try_emplace(item.path, Seen{{}, age});
  known->second.age = std::min(known->second.age, age);
  const std::pair copy(item.bytes, item.written);
  if (!contains(known->second.copies, copy)) known->second.copies.push_back(copy);
}

void CheckpointTally::add(const std::string& node, const CheckpointsFound& found) {
  for (const CheckpointItem& item : found.written) merge(written_, item, found.at);
  for (const CheckpointItem& item : found.older) merge(older_, item, found.at);
  unlisted_ = std::max(unlisted_, found.unlisted);
  if (!found.problem.empty()) lacks(node + ": " + found.problem);
}

CheckpointAccount::Item CheckpointTally::newest(const std::map<std::string, Seen>& all) {
  const auto found = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.age < b.second.age;
  });
  CheckpointAccount::Item item{found->first, 0, found->second.age};
  for (const auto& copy : found->second.copies) item.bytes += copy.first;
  return item;
}

CheckpointAccount CheckpointTally::account() const {
  CheckpointAccount account;
  account.problems = problems_;
  account.written = static_cast<std::uint32_t>(written_.size()) + unlisted_;
  for (const auto& [path, seen] : written_) {
    for (const auto& copy : seen.copies) account.bytes += copy.first;
  }
  if (!written_.empty()) {
    account.latest = newest(written_);
  } else if (!older_.empty()) {
    account.older = newest(older_);
  }
  return account;
}

std::string checkpoint_text(const CheckpointAccount& account,
                            const std::vector<std::string>& patterns) {
  std::string text;
  if (account.latest) {
    text = "saved " + shown(*account.latest) + ' ' + duration_text(account.latest->age) + " before the end";
    if (account.written > 1)
      text += ", the last of " + std::to_string(account.written) + " in this attempt (" +
              size_text(account.bytes) + ')';
  } else {
    text = "no checkpoint was written in this attempt";
    text += account.older ? "; the last one is " + shown(*account.older) + ", written " +
                                duration_text(account.older->age) + " before the end"
                          : "; nothing matches " + plain_line(joined(patterns));
  }
  for (const std::string& problem : account.problems) text += "; " + plain_line(problem);
  return text;
}

void write_checkpoint(JsonText& json, const CheckpointAccount& account) {
  json.key("written").number(account.written).key("bytes").number(account.bytes);
  write_item(json, "latest", account.latest);
  write_item(json, "older", account.older);
  json.key("problems").begin_array();
  for (const std::string& problem : account.problems) json.string(problem);
  json.end_array();
}

bool is_saved(const CheckpointsOfNodes& before, const CheckpointsOfNodes& previous,
              const CheckpointsOfNodes& now) {
  const auto has_new = [&](const auto& node) {
    const auto old = before.find(node.first);
    return std::any_of(node.second.begin(), node.second.end(), [&](const CheckpointItem& item) {
      return old == before.end() || !contains(old->second, item);
    });
  };
  return now == previous && std::any_of(now.begin(), now.end(), has_new);
}

}  // namespace dlaunch
