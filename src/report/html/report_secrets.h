// Values of variables whose names look secret, such as API_KEY: a report, which is made to be
// shared, has *** in their place. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace dlaunch {

class ReportSecrets {
 public:
  /// Masks them among the variables of plan.json, and remembers them.
  void take_from_plan(nlohmann::json& plan);
  /// The text of job.yaml without those of its `env`, which are remembered, and with *** for each
  /// value of 4 characters or more, wherever it stands.
  [[nodiscard]] std::string take_from_job(std::string_view yaml);

  /// The text with *** for each value of 8 characters or more; shorter ones stand in other words.
  [[nodiscard]] std::string masked(std::string text) const;
  /// Likewise each string of the value.
  void mask(nlohmann::json& value) const;

 private:
  void remember(std::string value);
  [[nodiscard]] std::string masked(std::string text, std::size_t least) const;

  struct LongestFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::set<std::string, LongestFirst> values_;  // one may begin with another
};

}  // namespace dlaunch
