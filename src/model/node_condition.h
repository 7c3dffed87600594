// A node's condition beyond its NodeFacts: collected only for checks, because it takes a while.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch {

/// The file system that holds a path.
struct DiskFact {
  std::string path;
  std::uint64_t free_bytes = 0;   // for the user of the job
  std::uint64_t total_bytes = 0;  // 0: unknown, see `problem`
  bool is_read_only = false;
  std::string problem;  // the reason: "No such file or directory"
  bool operator==(const DiskFact&) const = default;
};

struct NodeCondition {
  std::string problem;                     // why nothing is known, one sentence; else empty
  std::vector<std::string> gpu_findings;   // "GPU 3: a row waits for a reset of the GPU"
  std::vector<std::string> gpu_processes;  // "GPU 0: pid 4711 (python) holds 61000 MiB of it"
  std::vector<std::string> gpu_notes;      // failed queries, older faults
  std::uint64_t shm_bytes = 0;             // size of /dev/shm; 0: there is none
  std::uint64_t open_files_hard = 0;       // the hard limit
  std::vector<DiskFact> disks;             // of the requested folders
  std::vector<std::string> collectives;    // "mpi: ready, Open MPI v4.1.4", "nccl: ...", why not
  std::string boot_id;                     // equal for containers of one kernel; empty: unknown
  bool operator==(const NodeCondition&) const = default;
};

}  // namespace dlaunch
