#include "node/ranks/environment_block.h"

#include <algorithm>

namespace dlaunch {

namespace {

bool is_scrubbed(const std::string& name, const std::vector<std::string>& scrub) {
  return std::any_of(scrub.begin(), scrub.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, name); });
}

}  // namespace

EnvironmentBase::EnvironmentBase(Environment inherited, const std::vector<std::string>& scrub,
                                 const Environment& defaults, const Environment& shared)
    : variables_(std::move(inherited)) {
  std::erase_if(variables_, [&](const auto& entry) { return is_scrubbed(entry.first, scrub); });
  variables_.insert(defaults.begin(), defaults.end());
  for (const auto& [name, value] : shared) variables_.insert_or_assign(name, value);
}

EnvironmentBlock::EnvironmentBlock(const EnvironmentBase& base, const Environment& own) {
  const Environment& shared = base.variables();
  strings_.reserve(shared.size() + own.size());
  const auto add = [this](const auto& entry) {
    strings_.push_back(entry.first + '=' + entry.second);
    if (entry.first == "PATH") search_path_ = entry.second;
  };
  // Merges two lists that are ordered by name; the rank's own variables win.
  auto left = shared.begin();
  auto right = own.begin();
  while (left != shared.end() || right != own.end()) {
    if (right == own.end() || (left != shared.end() && left->first < right->first)) {
      add(*left++);
    } else {
      if (left != shared.end() && left->first == right->first) ++left;
      add(*right++);
    }
  }
  if (!shared.contains("PATH") && !own.contains("PATH")) search_path_ = kDefaultSearchPath;
  pointers_.reserve(strings_.size() + 1);
  for (const std::string& entry : strings_) pointers_.push_back(entry.c_str());
  pointers_.push_back(nullptr);
}

}  // namespace dlaunch
