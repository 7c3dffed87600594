// TF_CONFIG in the form of tf.distribute.cluster_resolver.TFConfigClusterResolver, and
// CLUSTER_SPEC, Google's variable of the same form ("Distributed training with
// containers", AI Platform Training; "Distributed training", Vertex AI).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

enum class ClusterForm {
  /// chief, worker, ps. The evaluator is not part of the training cluster
  /// (tf.estimator.train_and_evaluate, "Distributed training"; AI Platform: the cluster never has
  /// the key evaluator).
  tensorflow,
  /// As `tensorflow`, but the chief has its older name: master.
  tensorflow_master,
  /// Every replica: chief, worker, ps, evaluator.
  tensorflow_all,
  /// Every replica; the chief has its older name: master, worker, ps, evaluator.
  cluster_spec,
  /// Every replica, named by the position of its group: workerpool0 (the chief), workerpool1
  /// (workers), workerpool2 (ps), workerpool3 (evaluator).
  worker_pools,
};

/// The form of TF_CONFIG, and of CLUSTER_SPEC, in this job.
[[nodiscard]] ClusterForm tf_config_form(const JobSpec& spec);
[[nodiscard]] ClusterForm cluster_spec_form(const JobSpec& spec);

/// The name of a role as a task type and as a key of the cluster.
[[nodiscard]] std::string_view task_type(ClusterForm form, std::string_view role);

/// Whether tasks of the role have an address in the cluster.
[[nodiscard]] bool has_address(ClusterForm form, std::string_view role);

/// The part common to all tasks: {"chief":["h:p"],"worker":[...],"ps":[...]}. A rank's address
/// consists of its node's address and the rank's first port. `ranks` must be in order of role and
/// role rank.
[[nodiscard]] std::string cluster_text(ClusterForm form, const std::vector<RankPlan>& ranks,
                                       const std::vector<NodePlan>& nodes);

/// {"cluster":CLUSTER,"environment":"cloud","task":{"index":1,"type":"worker"}}. `job`: the value
/// of a member "job", which is omitted if `job` is empty.
[[nodiscard]] std::string tf_config(std::string_view cluster, std::string_view type,
                                    std::uint32_t index, std::string_view job = {});

}  // namespace dlaunch
