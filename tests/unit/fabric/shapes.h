// Machines of tests/data/fabric/shapes.py, as folders that the build makes.
#pragma once

#include <string>

#include "fabric/fabric_facts.h"
#include "fabric/node_facts.h"

namespace dlaunch::fabric {

inline std::string shape(const std::string& name) {
  return std::string(DLAUNCH_FABRIC_SHAPES) + "/" + name;
}

inline FabricFacts facts_of(const std::string& name) {
  const std::string root = shape(name);
  return read_fabric(root, read_gpus(root), "");
}

}  // namespace dlaunch::fabric
