// Cluster: the nodes of one run and their agents' reports. With a JobSpec, it determines the plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/fabric.h"
#include "model/ids.h"
#include "model/network.h"

namespace dlaunch {

/// One physical core, limited to the hardware threads that this process may use.
struct CpuCore {
  int numa = 0;              // NUMA node; 0 if the kernel has none
  std::vector<int> threads;  // logical CPU numbers, ascending, at least one
  bool taken = false;        // another run on this node holds it
  bool operator==(const CpuCore&) const = default;
};

struct GpuFact {
  int index = 0;       // position in PCI bus order, as CUDA_DEVICE_ORDER=PCI_BUS_ID counts
  std::string uuid;    // "GPU-xxxxxxxx-..."; empty if unknown
  std::string bus_id;  // "0000:3b:00.0"
  std::string model;
  int numa = -1;           // -1: unknown
  std::string pci_path{};  // see plan/fabric_ports.h; empty: unknown
  bool operator==(const GpuFact&) const = default;
};

/// A TCP port that the launcher requested by number and another process holds.
struct TakenPort {
  std::uint16_t port = 0;
  std::string holder;  // "pid 8812 (python train.py, user eve)"; empty if unknown
  bool operator==(const TakenPort&) const = default;
};

/// A node's facts about containers; collected only if the job uses containers.
struct ContainerFacts {
  struct Program {
    std::string name;  // "ch-run"
    std::string path;  // absolute
    bool operator==(const Program&) const = default;
  };
  std::vector<Program> programs;  // those of the requested runtimes that exist
  /// A folder in which a private, executable folder can be created, "/tmp"; empty: none.
  std::string base;
  std::string session_folder;  // for the PMIx server's files
  std::uint32_t user = 0;      // our user id
  std::uint32_t group = 0;
  bool may_raise_limits = false;                          // CAP_SYS_RESOURCE
  std::uint64_t open_files = ResourceLimits::kUnlimited;  // hard limits
  std::uint64_t processes = ResourceLimits::kUnlimited;
  std::uint64_t shm_bytes = 0;  // size of /dev/shm; 0: there is none
  bool nvidia_cdi = false;      // a specification of nvidia.com/gpu (Container Device Interface)
  bool nvidia_toolkit = false;  // nvidia-container-cli
  bool infiniband = false;      // /dev/infiniband
  bool operator==(const ContainerFacts&) const = default;
};

/// What an agent found on its node.
struct NodeFacts {
  std::string hostname;
  std::string architecture;  // uname -m
  std::string kernel;        // uname -r
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_available_bytes = 0;  // available without swapping; 0: unknown
  std::vector<CpuCore> cores;                // in order of NUMA node, then of first thread
  std::vector<GpuFact> gpus;                 // those that the agent may open, in PCI bus order
  /// CUDA_VISIBLE_DEVICES in the environment of the ranks before planning; nullopt: unset.
  std::optional<std::string> cuda_visible_devices;
  std::vector<std::uint16_t> reserved_ports;  // free, and held by the agent until the ranks start
  std::vector<TakenPort> taken_ports;
  /// Why the agent could not create its PID namespace, and the remedy; may have several lines.
  /// Empty: it could, or was not asked to.
  std::string isolation_refused;
  /// Where the agent stores the output of this run's ranks, absolute; empty on the launcher's own
  /// machine, which uses the run folder, and if no folder could be created.
  std::string output_folder;
  std::string output_refused;  // why no folder could be created; else empty
  /// Interfaces with an address and their parts (ports of a bridge, links of a bond), in the
  /// kernel's order.
  std::vector<NetworkInterface> interfaces;
  /// Names of RDMA devices (InfiniBand, RoCE, Omni-Path, EFA, Slingshot).
  std::vector<std::string> rdma_devices;
  ResourceLimits limits;
  /// The variables of FactsRequest::variables that are set in the environment of the ranks.
  Environment environment;
  std::string machine;  // os/own_machine.h; empty: unknown
  FabricFacts fabric;
  /// Node 0 if requested: path of mpirun and its `--version` output; both empty: not found.
  std::string mpirun{};
  std::string mpirun_version{};
  /// The entries of FactsRequest::variables that begin with OMPI_MCA_ and are set in a file that
  /// Open MPI reads on the node (fabric/mca_settings.h).
  Environment mca_settings{};
  std::uint32_t user_id = 0;  // the agent's
  ContainerFacts containers{};
  std::string no_pmix{};  // why the agent cannot serve PMIx; empty: it can, or was not asked to
  bool operator==(const NodeFacts&) const = default;
};

struct Node {
  NodeId id{};
  std::string name;          // as the user wrote it, or the hostname of this machine
  std::string address;       // where other nodes reach it; 127.0.0.1 for a single node
  int slots = 0;             // 0: no limit in the host list
  bool is_launcher = false;  // reached by fork: ranks inherit the caller's whole environment
  NodeFacts facts;
  bool operator==(const Node&) const = default;
};

/// A node's connection to the network in which the ranks meet.
struct NodeRoute {
  std::string interface;  // leads to the other nodes; empty: unknown
  std::string address;    // the node's own in that network; empty: unknown
  bool operator==(const NodeRoute&) const = default;
};

/// Where the ranks meet, found by probing: every node of the job has reached `address`.
struct Meeting {
  std::string address;            // of node 0
  std::string reason;             // "eth0, the fastest subnet that both nodes share"
  std::vector<NodeRoute> routes;  // index = NodeRank, of the nodes that the job uses
  bool operator==(const Meeting&) const = default;
};

struct Cluster {
  std::vector<Node> nodes;         // index = NodeRank; the set that an attempt may use
  std::optional<Meeting> meeting;  // nullopt: nothing was probed
  bool is_assumed = false;         // offline: the facts of the nodes are unknown
  bool operator==(const Cluster&) const = default;

  /// nullptr: the node is not in the set.
  [[nodiscard]] const Node* find(NodeId id) const {
    // Until nodes leave, each is where its number says.
    if (id.value < nodes.size() && nodes[id.value].id == id) return &nodes[id.value];
    const auto found =
        std::find_if(nodes.begin(), nodes.end(), [id](const Node& node) { return node.id == id; });
    return found == nodes.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::string name_of(NodeId id) const {
    const Node* const node = find(id);
    return node == nullptr ? "" : node->name;
  }
};

}  // namespace dlaunch
