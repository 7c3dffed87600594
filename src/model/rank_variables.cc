#include "model/rank_variables.h"

namespace dlaunch {

std::string rank_variable_pattern(Framework framework) {
  std::string pattern = "^(" + std::string(kOwnVariablePrefix);
  if (framework == Framework::none) return pattern + ")";
  for (const std::string_view prefix : kWireUpPrefixes) pattern += "|" + std::string(prefix);
  std::string names;
  for (const RankVariable& one : kRankVariables) {
    if (applies(one.of, framework)) names += (names.empty() ? "" : "|") + std::string(one.name);
  }
  return pattern + "|(" + names + ")$)";
}

}  // namespace dlaunch
