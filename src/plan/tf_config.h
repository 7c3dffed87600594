// TF_CONFIG, as tf.distribute.cluster_resolver.TFConfigClusterResolver reads it, and CLUSTER_SPEC,
// Google's variable of the same form ("Distributed training with containers", AI Platform Training;
// "Distributed training", Vertex AI).
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
  /// The same, with the chief under its older name: master.
  tensorflow_master,
  /// Every replica: chief, worker, ps, evaluator.
  tensorflow_all,
  /// Every replica, the chief under its older name: master, worker, ps, evaluator.
  cluster_spec,
  /// Every replica, by the place of its group: workerpool0 (the chief), workerpool1 (workers),
  /// workerpool2 (ps), workerpool3 (evaluator).
  worker_pools,
};

/// The form that TF_CONFIG, and CLUSTER_SPEC, has in this job.
[[nodiscard]] ClusterForm tf_config_form(const JobSpec& spec);
[[nodiscard]] ClusterForm cluster_spec_form(const JobSpec& spec);

/// What a role is called as task type, and as key of the cluster.
[[nodiscard]] std::string_view task_type(ClusterForm form, std::string_view role);

/// Whether tasks of the role have an address in the cluster.
[[nodiscard]] bool has_address(ClusterForm form, std::string_view role);

/// The part that is the same for every task: {"chief":["h:p"],"worker":[...],"ps":[...]}. Each
/// rank's address is its node's, with its first port. Ranks are in order of their role, and role
/// ranks in order within it.
[[nodiscard]] std::string cluster_text(ClusterForm form, const std::vector<RankPlan>& ranks,
                                       const std::vector<NodePlan>& nodes);

/// {"cluster":CLUSTER,"environment":"cloud","task":{"index":1,"type":"worker"}}. `job`: the text of
/// a member "job", none where it is empty.
[[nodiscard]] std::string tf_config(std::string_view cluster, std::string_view type,
                                    std::uint32_t index, std::string_view job = {});

}  // namespace dlaunch
