// The rows of launcher_options.h. Sources: torchrun --help (PyTorch 2), mpirun(1) of Open MPI 4 and
// 5, mpiexec -help (Hydra), horovodrun --help, srun(1), deepspeed --help, accelerate launch --help.
#include "jobfile/launch_lines/launcher_options.h"

#include <algorithm>
#include <array>
#include <optional>

#include "jobfile/expectation.h"
#include "jobfile/scalar.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using namespace launcher;

constexpr std::string_view kRendezvous =
    "not needed: dlaunch finds a free port by itself; to set one: --set rendezvous.port=29500";
constexpr std::string_view kNodeRank =
    "not needed: start dlaunch once, and it starts the ranks on all nodes: --hosts gpu[01-04]";
constexpr std::string_view kBind = "not needed: ranks get cores of their own by default";
constexpr std::string_view kLogs =
    "not needed: the output of every rank is kept in runs/ID/; to choose the folder: --set "
    "logs.dir=FOLDER";
constexpr std::string_view kConnects = "not needed: dlaunch connects to the nodes itself";
constexpr std::string_view kPlan = "dlaunch plan shows which rank runs where";
constexpr std::string_view kGpus =
    "not needed: ranks see all GPUs of their node; for a process on each of N GPUs: --gpus N";
constexpr std::string_view kTimes = "dlaunch logs --timestamps shows the times of lines";
constexpr std::string_view kWatch = "not needed: dlaunch sees at once when a process ends";
constexpr std::string_view kMounts = "write --set container.mounts=[FROM:TO]";
constexpr std::string_view kPassAll =
    "ranks on this machine inherit the environment; to pass a "
    "variable of this shell to other machines: --set env_pass=[NAME]";
constexpr std::string_view kInScript =
    "not set: the program reads it from its own configuration; or give accelerate's configuration "
    "file as the job file";

constexpr std::string_view kTorchxMachine =
    "not needed: dlaunch uses the machines that you name, as they are: --hosts gpu[01-04]";

