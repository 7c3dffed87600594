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

}  // namespace dlaunch
