#include "plan/tf_config.h"

#include "model/ip_address.h"
#include "text/json_text.h"

namespace dlaunch {

ClusterForm tf_config_form(const JobSpec& spec) {
  const bool is_gcp = spec.framework == Framework::gcp;
  const bool says_master = is_gcp ? spec.gcp.tf_config == GcpNames::Chief::master
                                  : spec.tensorflow.chief == TfCluster::Chief::master;
  const bool lists_all = !is_gcp && spec.tensorflow.evaluator == TfCluster::Evaluator::listed;
  if (lists_all) return says_master ? ClusterForm::cluster_spec : ClusterForm::tensorflow_all;
  return says_master ? ClusterForm::tensorflow_master : ClusterForm::tensorflow;
}

ClusterForm cluster_spec_form(const JobSpec& spec) {
  return spec.gcp.cluster_spec == GcpNames::Groups::pools ? ClusterForm::worker_pools
                                                          : ClusterForm::cluster_spec;
}

std::string_view task_type(ClusterForm form, std::string_view role) {
  if (form == ClusterForm::worker_pools) {
    if (role == "chief") return "workerpool0";
    if (role == "worker") return "workerpool1";
    return role == "ps" ? "workerpool2" : "workerpool3";
  }
  const bool says_master =
      form == ClusterForm::tensorflow_master || form == ClusterForm::cluster_spec;
  return says_master && role == "chief" ? "master" : role;
}

bool has_address(ClusterForm form, std::string_view role) {
  const bool lists_all = form != ClusterForm::tensorflow && form != ClusterForm::tensorflow_master;
  return lists_all || role != "evaluator";
}

std::string cluster_text(ClusterForm form, const std::vector<RankPlan>& ranks,
                         const std::vector<NodePlan>& nodes) {
  std::string out = "{";
  const std::string* role = nullptr;
  for (const RankPlan& rank : ranks) {
    if (!has_address(form, rank.role)) continue;
    if (role == nullptr || *role != rank.role) {
      if (role != nullptr) out += "],";
      append_json_string(out, task_type(form, rank.role));
      out += ":[";
    } else {
      out += ',';
    }
    role = &rank.role;
    append_json_string(out, host_and_port(nodes[rank.node.value].address, rank.ports.front()));
  }
  return out + (role == nullptr ? "}" : "]}");
}

std::string tf_config(std::string_view cluster, std::string_view type, std::uint32_t index,
                      std::string_view job) {
  std::string out;
  out.reserve(cluster.size() + type.size() + job.size() + 80);
  out += "{\"cluster\":";
  out += cluster;
  out += ",\"environment\":\"cloud\",";
  if (!job.empty()) {
    out += "\"job\":";
    out += job;
    out += ',';
  }
  out += "\"task\":{\"index\":";
  out += std::to_string(index);
  out += ",\"type\":";
  append_json_string(out, type);
  return out + "}}";
}

}  // namespace dlaunch