// A name with several rows means different things to different launchers.
constexpr auto kOptions = std::to_array<LauncherOption>({
    // How many, and where.
    {"n", kMpi | kSrun, 1, Becomes::total},
    {"np", kMpi, 1, Becomes::total},
    {"c", kOpenMpi, 1, Becomes::total},
    {"ntasks", kSrun, 1, Becomes::total},
    {"num-processes", kAccelerate, 1, Becomes::total},
    {"nproc-per-node", kTorchrun, 1, Becomes::per_node},
    {"N", kOpenMpi, 1, Becomes::per_node},
    {"npernode", kOpenMpi, 1, Becomes::per_node},
    {"ppn", kHydra, 1, Becomes::per_node},
    {"perhost", kHydra, 1, Becomes::per_node},
    {"ntasks-per-node", kSrun, 1, Becomes::per_node},
    {"pernode", kOpenMpi, 0, Becomes::one_per_node},
    {"nnodes", kTorchrun, 1, Becomes::nodes},
    {"N", kSrun, 1, Becomes::nodes},
    {"nodes", kSrun, 1, Becomes::nodes},
    {"num-nodes", kDeepspeed, 1, Becomes::nodes},
    {"num-machines", kAccelerate, 1, Becomes::nodes},
    {"num-gpus", kDeepspeed, 1, Becomes::key, "gpus"},
    {"num-accelerators", kDeepspeed, 1, Becomes::key, "gpus"},
    {"gpus-per-node", kSrun, 1, Becomes::advice, kGpus},
    {"gres", kSrun, 1, Becomes::advice, kGpus},
    {"gres", kSbatch, 1, Becomes::queue},
    {"gpus-per-task", kSrun, 1, Becomes::gpus_per_task,
     "only 1 has an equivalent, --set binding.gpus=one-per-process; otherwise ranks see all GPUs "
     "of "
     "their node"},
    {"gpus", kSrun, 1, Becomes::advice, kGpus},
    {"G", kSrun, 1, Becomes::advice, kGpus},
    {"gpu-ids", kAccelerate, 1, Becomes::variable, "CUDA_VISIBLE_DEVICES", "all"},
    {"H", kMpi, 1, Becomes::host_list},
    {"host", kOpenMpi | kHydra, 1, Becomes::host_list},
    {"hosts", kHydra | kHorovod, 1, Becomes::host_list},
    {"H", kDeepspeed, 1, Becomes::key, "hostfile"},
    {"w", kSrun, 1, Becomes::key, "hosts"},
    {"nodelist", kSrun, 1, Becomes::key, "hosts"},
    {"hostfile", kMpi | kDeepspeed, 1, Becomes::key, "hostfile"},
    {"machinefile", kOpenMpi | kHydra, 1, Becomes::key, "hostfile"},
    {"f", kHydra, 1, Becomes::key, "hostfile"},
    {"include", kDeepspeed, 1, Becomes::key, "include"},
    {"exclude", kDeepspeed | kSrun, 1, Becomes::key, "exclude"},
    {"i", kDeepspeed, 1, Becomes::key, "include"},
    {"e", kDeepspeed, 1, Becomes::key, "exclude"},
    {"oversubscribe", kOpenMpi, 0, Becomes::oversubscribe},
    {"nooversubscribe", kOpenMpi, 0, Becomes::nothing},
    {"overcommit", kSrun, 0, Becomes::nothing},
    {"O", kSrun, 0, Becomes::nothing},
    {"map-by", kOpenMpi | kHydra, 1, Becomes::map_by},
    {"bynode", kOpenMpi, 0, Becomes::by_node},
    {"byslot", kOpenMpi, 0, Becomes::nothing},
    {"rank-by", kOpenMpi, 1, Becomes::advice, "not needed: ranks are numbered node by node"},
    {"distribution", kSrun, 1, Becomes::advice, "not needed: ranks are numbered node by node"},
    {"m", kSrun, 1, Becomes::advice, "not needed: ranks are numbered node by node"},

    {"j", kTorchx, 1, Becomes::node_ranks},

    // Cores.
    {"bind-to", kOpenMpi | kHydra, 1, Becomes::bind},
    {"cpu-bind", kSrun, 1, Becomes::bind},
    {"cpus-per-task", kSrun, 1, Becomes::advice, kBind},
    {"c", kSrun, 1, Becomes::advice, kBind},
    {"bind-cores-to-rank", kDeepspeed, 0, Becomes::nothing},
    {"num-cpu-threads-per-process", kAccelerate, 1, Becomes::variable, "OMP_NUM_THREADS"},
    {"numa-binding", kTorchrun, 1, Becomes::advice, kBind},
    {"use-hwthread-cpus", kOpenMpi, 0, Becomes::nothing},
    {"hint", kSrun, 1, Becomes::advice, kBind},
    {"mem-bind", kSrun, 1, Becomes::advice, kBind},
    {"gpu-bind", kSrun, 1, Becomes::advice, kGpus},

    // How ranks and nodes meet.
    {"master-addr", kTorchrun | kDeepspeed, 1, Becomes::key, "rendezvous.address"},
    {"master-port", kTorchrun | kDeepspeed, 1, Becomes::key, "rendezvous.port"},
    {"main-process-ip", kAccelerate, 1, Becomes::key, "rendezvous.address"},
    {"main-process-port", kAccelerate, 1, Becomes::key, "rendezvous.port"},
    {"standalone", kTorchrun, 0, Becomes::one_machine},
    {"rdzv-backend", kTorchrun | kAccelerate, 1, Becomes::nothing},
    {"rdzv-id", kTorchrun, 1, Becomes::nothing},
    {"rdzv-endpoint", kTorchrun, 1, Becomes::advice, kRendezvous},
    {"rdzv-conf", kTorchrun | kAccelerate, 1, Becomes::advice, kRendezvous},
    {"local-addr", kTorchrun, 1, Becomes::advice, kRendezvous},
    {"node-rank", kTorchrun | kDeepspeed, 1, Becomes::advice, kNodeRank},
    {"machine-rank", kAccelerate, 1, Becomes::advice, kNodeRank},
    {"network-interface", kHorovod, 1, Becomes::key, "rendezvous.interface"},
    {"network-interfaces", kHorovod, 1, Becomes::key, "rendezvous.interface"},
    {"iface", kHydra, 1, Becomes::key, "rendezvous.interface"},
    {"same-network", kAccelerate, 0, Becomes::nothing},
    {"p", kHorovod, 1, Becomes::key, "connect.port"},
    {"ssh-port", kHorovod | kDeepspeed, 1, Becomes::key, "connect.port"},
    {"ssh-identity-file", kHorovod, 1, Becomes::key, "connect.identity_file"},
    {"launcher", kHydra | kDeepspeed, 1, Becomes::advice, kConnects},
    {"launcher-args", kDeepspeed, 1, Becomes::advice, kConnects},
    {"no-ssh", kDeepspeed, 0, Becomes::advice, kNodeRank},
    {"force-multi", kDeepspeed, 0, Becomes::nothing},
    {"rmk", kHydra, 1, Becomes::advice, kConnects},
    {"prefix", kOpenMpi, 1, Becomes::advice, kConnects},
    {"gloo", kHorovod, 0, Becomes::advice, kConnects},
    {"mpi", kHorovod, 0, Becomes::nothing},
    {"mpi", kSrun, 1, Becomes::advice,
     "not needed: dlaunch starts MPI programs over PMIx or PMI-1"},

    // The environment.
    {"x", kOpenMpi, 1, Becomes::pass},
    {"x", kSrun, 1, Becomes::key, "exclude"},
    {"genv", kHydra, 2, Becomes::pair},
    {"env", kHydra, 2, Becomes::pair},
    {"genvlist", kHydra, 1, Becomes::pass_list},
    {"envlist", kHydra, 1, Becomes::pass_list},
    {"genvall", kHydra, 0, Becomes::shows, kPassAll},
    {"envall", kHydra, 0, Becomes::shows, kPassAll},
    {"export", kSrun, 1, Becomes::export_list},
    {"mca", kOpenMpi, 2, Becomes::mca},
    {"gmca", kOpenMpi, 2, Becomes::mca},
    {"mixed-precision", kAccelerate, 1, Becomes::variable, "ACCELERATE_MIXED_PRECISION"},
    {"use-env", kTorchrun, 0, Becomes::nothing},
    {"no-local-rank", kDeepspeed, 0, Becomes::nothing},
    {"use-deepspeed", kAccelerate, 0, Becomes::advice, kInScript},
    {"use-fsdp", kAccelerate, 0, Becomes::advice, kInScript},
    {"deepspeed-config-file", kAccelerate, 1, Becomes::advice, kInScript},
    {"zero-stage", kAccelerate, 1, Becomes::advice, kInScript},
    {"gradient-accumulation-steps", kAccelerate, 1, Becomes::advice, kInScript},
    {"dynamo-backend", kAccelerate, 1, Becomes::advice, kInScript},
    {"config-file", kAccelerate, 1, Becomes::file, "give it as the job file: dlaunch run FILE"},
    {"multi-gpu", kAccelerate, 0, Becomes::nothing},
    {"cpu", kAccelerate, 0, Becomes::variable, "ACCELERATE_USE_CPU"},

    // The program.
    {"module", kDeepspeed | kAccelerate | kTorchrun, 0, Becomes::module},
    {"m", kTorchrun | kAccelerate, 0, Becomes::module},
    {"script", kTorchx, 1, Becomes::script},
    {"m", kTorchx, 1, Becomes::module},
    {"image", kTorchx, 1, Becomes::image, "container.image"},
    {"name", kTorchx, 1, Becomes::key, "name"},
    {"env", kTorchx, 1, Becomes::pass_list},
    {"max-retries", kTorchx, 1, Becomes::key, "restart.max"},
    {"rdzv-port", kTorchx, 1, Becomes::advice, kRendezvous},
    {"rdzv-backend", kTorchx, 1, Becomes::nothing},
    {"h", kTorchx, 1, Becomes::advice, kTorchxMachine},
    {"cpu", kTorchx, 1, Becomes::advice, kTorchxMachine},
    {"gpu", kTorchx, 1, Becomes::advice, kTorchxMachine},
    {"memMB", kTorchx, 1, Becomes::advice, kTorchxMachine},
    {"mounts", kTorchx, 1, Becomes::advice, kMounts},
    {"tee", kTorchx, 1, Becomes::advice, kLogs},
    {"debug", kTorchx, 1, Becomes::nothing},
    {"no-python", kTorchrun | kDeepspeed | kAccelerate, 0, Becomes::nothing},
    {"wdir", kOpenMpi | kHydra, 1, Becomes::key, "workdir"},
    {"wd", kOpenMpi, 1, Becomes::key, "workdir"},
    {"chdir", kSrun, 1, Becomes::key, "workdir"},
    {"D", kSrun, 1, Becomes::key, "workdir"},
    {"workdir", kSrun, 1, Becomes::key, "workdir"},
    {"container-image", kSrun, 1, Becomes::image, "container.image"},
    {"container-mounts", kSrun, 1, Becomes::mounts, kMounts},
    {"image", kGcloud, 1, Becomes::image, "container.image"},
    {"master-image-uri", kGcloud, 1, Becomes::image, "container.image"},
    {"scale-tier", kGcloud, 1, Becomes::advice,
     "write it in the job file: trainingInput: {scaleTier: STANDARD_1}"},
    {"job-dir", kGcloud, 1, Becomes::program,
     "this is an argument of the program; write it after --: -- --job-dir DIR"},
    {"config", kGcloud, 1, Becomes::file, "give the job file without an option: dlaunch run FILE"},
    {"job-name", kSrun, 1, Becomes::key, "name"},
    {"J", kSrun, 1, Becomes::key, "name"},

    // Ends and restarts.
    {"max-restarts", kTorchrun | kAccelerate, 1, Becomes::key, "restart.max"},
    {"monitor-interval", kTorchrun | kAccelerate, 1, Becomes::advice, kWatch},
    {"start-method", kTorchrun, 1, Becomes::advice, "not needed: every rank is a new process"},
    {"role", kTorchrun, 1, Becomes::advice, "has no effect: all ranks have the same role"},
    {"kill-on-bad-exit", kSrun, 0, Becomes::nothing},
    {"K", kSrun, 0, Becomes::nothing},
    {"timeout", kOpenMpi, 1, Becomes::seconds},
    {"time", kSrun, 1, Becomes::slurm_time},
    {"t", kSrun, 1, Becomes::slurm_time},
    {"signal", kSrun, 1, Becomes::signal,
     "dlaunch warns ranks with the stop signal: --set stop_signal=USR1 --set timeouts.stop=2m"},

    // Output.
    {"log-dir", kTorchrun, 1, Becomes::log_dir, kLogs},
    {"output-filename", kOpenMpi, 1, Becomes::log_dir, kLogs},
    {"enable-each-rank-log", kDeepspeed, 1, Becomes::log_dir, kLogs},
    {"redirects", kTorchrun, 1, Becomes::advice, kLogs},
    {"r", kTorchrun, 1, Becomes::advice, kLogs},
    {"tee", kTorchrun | kAccelerate, 1, Becomes::advice, kLogs},
    {"t", kTorchrun, 1, Becomes::advice, kLogs},
    {"error", kSrun, 1, Becomes::advice, kLogs},
    {"local-ranks-filter", kTorchrun, 1, Becomes::advice,
     "dlaunch logs --rank N shows the output of one rank"},
    {"tag-output", kOpenMpi, 0, Becomes::nothing},
    {"label", kSrun, 0, Becomes::nothing},
    {"l", kSrun | kHydra, 0, Becomes::nothing},
    {"prepend-rank", kHydra, 0, Becomes::nothing},
    {"unbuffered", kSrun, 0, Becomes::nothing},
    {"u", kSrun, 0, Becomes::nothing},
    {"timestamp-output", kOpenMpi, 0, Becomes::shows, kTimes},
    {"report-bindings", kOpenMpi, 0, Becomes::shows, kPlan},
    {"display-map", kOpenMpi, 0, Becomes::shows, kPlan},
    {"display-allocation", kOpenMpi, 0, Becomes::shows, kPlan},
    {"print-rank-map", kHydra, 0, Becomes::shows, kPlan},
    {"merge-stderr-to-stdout", kOpenMpi, 0, Becomes::nothing},
    {"v", kMpi | kSrun, 0, Becomes::nothing},
    {"verbose", kMpi | kSrun, 0, Becomes::nothing},
    {"q", kMpi | kSrun, 0, Becomes::nothing},
    {"quiet", kMpi | kSrun, 0, Becomes::nothing},
    {"allow-run-as-root", kOpenMpi, 0, Becomes::nothing},

    // Slurm's queue.
    {"partition", kSrun, 1, Becomes::queue, "--partition"},
    {"p", kSrun, 1, Becomes::queue, "--partition"},
    {"account", kSrun, 1, Becomes::queue, "--account"},
    {"A", kSrun, 1, Becomes::queue, "--account"},
    {"qos", kSrun, 1, Becomes::queue},
    {"mem", kSrun, 1, Becomes::queue},
    {"constraint", kSrun, 1, Becomes::queue},
    {"reservation", kSrun, 1, Becomes::queue},
    {"exclusive", kSrun, 0, Becomes::queue},
});

