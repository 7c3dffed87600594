// The results of a check: for individual nodes, links, and all nodes together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

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

/// How quickly a folder's files are found and read, in the way an interpreter reads the modules it
/// imports, and how quickly its largest files are.
struct FolderSpeed {
  std::string path;
  std::string file_system;      // "nfs4 at /home (home.lan:/home)"; empty: unknown
  std::uint32_t files = 0;      // number read, in the folder and below it
  std::uint64_t took_ns = 0;    // to find, open and read them
  std::uint64_t lookup_ns = 0;  // of this: to list the folders, stat and open
  std::uint64_t bytes = 0;      // read from the largest of them; 0: they are too small for a rate
  std::uint64_t read_ns = 0;    // this took
  bool operator==(const FolderSpeed&) const = default;

  /// nullopt: not measured.
  [[nodiscard]] std::optional<double> files_per_second() const;
  [[nodiscard]] std::optional<double> bytes_per_second() const;
};

/// Judges by the type of the file system, with which `file_system` begins.
[[nodiscard]] bool is_of_network(std::string_view file_system);

/// A node's condition beyond its NodeFacts: collected only for checks, because it takes a while.
struct NodeCondition {
  std::string problem;                     // why nothing is known, one sentence; else empty
  std::vector<std::string> gpu_findings;   // "GPU 3: a row waits for a reset of the GPU"
  std::vector<std::string>
      gpu_processes;  // "GPU 0: pid 4711 (python) holds 61000 MiB of GPU memory"
  std::vector<std::string> gpu_notes;      // failed queries, older faults
  std::uint64_t shm_bytes = 0;             // size of /dev/shm; 0: there is none
  std::uint64_t open_files_hard = 0;       // the hard limit
  std::vector<DiskFact> disks;             // of the requested folders
  std::vector<FolderSpeed> code;           // of the requested folders that exist
  FolderSpeed local;                       // with `code`: of a sample on a local disk; may be empty
  std::vector<std::string> collectives;    // "mpi: ready, Open MPI v4.1.4", or why one is not ready
  std::string boot_id;                     // equal for containers of one kernel; empty: unknown
  std::uint32_t load_hundredths = 0;       // load average of the last minute, proc(5), times 100
  bool operator==(const NodeCondition&) const = default;
};

struct CheckFinding {
  enum class Severity { bad, note };
  Severity severity = Severity::bad;
  std::vector<std::uint32_t>
      nodes;           // affected nodes; two: the link between them; none: all together
  std::string code;    // stable name, docs/how-to/check-nodes.md: "connect", "driver", "slow-link"
  std::string text;    // "driver 535.10, the other 3 have 550.54"
  std::string remedy;  // may be empty
  bool operator==(const CheckFinding&) const = default;
};

/// A node as seen by a check.
struct CheckedNode {
  std::string name;
  std::string failure;  // why it is unreachable, one line or more; empty: it answered
  NodeFacts facts;
  NodeCondition condition;
  std::vector<std::string> missing;  // what the job needs: `cannot execute "python3": ...`
  std::optional<std::int64_t> clock_offset_ns;  // the node's clock minus ours; nullopt: unknown
  std::int64_t clock_error_ns = 0;              // the maximum error
  bool operator==(const CheckedNode&) const = default;
};

/// Measured values of a node.
struct NodeFigures {
  double compute = 0;          // by one core, 10^9 float operations/s; 0: not measured
  double memory_gbs = 0;       // by one core, 10^9 bytes/s
  double exchange_gbs = 0;     // best with any other node, each way at once
  double exchange_us = 0;      // best latency with any other node
  bool in_all_reduce = false;  // took part in the all_reduce
  bool operator==(const NodeFigures&) const = default;
};

struct CheckReport {
  std::vector<CheckedNode> nodes;  // index = node
  std::vector<CheckFinding> findings;
  std::vector<NodeFigures> figures;      // index = node; empty: nothing was measured
  std::string not_measured;              // the reason, one sentence; empty: measurements were made
  std::size_t exchanges = 0;             // pairs of nodes that were measured
  std::optional<double> all_reduce_gbs;  // bus bandwidth of all good nodes together
  double all_reduce_bytes = 0;           // buffer size
  std::optional<double> expected_gbs;    // expected bandwidth
  std::string backend;                   // "mpi: Open MPI v4.1.4"
  std::int64_t took_ms = 0;
  bool operator==(const CheckReport&) const = default;
};

/// The nodes without a bad finding; a bad link does not affect its two nodes.
[[nodiscard]] std::vector<std::uint32_t> good_nodes(const CheckReport&);
[[nodiscard]] bool is_bad(const CheckReport&, std::uint32_t node);
/// Whether any finding is bad.
[[nodiscard]] bool is_bad(const CheckReport&);

}  // namespace dlaunch
