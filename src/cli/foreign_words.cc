#include "cli/foreign_words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dlaunch {

namespace {

constexpr std::string_view kRendezvous =
    "not needed: dlaunch finds a free port by itself; to set one: --set rendezvous.port=29500";
constexpr std::string_view kNodeRank =
    "not needed: dlaunch is started once, and starts all nodes itself: --hosts gpu[01-04]";
constexpr std::string_view kHosts = "write --hosts gpu[01-04],login";
constexpr std::string_view kHostfile = "write --hostfile FILE";
constexpr std::string_view kPass =
    "not needed on this machine, where ranks get the whole environment; to set a variable: "
    "VAR=value "
    "dlaunch run ..., or env in the job file";
constexpr std::string_view kBind =
    "ranks get cores of their own by default; to leave them free: --set binding.cpus=none";
constexpr std::string_view kMore =
    "not needed: -n may be more than there are cores; ranks are not bound then";
constexpr std::string_view kLogs =
    "not needed: the output of every rank is kept in runs/ID/; to choose the folder: --set "
    "logs.dir=FOLDER";
constexpr std::string_view kPrefixed =
    "not needed: every line says whose it is; to change that: --set logs.prefix=never";
constexpr std::string_view kPerNode = "write --nproc-per-node N";
constexpr std::string_view kTotal = "write -n N";
constexpr std::string_view kPython =
    "write the program after --: dlaunch run -n 4 -- python3 -m my.module";
constexpr std::string_view kAsItIs =
    "not needed: a command after -- is executed as it is: dlaunch run -n 4 -- ./program";
constexpr std::string_view kEnd = "not needed: nothing of a job stays when it has ended";
constexpr std::string_view kFolder = "write --set workdir=FOLDER";
constexpr std::string_view kLimit = "write --set timeouts.run=2h";
constexpr std::string_view kRoot = "not needed: dlaunch runs for root as for anybody";
constexpr std::string_view kRestart = "write --set restart.max=N";

constexpr std::string_view kJobDir =
    "it is an argument of the program: write it after --: -- --job-dir DIR";
constexpr std::string_view kImage = "write --set container.image=IMAGE";
constexpr std::string_view kTier =
    "write it in the job file: trainingInput: {scaleTier: STANDARD_1}";
constexpr std::string_view kConfig = "write the job file's name alone: dlaunch run FILE";

/// Names of torchrun (PyTorch), mpirun and mpiexec (Open MPI, MPICH), srun (Slurm), deepspeed and
/// gcloud ai-platform.
constexpr std::array<std::pair<std::string_view, std::string_view>, 57> kOptions{{
    {"--standalone", kRendezvous},
    {"--rdzv-backend", kRendezvous},
    {"--rdzv_backend", kRendezvous},
    {"--rdzv-endpoint", kRendezvous},
    {"--rdzv_endpoint", kRendezvous},
    {"--rdzv-id", kRendezvous},
    {"--rdzv_id", kRendezvous},
    {"--rdzv-conf", kRendezvous},
    {"--rdzv_conf", kRendezvous},
    {"--master-port", kRendezvous},
    {"--master_port", kRendezvous},
    {"--master-addr", kRendezvous},
    {"--master_addr", kRendezvous},
    {"--node-rank", kNodeRank},
    {"--node_rank", kNodeRank},
    {"--machinefile", kHostfile},
    {"--host", kHosts},
    {"-H", kHosts},
    {"-f", kHostfile},
    {"-w", kHosts},
    {"--nodelist", kHosts},
    {"-x", kPass},
    {"--genv", kPass},
    {"--genvlist", kPass},
    {"--env", kPass},
    {"--export", kPass},
    {"--bind-to", kBind},
    {"--map-by", kBind},
    {"--rank-by", kBind},
    {"--cpu-bind", kBind},
    {"--oversubscribe", kMore},
    {"--overcommit", kMore},
    {"--log-dir", kLogs},
    {"--log_dir", kLogs},
    {"--output-filename", kLogs},
    {"--tag-output", kPrefixed},
    {"--label", kPrefixed},
    {"--ntasks", kTotal},
    {"--ntasks-per-node", kPerNode},
    {"--num_gpus", kPerNode},
    {"-m", kPython},
    {"--no-python", kAsItIs},
    {"--no_python", kAsItIs},
    {"--kill-on-bad-exit", kEnd},
    {"--wdir", kFolder},
    {"--chdir", kFolder},
    {"--workdir", kFolder},
    {"--time", kLimit},
    {"--timeout", kLimit},
    {"--allow-run-as-root", kRoot},
    {"--max-restarts", kRestart},
    {"--max_restarts", kRestart},
    {"--ppn", kPerNode},
    {"--job-dir", kJobDir},
    {"--master-image-uri", kImage},
    {"--scale-tier", kTier},
    {"--config", kConfig},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kCommands{{
    {"ps", "runs"},
    {"ls", "runs"},
    {"list", "runs"},
    {"status", "runs"},
    {"history", "runs"},
    {"kill", "stop"},
    {"cancel", "stop"},
    {"tail", "logs"},
    {"output", "logs"},
    {"start", "run"},
    {"launch", "run"},
}};

}  // namespace

std::optional<std::string> advice_for_option(std::string_view option) {
  const std::string_view name = option.substr(0, option.find('='));
  for (const auto& [known, advice] : kOptions) {
    if (known == name) return std::string(advice);
  }
  return std::nullopt;
}

std::optional<std::string_view> command_meant(std::string_view word) {
  for (const auto& [known, command] : kCommands) {
    if (known == word) return command;
  }
  return std::nullopt;
}

bool is_planned_command(std::string_view word) {
  constexpr std::array<std::string_view, 4> kPlanned{"convert", "report", "scale", "completion"};
  return std::find(kPlanned.begin(), kPlanned.end(), word) != kPlanned.end();
}

std::string with_two_dashes(std::string_view word) {
  constexpr std::array<std::string_view, 6> kLong{"-hostfile", "-machinefile", "-host",
                                                  "-hosts",    "-bind-to",     "-genv"};
  const std::string_view name = word.substr(0, word.find('='));
  const bool is_long = std::find(kLong.begin(), kLong.end(), name) != kLong.end();
  return (is_long ? "-" : "") + std::string(word);
}

}  // namespace dlaunch