/// A decimal number, possibly with leading zeros: "08".
std::optional<std::int64_t> decimal(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  const auto number = parse_integer(digits);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace

std::span<const LauncherOption> launcher_options() {
  return kOptions;
}

const LauncherOption* find_launcher_option(std::string_view name, Launchers launchers) {
  const LauncherOption* found = nullptr;
  for (const LauncherOption& option : kOptions) {
    if ((option.launchers & launchers) == 0 || option.name != name) continue;
    if (found != nullptr) return nullptr;
    found = &option;
  }
  return found;
}

Launchers launchers_with(std::string_view name) {
  Launchers launchers = 0;
  for (const LauncherOption& option : kOptions)
    if (option.name == name) launchers |= option.launchers;
  return launchers & kAll;
}

std::string_view name_of_launcher(Launchers launchers) {
  constexpr std::array<std::pair<Launchers, std::string_view>, 9> kNames{
      {{kTorchrun, "torchrun"},
       {kOpenMpi, "mpirun"},
       {kHydra, "mpiexec"},
       {kHorovod, "horovodrun"},
       {kSrun, "srun"},
       {kDeepspeed, "deepspeed"},
       {kAccelerate, "accelerate"},
       {kGcloud, "gcloud"},
       {kTorchx, "torchx"}}};
  for (const auto& [one, name] : kNames)
    if ((launchers & one) != 0) return name;
  return "";
}

bool could_be_value(std::string_view word) {
  if (!word.starts_with('-') || word == "-") return true;
  return is_digit(word[1]) || (word.size() > 2 && word[1] == '.' && is_digit(word[2]));
}

bool places_processes(std::string_view parameter) {
  constexpr std::array<std::string_view, 9> kPrefixes{"plm", "orte", "rmaps", "hwloc", "ras",
                                                      "oob", "odls", "iof",   "prte"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return parameter.starts_with(prefix); });
}

