// The options of sbatch in a batch script, its lines that begin with #SBATCH, and how many ranks
// they make of its launch line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

/// Those of the script; sbatch reads them up to the first command.
[[nodiscard]] std::vector<BatchOption> batch_options(std::string_view script);

/// How many ranks the line starts, as words of its options; empty: the line does not say.
struct RankCounts {
  std::string total;
  std::string per_node;
  std::string nodes;
};

/// srun and mpirun take counts from sbatch's lines; without any srun starts a process on each node.
[[nodiscard]] RankCounts counts_of(const LaunchScript& script);

}  // namespace dlaunch::jobfile
