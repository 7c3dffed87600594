#include "jobfile/job_rules.h"

namespace dlaunch::jobfile {

namespace {

constexpr JobRule kRules[] = {
    {.text = "`processes` is the total, `processes_per_node` the number on each node: only one of "
             "them (`processes_per_node: auto` counts as not given)",
     .broken = R"({"required":["processes","processes_per_node"],)"
               R"("properties":{"processes_per_node":{"not":{"const":"auto"}}}})"},
    {.text = "there are at least as many processes as nodes, and at most 100,000 in all"},
    {.text = "there are at most as many `processes` as slots, if all `hosts` have slots"},
    {.text = "`roles` determine the number of processes: not with `processes`",
     .broken = R"({"required":["processes","roles"]})"},
    {.text = "`framework: gcp` starts one process for each machine: not with `processes_per_node`",
     .broken = R"({"required":["processes_per_node","framework"],"properties":{"framework":)"
               R"({"const":"gcp"},"processes_per_node":{"not":{"const":"auto"}}}})"},
    {.text = "`hosts` and `hostfile` both select the nodes: only one of them",
     .broken = R"({"required":["hosts","hostfile"]})"},
    {.text = "`unpack` of a line of `stage` needs its `to`, the folder for the archive's content",
     .broken = R"({"required":["stage"],"properties":{"stage":{"anyOf":[)"
               R"({"$ref":"#/$defs/unpacksNowhere"},)"
               R"({"type":"array","contains":{"$ref":"#/$defs/unpacksNowhere"}}]}}})"},
    {.text = "`collect_limit` needs `collect`",
     .broken = R"({"required":["collect_limit"],"properties":{"collect":{"maxItems":0}}})"},
    {.text = "`roles` work only with `framework: tensorflow` or `gcp`",
     .broken = R"({"required":["roles"],"not":{"required":["framework"],)"
               R"("properties":{"framework":{"enum":["tensorflow","gcp"]}}}})"},
    {.text = "`roles` count processes, so they need `launch: per-process`",
     .broken = R"({"required":["roles","launch"],)"
               R"("properties":{"launch":{"enum":["per-node","once"]}}})"},
    {.text = "`roles` have at least one process",
     .broken =
         R"({"required":["roles"],"properties":{"roles":{"additionalProperties":{"$ref":"#/$defs/noProcess"}}}})"},
    {.text = "`roles` include a chief or a worker",
     .broken = R"({"required":["roles"],"properties":{"roles":{"$ref":"#/$defs/nobodyTrains"}}})"},
    {.text = "a job has at most one chief and one evaluator, in both forms of a role",
     .broken = R"({"required":["roles"],"properties":{"roles":{"anyOf":[{"required":["chief"],)"
               R"("properties":{"chief":{"$ref":"#/$defs/several"}}},{"required":["evaluator"],)"
               R"("properties":{"evaluator":{"$ref":"#/$defs/several"}}}]}}})"},
    {.text = "`success: chief` and `success: workers` need a chief or a worker",
     .broken = R"({"required":["success","roles"],"properties":{"success":{"enum":)"
               R"(["chief","workers"]},"roles":{"$ref":"#/$defs/nobodyTrains"}}})"},
    {.text = "`framework: gcp` needs a chief, which has rank 0",
     .broken = R"({"required":["roles","framework"],"properties":{"framework":{"const":"gcp"},)"
               R"("roles":{"properties":{"chief":{"$ref":"#/$defs/noProcess"}}}}})"},
    {.text = "`launch: once` starts a single process, which cannot form the cluster of "
             "`framework: tensorflow` or `gcp`",
     .broken = R"({"required":["launch","framework"],"properties":{"launch":{"const":"once"},)"
               R"("framework":{"enum":["tensorflow","gcp"]}}})"},
    {.text = "`framework: mpi` and `horovod` need `launch: per-process`; a program that starts "
             "ranks of its own, such as mpirun, needs `framework: none`",
     .broken = R"({"required":["launch","framework"],"properties":{"launch":{"enum":["per-node",)"
               R"("once"]},"framework":{"enum":["mpi","horovod"]}}})"},
    {.text = "mpirun starts every rank: `mpi.launcher: mpirun` needs `launch: per-process`",
     .broken =
         R"({"required":["launch","mpi"],"properties":{"launch":{"enum":["per-node","once"]},)"
         R"("mpi":{"required":["launcher"],"properties":{"launcher":{"const":"mpirun"}}}}})"},
    {.text = "mpirun does not support `roles`",
     .broken = R"({"required":["roles","mpi"],"properties":{)"
               R"("mpi":{"required":["launcher"],"properties":{"launcher":{"const":"mpirun"}}}}})"},
    {.text = "mpirun reaches nodes by ssh: not with `connect.command`",
     .broken = R"({"required":["connect","mpi"],"properties":{"connect":{"required":["command"]},)"
               R"("mpi":{"required":["launcher"],"properties":{"launcher":{"const":"mpirun"}}}}})"},
    {.text = "`mpi.program` needs `mpi.launcher: mpirun`",
     .broken = R"({"required":["mpi"],"properties":{"mpi":{"required":["program"],"not":)"
               R"({"required":["launcher"],"properties":{"launcher":{"const":"mpirun"}}}}}})"},
    {.text = "mpirun chooses how ranks meet: `mpi.pmi` is for `mpi.launcher: dlaunch`",
     .broken = R"({"required":["mpi"],"properties":{"mpi":{"required":["launcher","pmi"],)"
               R"("properties":{"launcher":{"const":"mpirun"}}}}})"},
    {.text = "mpirun's ranks do not run in a `container`: `mpi.launcher: dlaunch` starts MPI "
             "programs in containers",
     .broken = R"({"required":["container","mpi"],"properties":{)"
               R"("mpi":{"required":["launcher"],"properties":{"launcher":{"const":"mpirun"}}}}})"},
    {.text = "`isolation: pid-namespace` hides the processes of a `container`, which dlaunch must "
             "see to end it",
     .broken = R"({"required":["isolation"],"properties":{"isolation":{"const":"pid-namespace"}},)"
               R"("anyOf":[{"required":["container"]},{"required":["roles"],"properties":{"roles":)"
               R"({"not":{"additionalProperties":{"not":{"type":"object","required":)"
               R"(["container"]}}}}}}]})"},
    {.text = "one process that starts workers of its own (`launch: per-node`, `once`) needs all "
             "GPUs: not with `binding.gpus: one-per-process`",
     .broken = R"({"required":["launch","binding"],"properties":{"launch":{"enum":["per-node",)"
               R"("once"]},"binding":{"required":["gpus"],"properties":{"gpus":)"
               R"({"const":"one-per-process"}}}}})"},
    {.text = "`setup` needs a shell, and a `command` that is a list has none",
     .broken = R"({"required":["setup","command"],"properties":{"command":{"type":"array"}}})"},
    {.text = "`setup` needs a shell, and a role's `command` that is a list has none",
     .broken = R"({"required":["setup","roles"],"properties":{"roles":{"not":)"
               R"({"additionalProperties":{"not":{"type":"object","required":["command"],)"
               R"("properties":{"command":{"type":"array"}}}}}}}})"},
    {.text = "a name is either in `env`, whose values are shown, or in `env_secret`"},
    {.text = "`timeouts.lost_after` is more than `timeouts.fence_after` + 3s, so that nothing runs "
             "on a node that was given up"},
};

}  // namespace

std::string_view job_rule_definitions() {
  return R"({"noProcess":{"description":"A role without processes","anyOf":[{"const":0},)"
         R"({"type":"object","required":["count"],"properties":{"count":{"const":0}}}]},)"
         R"("several":{"description":"A role with more than one process","type":"object",)"
         R"("required":["count"],"properties":{"count":{"type":"integer","minimum":2}}},)"
         R"("unpacksNowhere":{"description":"A line of stage with unpack and without to",)"
         R"("type":"object","required":["unpack"],"properties":{"unpack":{"const":true}},)"
         R"("not":{"required":["to"]}},)"
         R"("nobodyTrains":{"description":"Roles without a chief and without workers",)"
         R"("properties":{"chief":{"$ref":"#/$defs/noProcess"},)"
         R"("worker":{"$ref":"#/$defs/noProcess"}}}})";
}

std::span<const JobRule> job_rules() {
  return kRules;
}

}  // namespace dlaunch::jobfile
