#include "report/plan_fabric_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/rank_env.h"
#include "report/plan_layout.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

struct Found {
  const Variable* variable;
  std::vector<const NodePlan*> nodes;  // that have it with this value, for this reason
};

std::vector<Found> fabric_variables(const LaunchPlan& plan) {
  std::vector<Found> found;
  for (const NodePlan& node : plan.nodes) {
    for (const Variable& v : node.variables) {
      if (v.source != VariableSource::fabric) continue;
      const auto known = std::find_if(found.begin(), found.end(), [&](const Found& f) {
        return f.variable->name == v.name && f.variable->value == v.value &&
               f.variable->reason == v.reason;
      });
      if (known == found.end()) {
        found.push_back({&v, {&node}});
      } else {
        known->nodes.push_back(&node);
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return table_position(a.variable->name) < table_position(b.variable->name);
  });
  return found;
}

}  // namespace

void add_fabric_variables(std::string& out, const LaunchPlan& plan) {
  std::string_view label = "from fabric";
  for (const Found& f : fabric_variables(plan)) {
    std::string note = f.variable->reason;
    if (f.nodes.size() < plan.nodes.size()) {
      note = "on " + f.nodes.front()->name +
             (f.nodes.size() > 1 ? " and " + counted(f.nodes.size() - 1, "more node") : "") + ": " +
             note;
    }
    const std::string value = f.variable->name + "=" + f.variable->value;
    const std::size_t columns = std::max(kLabel + utf8_length(value) + 2, kNoteAt);
    if (columns + utf8_length(note) <= kWidth) {
      add_line(out, std::exchange(label, ""), kLabel, value, note);
      continue;
    }
    add_line(out, std::exchange(label, ""), kLabel, value, "");
    add_words(out, "", words_of(note));
  }
}

}  // namespace dlaunch
