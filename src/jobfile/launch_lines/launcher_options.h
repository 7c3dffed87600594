// The options of other launchers, and their equivalents in dlaunch. One table serves both options
// that users type by habit and launch lines in files.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dlaunch::jobfile {

/// A set of launchers: one bit per launcher.
using Launchers = unsigned;
namespace launcher {
inline constexpr Launchers kTorchrun = 1;  // also torch.distributed.run and .launch
inline constexpr Launchers kOpenMpi = 2;   // mpirun, mpiexec
inline constexpr Launchers kHydra = 4;     // mpiexec of MPICH and Intel MPI
inline constexpr Launchers kHorovod = 8;   // horovodrun
inline constexpr Launchers kSrun = 16;     // also sbatch and salloc
inline constexpr Launchers kDeepspeed = 32;
inline constexpr Launchers kAccelerate = 64;  // accelerate launch
inline constexpr Launchers kGcloud = 128;     // gcloud ai-platform
inline constexpr Launchers kTorchx = 256;     // torchx run dist.ddp: no options that users type
inline constexpr Launchers kSbatch = 512;     // in a line for Slurm's queue, before srun's meaning
inline constexpr Launchers kMpi = kOpenMpi | kHydra | kHorovod;
inline constexpr Launchers kAll = 255;
}  // namespace launcher

enum class Becomes {
  // Exact: dlaunch has an equivalent.
  nothing,       // dlaunch does this without an option
  key,           // the key `text` of the job file, with the value unchanged
  variable,      // the variable `text`
  total,         // a number of processes in all
  per_node,      // processes on each node
  one_per_node,  //
  nodes,         // "2", "1:4", Slurm's "1-4"
  node_ranks,    // "2x4": 2 nodes with 4 processes each; "4": one node
  script,        // the program
  host_list,     // "a:2,b"; "a,a" are two slots
  pass,          // NAME or NAME=VALUE
  pass_list,     // NAME,NAME
  pair,          // NAME VALUE
  mca,           // NAME VALUE of Open MPI
  bind,          // only "none" is exact
  map_by,        // only "slot" and "ppr:N:node" are exact
  by_node,       //
  one_machine,   // torchrun --standalone
  seconds,       // a time limit
  slurm_time,    // a time limit as in sbatch(1)
  export_list,   // ALL, or NAME=VALUE,NAME
  module,        // the next words are a Python module and its arguments
  oversubscribe,
  gpus_per_task,  // only "1" is exact: a GPU of its own for each rank; otherwise `text` says why
  // Not exact: left out, and `text` says why or what to write.
  advice,
  log_dir,  // a folder for the ranks' output: the key logs.dir
  mounts,   // "FROM:TO,...": the key container.mounts
  signal,   // Slurm's "B:USR1@120": the keys stop_signal and timeouts.stop
  file,     // the job file
  shows,    // prints what the launcher does; `text` as above
  image,    // a container image: sets the key `text`, container.image
  program,  // an argument of the program; `text` as above
  queue,    // for Slurm's queue; `text`: the option of `dlaunch submit`
};

/// Whether dlaunch leaves out the option itself, and the line to type has what `text` says to write
/// instead.
[[nodiscard]] constexpr bool is_advice(Becomes what) {
  return what >= Becomes::advice && what <= Becomes::file;
}

struct LauncherOption {
  std::string_view name;  // without dashes, words joined by "-"
  Launchers launchers;
  int values;  // how many words follow as its values
  Becomes becomes;
  std::string_view text{};
  std::string_view unset{};  // the value with which the launcher sets no variable
};

[[nodiscard]] std::span<const LauncherOption> launcher_options();

/// The only row of that name for one of `launchers`. `name`: without dashes; "_" is "-". Null:
/// there is no such row, or several rows mean different things.
[[nodiscard]] const LauncherOption* find_launcher_option(std::string_view name,
                                                         Launchers launchers);

/// All launchers with an option of that name that users may type; 0: none.
[[nodiscard]] Launchers launchers_with(std::string_view name);

/// The most usual launcher of the set: "mpirun".
[[nodiscard]] std::string_view name_of_launcher(Launchers launchers);

/// The name in "--master_port=29500" or "-np": "master-port", "np"; empty: not an option.
[[nodiscard]] std::string option_name(std::string_view word);

/// Whether the word may be the value of the option before it: "-1" may be, an option may not.
[[nodiscard]] bool could_be_value(std::string_view word);

/// Whether a parameter of Open MPI (--mca) places or connects processes: dlaunch does both.
[[nodiscard]] bool places_processes(std::string_view parameter);

/// Translates a time limit of sbatch(1), such as "2:00:00", "5" or "1-12", to a duration such as
/// "2h", "90s" or "5m"; "0" and "UNLIMITED" become "none". Any other text is returned unchanged.
[[nodiscard]] std::string limit_of_slurm(std::string_view time);

}  // namespace dlaunch::jobfile
