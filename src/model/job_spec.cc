#include "model/job_spec.h"

namespace dlaunch {

std::string_view name_of(Framework framework) {
  switch (framework) {
    case Framework::pytorch:
      return "pytorch";
    case Framework::tensorflow:
      return "tensorflow";
    case Framework::mpi:
      return "mpi";
    case Framework::horovod:
      return "horovod";
    case Framework::deepspeed:
      return "deepspeed";
    case Framework::jax:
      return "jax";
    case Framework::gcp:
      return "gcp";
    case Framework::none:
      return "none";
  }
  return "";
}

bool uses_mpi(Framework framework) {
  return framework == Framework::mpi || framework == Framework::horovod;
}

bool is_torch(Framework framework) {
  return framework == Framework::pytorch || framework == Framework::deepspeed;
}

std::string_view name_of(Launch launch) {
  switch (launch) {
    case Launch::per_process:
      return "per-process";
    case Launch::per_node:
      return "per-node";
    case Launch::once:
      return "once";
  }
  return "";
}

std::string as_typed(const JobSpec& spec, const std::string& key, const std::string& value) {
  const auto typed = spec.typed.find(key);
  return typed != spec.typed.end() ? typed->second : '"' + key + ": " + value + '"';
}

std::string too_few_hosts(const JobSpec& spec, std::size_t given, const std::string& origin) {
  const int least = spec.nodes ? spec.nodes->min : 1;
  const std::string wanted = std::to_string(least);
  const bool is_elastic = spec.nodes && spec.nodes->min != spec.nodes->max;
  const std::string has = std::to_string(given);
  return as_typed(spec, "nodes", is_elastic ? "{min: " + wanted + ", ...}" : wanted) +
         " but only " + (given == 1 ? "1 host is given" : has + " hosts are given") +
         (origin.empty() ? "" : " (" + origin + ")") + "; name " + wanted +
         " with --hosts, or run on " + has + " with --nnodes " + has;
}

}  // namespace dlaunch
