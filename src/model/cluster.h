// Cluster: the nodes of one run and what their agents reported. Together with a JobSpec it is all
// that a plan is made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/fabric.h"
#include "model/ids.h"
#include "model/network.h"

namespace dlaunch {

/// One physical core, with only those of its hardware threads that this process may run on.
struct CpuCore {
  int numa = 0;              // NUMA node; 0 where the kernel tells none
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
  std::string pci_path{};  // see plan/nearness.h; empty: unknown
  bool operator==(const GpuFact&) const = default;
};

/// A TCP port that the launcher asked for by number and that somebody else holds.
struct TakenPort {
  std::uint16_t port = 0;
  std::string holder;  // "pid 8812 (python train.py, user eve)"; empty if it cannot be told
  bool operator==(const TakenPort&) const = default;
};

/// What a node has for containers; found only where the job wants one.
struct ContainerFacts {
  struct Program {
    std::string name;  // "ch-run"
    std::string path;  // absolute
    bool operator==(const Program&) const = default;
  };
  std::vector<Program> programs;  // of the runtimes that were asked for, those that are there
  /// Where a private folder can be made from which programs may be executed, "/tmp"; empty: there
  /// is none.
  std::string base;
  std::string session_folder;  // where a PMIx server keeps its files
  std::uint32_t user = 0;      // our ids
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

/// What one agent found on its node.
struct NodeFacts {
  std::string hostname;
  std::string architecture;  // uname -m
  std::string kernel;        // uname -r
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_available_bytes = 0;  // could be had now without swapping; 0: unknown
  std::vector<CpuCore> cores;                // in order of NUMA node, then of first thread
  std::vector<GpuFact> gpus;                 // those the agent may open, in PCI bus order
  /// CUDA_VISIBLE_DEVICES of the environment that ranks will start from; nullopt: unset.
  std::optional<std::string> cuda_visible_devices;
  std::vector<std::uint16_t> reserved_ports;  // free, and held by the agent until its rank 0 starts
  std::vector<TakenPort> taken_ports;
  /// Why the agent could not make the PID namespace that it was started with, and what to do; may
  /// have several lines. Empty: it could, or was not asked to.
  std::string isolation_refused;
  /// Where the agent stores the output of this run's ranks, absolute; empty on the launcher's own
  /// machine, where the run folder takes it, and where no folder could be made.
  std::string output_folder;
  std::string output_refused;  // why none could be made; else empty
  /// Those with an address, and what they are made of (ports of a bridge, links of a bond); in the
  /// kernel's order.
  std::vector<NetworkInterface> interfaces;
  /// What computes over its own network hardware (InfiniBand, RoCE, Omni-Path, EFA, Slingshot);
  /// names.
  std::vector<std::string> rdma_devices;
  ResourceLimits limits;
  /// Those of FactsRequest::variables that are set where ranks will start from.
  Environment environment;
  std::string machine;  // os/machine_identity.h; empty: unknown
  FabricFacts fabric;
  /// Node 0, where it was asked for: path of mpirun and what it says to `--version`; both empty:
  /// there is none.
  std::string mpirun{};
  std::string mpirun_version{};
  /// Of FactsRequest::variables, where they begin with OMPI_MCA_: those that a file says which Open
  /// MPI reads here (fabric/mca_settings.h).
  Environment mca_settings{};
  std::uint32_t user_id = 0;  // of the agent
  ContainerFacts containers{};
  std::string no_pmix{};  // why it cannot serve PMIx; empty: it can, or was not asked
  bool operator==(const NodeFacts&) const = default;
};

struct Node {
  std::string name;          // as the user wrote it, or the hostname of this machine
  std::string address;       // under which other nodes reach it; 127.0.0.1 when there is one node
  int slots = 0;             // 0: not limited by the host list
  bool is_launcher = false;  // reached by fork: ranks get the caller's whole environment
  NodeFacts facts;
  bool operator==(const Node&) const = default;
};

/// How one node takes part in the network that the ranks meet in.
struct NodeRoute {
  std::string interface;  // through which it reaches the others; empty: not known
  std::string address;    // its own there; empty: not known
  bool operator==(const NodeRoute&) const = default;
};

/// Where the ranks meet, found by trying: every node of the job has reached `address`.
struct Meeting {
  std::string address;            // of node 0
  std::string reason;             // "eth0, the fastest subnet that both nodes share"
  std::vector<NodeRoute> routes;  // index = NodeIndex, of the nodes that the job uses
  bool operator==(const Meeting&) const = default;
};

struct Cluster {
  std::vector<Node> nodes;         // index = NodeIndex
  std::optional<Meeting> meeting;  // nullopt: nothing was tried
  bool is_assumed = false;         // no node was asked: its facts are not known
  bool operator==(const Cluster&) const = default;
};

}  // namespace dlaunch
