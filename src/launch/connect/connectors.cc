// The table of connectors.
#include <algorithm>
#include <array>

#include "launch/connect/connector.h"

namespace dlaunch {

extern const Connector kCommandConnector;
extern const Connector kKubectlConnector;
extern const Connector kLocalConnector;
extern const Connector kSlurmConnector;
extern const Connector kSshConnector;

std::span<const Connector* const> connectors() {
  static constexpr std::array kRows = {&kLocalConnector, &kSshConnector, &kSlurmConnector,
                                       &kKubectlConnector, &kCommandConnector};
  return kRows;
}

const Connector* find_connector(std::string_view name) {
  const auto rows = connectors();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Connector* row) { return row->name == name; });
  return found == rows.end() ? nullptr : *found;
}

}  // namespace dlaunch
