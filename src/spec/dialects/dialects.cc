#include <array>

#include "spec/dialects/dialect_list.h"

namespace dlaunch::spec {

// In the order of job-file keys that are theirs alone: apiVersion, $schema, trainingInput,
// workerPoolSpecs, distributed_type, communicator; the last one goes by several.
std::span<const Dialect> dialects() {
  static const std::array<Dialect, 6> kDialects{kKubeflow,   kAiPlatform, kVertexAi,
                                                kAccelerate, kAzureV1,    kAzureV2};
  return kDialects;
}

}  // namespace dlaunch::spec
