// Replaces the values of variables whose names look secret, such as API_KEY, by ***, because users
// share reports. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace dlaunch {

class ReportSecrets {
 public:
  /// Masks the secret values among the variables of plan.json, and remembers them.
  void take_from_plan(nlohmann::json& plan);
  /// The text of job.yaml in which *** replaces the secret values of its `env`, which are
  /// remembered, and every occurrence of a remembered value of 4 characters or more.
  [[nodiscard]] std::string take_from_job(std::string_view yaml);

  /// The text with *** in place of each remembered value of 8 characters or more; shorter ones may
  /// be parts of other words.
  [[nodiscard]] std::string masked(std::string text) const;
  /// Masks each string in the JSON value in the same way.
  void mask(nlohmann::json& value) const;

 private:
  void remember(std::string value);
  [[nodiscard]] std::string masked(std::string text, std::size_t least) const;

  struct LongestFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::set<std::string, LongestFirst> values_;  // longest first, because one may begin with another
};

}  // namespace dlaunch
