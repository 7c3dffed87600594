#include "cli/smoke_test.h"

#include <cstdlib>

#include "fabric/node_facts.h"
#include "plan/smoke.h"

namespace dlaunch {

std::string make_smoke_test(const JobOptions& options, LoadedJob& job) {
  NodeFacts facts;
  facts.gpus = fabric::read_gpus("");
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    facts.cuda_visible_devices = visible;
  SmokeInput input;
  input.gpus = count_usable_gpus(job.spec, facts);
  input.count_given = !options.processes.empty() || !options.per_node.empty() ||
                      is_set(options, "processes") || is_set(options, "processes_per_node");
  input.run_limit_given = is_set(options, "timeouts.run");
  input.stop_given = is_set(options, "timeouts.stop");
  input.prefix_given = is_set(options, "logs.prefix");
  input.ignored = job.ignored;
  SmokeJob smoke = make_smoke_job(std::move(job.spec), input);
  job.spec = std::move(smoke.spec);
  job.record.note = "dlaunch run --smoke: " + smoke.line;
  job.record.again += " --smoke";
  return smoke.line;
}

}  // namespace dlaunch
