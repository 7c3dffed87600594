// TF_CONFIG, as tf.distribute.cluster_resolver.TFConfigClusterResolver reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/launch_plan.h"

namespace dlaunch {

/// The part that is the same for every task: {"chief":["h:p"],"ps":[...],"worker":[...]}. Each
/// rank's address is its node's, with its first port. Ranks are in order of their role, and role
/// ranks in order within it.
[[nodiscard]] std::string tf_cluster(const std::vector<RankPlan>& ranks,
                                     const std::vector<NodePlan>& nodes);

/// {"cluster":CLUSTER,"environment":"cloud","task":{"index":1,"type":"worker"}}
[[nodiscard]] std::string tf_config(std::string_view cluster, std::string_view type,
                                    std::uint32_t index);

}  // namespace dlaunch
