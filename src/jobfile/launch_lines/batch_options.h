// The options of sbatch in a batch script (its lines that begin with #SBATCH), and how many ranks
// the launch line starts with them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobfile/launch_lines/own_options.h"

namespace dlaunch::jobfile {

struct LaunchScript;

/// An option of a line that begins with #SBATCH.
struct BatchOption {
  std::string name;       // without dashes: "ntasks-per-node", "N"
  std::string value;      // empty: none
  std::string typed;      // "-N 2"
  std::size_t begin = 0;  // of the word in the script; bytes
  std::size_t end = 0;
};

/// The script's options; sbatch reads them up to the first command.
[[nodiscard]] std::vector<BatchOption> batch_options(std::string_view script);

/// What the options of a script amount to.
struct BatchReading {
  bool is_batch = false;                                         // the script has such options
  OwnOptions options;                                            // after settle()
  std::vector<std::pair<std::string, std::string>> variables{};  // Slurm's, SLURM_...
};

/// `knows_counts`: `variables` include the counts of nodes and tasks.
[[nodiscard]] BatchReading read_batch(std::string_view script, bool knows_counts);

/// How many ranks the line starts, as words of its options; empty: the line does not say.
struct RankCounts {
  std::string total;
  std::string per_node;
  std::string nodes;
};

/// srun and mpirun take counts from sbatch's lines; without any, srun starts one process per node.
[[nodiscard]] RankCounts counts_of(const LaunchScript& script);

}  // namespace dlaunch::jobfile
