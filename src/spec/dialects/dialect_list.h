// The dialects, each defined in a file of its own.
#pragma once

#include "spec/dialects/dialect.h"

namespace dlaunch::spec {

extern const Dialect kAzureV1;
extern const Dialect kAzureV2;
extern const Dialect kAiPlatform;
extern const Dialect kVertexAi;
extern const Dialect kKubeflow;
extern const Dialect kAccelerate;

}  // namespace dlaunch::spec