std::string option_name(std::string_view word) {
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  if (dashes == 0 || dashes > 2 || dashes == word.size()) return "";
  word.remove_prefix(dashes);
  std::string name(word.substr(0, word.find('=')));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string limit_of_slurm(std::string_view time) {
  const std::string capitals = upper(time);
  if (capitals == "UNLIMITED" || capitals == "INFINITE") return "none";
  std::string_view rest = time;
  std::int64_t days = 0;
  const auto dash = rest.find('-');
  if (dash != std::string_view::npos) {
    const auto number = decimal(rest.substr(0, dash));
    if (!number) return std::string(time);
    days = *number;
    rest.remove_prefix(dash + 1);
  }
  std::int64_t parts[3] = {0, 0, 0};
  std::size_t count = 0;
  while (!rest.empty() && count < 3) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const auto number = decimal(rest.substr(0, colon));
    if (!number) return std::string(time);
    parts[count++] = *number;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  if (count == 0 || !rest.empty()) return std::string(time);
  // "days-hours[:minutes[:seconds]]", else "minutes", "minutes:seconds", "hours:minutes:seconds".
  const bool from_hours = dash != std::string_view::npos || count == 3;
  const std::int64_t seconds = from_hours ? ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]
                                          : parts[0] * 60 + parts[1];
  return seconds == 0 ? "none" : duration_text(std::chrono::seconds(seconds));
}

}  // namespace dlaunch::jobfile
