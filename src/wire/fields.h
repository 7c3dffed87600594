// The single definition of control messages on the wire: name, member and allowed range of every
// field. Encoder, decoder and checks use it; docs/internals/wire-protocol.md describes it in prose.
// A range applies to a number, or to each number of a list.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/question.h"
#include "wire/message.h"

namespace dlaunch::wire {

struct Range {
  std::int64_t min = 0;
  std::int64_t max = 0;  // max < min: the whole range of the member's type
  [[nodiscard]] constexpr bool limits() const { return min <= max; }
};

inline constexpr Range kAny{1, 0};
inline constexpr Range kRank{0, (1 << 20) - 1};
inline constexpr Range kSpan{1, 1 << 20};  // ranks in a row
inline constexpr Range kCpu{0, 65535};     // Linux: NR_CPUS is at most 8192
inline constexpr Range kNuma{0, 65535};
inline constexpr Range kNumaOrUnknown{-1, 65535};
inline constexpr Range kPort{1, 65535};
inline constexpr Range kPrefix{0, 128};
inline constexpr Range kByte{0, 255};
inline constexpr Range kGidIndex{0, 65535};  // InfiniBand: 16 bits
inline constexpr Range kCandidates{0, 255};
inline constexpr Range kPid{1, 1 << 22};    // PID_MAX_LIMIT, proc(5)
inline constexpr Range kSignal{1, 64};      // signal(7)
inline constexpr Range kErrno{0, 4095};     // MAX_ERRNO of the kernel
inline constexpr Range kExitValue{0, 255};  // wait(2): eight bits
inline constexpr Range kCommands{0, 65535};
inline constexpr Range kNodeRank{0, (1 << 20) - 1};  // nodes of a job
inline constexpr Range kPorts{0, 65535};
inline constexpr Range kInterval{1, 86'400'000};  // milliseconds, up to a day
inline constexpr Range kSilence{0, 86'400'000};
inline constexpr Range kFetched{1, kMostFetched};
inline constexpr Range kPermissions{0, 0777};
inline constexpr Range kTerminalSize{0, 65535};  // ioctl_tty(2): unsigned short

template <class Owner, class Member>
struct Field {
  std::string_view name;
  Member Owner::*member;
  Range range;
};

template <class Owner, class Member>
constexpr Field<Owner, Member> field(std::string_view name, Member Owner::*member,
                                     Range range = kAny) {
  return {name, member, range};
}

template <class T>
inline constexpr auto kFields = nullptr;  // not a struct with fields

// ---- parts

template <>
inline constexpr auto kFields<ExitStatus> =
    std::tuple{field("signaled", &ExitStatus::signaled),
               field("value", &ExitStatus::value, kExitValue),
               field("core_dumped", &ExitStatus::core_dumped),
               field("out_of_memory", &ExitStatus::out_of_memory),
               field("mpi", &ExitStatus::mpi),
               field("mpi_world", &ExitStatus::mpi_world),
               field("oom_ruled_out", &ExitStatus::oom_ruled_out),
               field("gpu_fault", &ExitStatus::gpu_fault)};

template <>
inline constexpr auto kFields<StartFailure> = std::tuple{
    field("step", &StartFailure::step),     field("errno", &StartFailure::error_number, kErrno),
    field("path", &StartFailure::path),     field("search_path", &StartFailure::search_path),
    field("module", &StartFailure::module), field("near", &StartFailure::near)};

template <>
inline constexpr auto kFields<CpuCore> =
    std::tuple{field("numa", &CpuCore::numa, kNuma), field("threads", &CpuCore::threads, kCpu),
               field("taken", &CpuCore::taken)};

template <>
inline constexpr auto kFields<GpuFact> = std::tuple{field("index", &GpuFact::index, kCpu),
                                                    field("uuid", &GpuFact::uuid),
                                                    field("bus_id", &GpuFact::bus_id),
                                                    field("model", &GpuFact::model),
                                                    field("numa", &GpuFact::numa, kNumaOrUnknown),
                                                    field("pci_path", &GpuFact::pci_path)};

template <>
inline constexpr auto kFields<TakenPort> =
    std::tuple{field("port", &TakenPort::port, kPort), field("holder", &TakenPort::holder)};

template <>
inline constexpr auto kFields<InterfaceAddress> = std::tuple{
    field("address", &InterfaceAddress::text), field("prefix", &InterfaceAddress::prefix, kPrefix)};

template <>
inline constexpr auto kFields<NetworkInterface> =
    std::tuple{field("name", &NetworkInterface::name),
               field("kind", &NetworkInterface::kind),
               field("is_up", &NetworkInterface::is_up),
               field("speed_mbit", &NetworkInterface::speed_mbit),
               field("mtu", &NetworkInterface::mtu),
               field("master", &NetworkInterface::master),
               field("addresses", &NetworkInterface::addresses)};

template <>
inline constexpr auto kFields<ResourceLimits> =
    std::tuple{field("open_files", &ResourceLimits::open_files),
               field("processes", &ResourceLimits::processes),
               field("locked_memory", &ResourceLimits::locked_memory),
               field("core_file", &ResourceLimits::core_file)};

template <>
inline constexpr auto kFields<RdmaGid> =
    std::tuple{field("index", &RdmaGid::index, kGidIndex), field("type", &RdmaGid::type),
               field("gid", &RdmaGid::gid), field("netdev", &RdmaGid::netdev)};

template <>
inline constexpr auto kFields<RdmaPort> =
    std::tuple{field("number", &RdmaPort::number, kByte),
               field("link_layer", &RdmaPort::link_layer),
               field("state", &RdmaPort::state),
               field("physical_state", &RdmaPort::physical_state),
               field("rate_mbit", &RdmaPort::rate_mbit),
               field("lanes", &RdmaPort::lanes, kByte),
               field("speed", &RdmaPort::speed),
               field("lid", &RdmaPort::lid),
               field("sm_lid", &RdmaPort::sm_lid),
               field("netdev", &RdmaPort::netdev),
               field("gids", &RdmaPort::gids)};

template <>
inline constexpr auto kFields<RdmaDevice> =
    std::tuple{field("name", &RdmaDevice::name),
               field("type", &RdmaDevice::type),
               field("guid", &RdmaDevice::guid),
               field("firmware", &RdmaDevice::firmware),
               field("card", &RdmaDevice::card),
               field("driver", &RdmaDevice::driver),
               field("pci_address", &RdmaDevice::pci_address),
               field("pci_path", &RdmaDevice::pci_path),
               field("numa", &RdmaDevice::numa, kNumaOrUnknown),
               field("function", &RdmaDevice::function),
               field("is_usable", &RdmaDevice::is_usable),
               field("ports", &RdmaDevice::ports)};

template <>
inline constexpr auto kFields<NicFact> =
    std::tuple{field("name", &NicFact::name),
               field("driver", &NicFact::driver),
               field("pci_address", &NicFact::pci_address),
               field("pci_path", &NicFact::pci_path),
               field("numa", &NicFact::numa, kNumaOrUnknown),
               field("function", &NicFact::function),
               field("has_carrier", &NicFact::has_carrier),
               field("speed_mbit", &NicFact::speed_mbit),
               field("master", &NicFact::master),
               field("is_infiniband", &NicFact::is_infiniband)};

template <>
inline constexpr auto kFields<FabricFacts> =
    std::tuple{field("rdma", &FabricFacts::rdma),
               field("no_rdma", &FabricFacts::no_rdma),
               field("nics", &FabricFacts::nics),
               field("gpu_driver", &FabricFacts::gpu_driver),
               field("no_gpus", &FabricFacts::no_gpus),
               field("nvswitches", &FabricFacts::nvswitches, kCpu),
               field("peer_memory", &FabricFacts::peer_memory),
               field("nccl_settings", &FabricFacts::nccl_settings),
               field("oddities", &FabricFacts::oddities)};

template <>
inline constexpr auto kFields<ContainerFacts::Program> = std::tuple{
    field("name", &ContainerFacts::Program::name), field("path", &ContainerFacts::Program::path)};

template <>
inline constexpr auto kFields<ContainerFacts> =
    std::tuple{field("programs", &ContainerFacts::programs),
               field("base", &ContainerFacts::base),
               field("session_folder", &ContainerFacts::session_folder),
               field("user", &ContainerFacts::user),
               field("group", &ContainerFacts::group),
               field("may_raise_limits", &ContainerFacts::may_raise_limits),
               field("open_files", &ContainerFacts::open_files),
               field("processes", &ContainerFacts::processes),
               field("shm_bytes", &ContainerFacts::shm_bytes),
               field("nvidia_cdi", &ContainerFacts::nvidia_cdi),
               field("nvidia_toolkit", &ContainerFacts::nvidia_toolkit),
               field("infiniband", &ContainerFacts::infiniband)};

template <>
inline constexpr auto kFields<NodeFacts> =
    std::tuple{field("hostname", &NodeFacts::hostname),
               field("architecture", &NodeFacts::architecture),
               field("kernel", &NodeFacts::kernel),
               field("memory_bytes", &NodeFacts::memory_bytes),
               field("memory_available_bytes", &NodeFacts::memory_available_bytes),
               field("cores", &NodeFacts::cores),
               field("gpus", &NodeFacts::gpus),
               field("cuda_visible_devices", &NodeFacts::cuda_visible_devices),
               field("reserved_ports", &NodeFacts::reserved_ports, kPort),
               field("taken_ports", &NodeFacts::taken_ports),
               field("isolation_refused", &NodeFacts::isolation_refused),
               field("output_folder", &NodeFacts::output_folder),
               field("output_refused", &NodeFacts::output_refused),
               field("interfaces", &NodeFacts::interfaces),
               field("rdma_devices", &NodeFacts::rdma_devices),
               field("limits", &NodeFacts::limits),
               field("environment", &NodeFacts::environment),
               field("machine", &NodeFacts::machine),
               field("fabric", &NodeFacts::fabric),
               field("mpirun", &NodeFacts::mpirun),
               field("mpirun_version", &NodeFacts::mpirun_version),
               field("mca_settings", &NodeFacts::mca_settings),
               field("user_id", &NodeFacts::user_id),
               field("containers", &NodeFacts::containers),
               field("no_pmix", &NodeFacts::no_pmix)};

template <>
inline constexpr auto kFields<StartCommand> = std::tuple{
    field("argv", &StartCommand::argv), field("is_own_shell", &StartCommand::is_own_shell)};

template <>
inline constexpr auto kFields<StartFile> =
    std::tuple{field("path", &StartFile::path), field("bytes", &StartFile::bytes)};

template <>
inline constexpr auto kFields<StartRank> =
    std::tuple{field("rank", &StartRank::rank, kRank),
               field("local_rank", &StartRank::local_rank, kRank),
               field("command", &StartRank::command, kCommands),
               field("env", &StartRank::env),
               field("cpus", &StartRank::cpus, kCpu),
               field("release_ports", &StartRank::release_ports, kPort),
               field("wants_stdin", &StartRank::wants_stdin),
               field("is_shown", &StartRank::is_shown),
               field("container", &StartRank::container, kCommands),
               field("terminal", &StartRank::terminal)};

template <>
inline constexpr auto kFields<StartContainer> = std::tuple{
    field("argv", &StartContainer::argv), field("named", &StartContainer::named, kCommands),
    field("env", &StartContainer::env), field("cleanup", &StartContainer::cleanup),
    field("name", &StartContainer::name)};

template <>
inline constexpr auto kFields<RanksStarted::One> =
    std::tuple{field("rank", &RanksStarted::One::rank, kRank),
               field("pid", &RanksStarted::One::pid, kPid), field("at", &RanksStarted::One::at)};

template <>
inline constexpr auto kFields<CheckPrerequisites::Program> =
    std::tuple{field("name", &CheckPrerequisites::Program::name),
               field("search_path", &CheckPrerequisites::Program::search_path)};

template <>
inline constexpr auto kFields<PythonCommand> =
    std::tuple{field("options", &PythonCommand::options), field("script", &PythonCommand::script),
               field("module", &PythonCommand::module)};

template <>
inline constexpr auto kFields<FoundProgram> =
    std::tuple{field("path", &FoundProgram::path), field("version", &FoundProgram::version),
               field("broken", &FoundProgram::broken), field("imports", &FoundProgram::imports),
               field("absent", &FoundProgram::absent)};

template <>
inline constexpr auto kFields<CheckPrerequisites::Lookup> =
    std::tuple{field("name", &CheckPrerequisites::Lookup::name),
               field("search_path", &CheckPrerequisites::Lookup::search_path),
               field("expected", &CheckPrerequisites::Lookup::expected),
               field("python", &CheckPrerequisites::Lookup::python),
               field("env", &CheckPrerequisites::Lookup::env),
               field("imports", &CheckPrerequisites::Lookup::imports)};

template <>
inline constexpr auto kFields<Resume::Received> = std::tuple{
    field("attempt", &Resume::Received::attempt), field("rank", &Resume::Received::rank, kRank),
    field("stream", &Resume::Received::stream), field("received", &Resume::Received::received)};

template <>
inline constexpr auto kFields<SyncEntry> = std::tuple{field("path", &SyncEntry::path),
                                                      field("kind", &SyncEntry::kind),
                                                      field("mode", &SyncEntry::mode, kPermissions),
                                                      field("size", &SyncEntry::size),
                                                      field("mtime", &SyncEntry::mtime),
                                                      field("target", &SyncEntry::target)};

template <>
inline constexpr auto kFields<ContentHash> =
    std::tuple{field("low", &ContentHash::low), field("high", &ContentHash::high)};

template <>
inline constexpr auto kFields<BlockRun> =
    std::tuple{field("first", &BlockRun::first), field("count", &BlockRun::count)};

template <>
inline constexpr auto kFields<StageItem> =
    std::tuple{field("from", &StageItem::from), field("to", &StageItem::to),
               field("unpack", &StageItem::unpack), field("exclude", &StageItem::exclude),
               field("keeps", &StageItem::keeps)};

template <>
inline constexpr auto kFields<StageEntry> = std::tuple{
    field("root", &StageEntry::root), field("entry", &StageEntry::entry),
    field("unpack", &StageEntry::unpack), field("content_after", &StageEntry::content_after),
    field("holes", &StageEntry::holes)};

template <>
inline constexpr auto kFields<StageOrigin> =
    std::tuple{field("name", &StageOrigin::name), field("marker", &StageOrigin::marker),
               field("target", &StageOrigin::target), field("removes", &StageOrigin::removes)};
template <>
inline constexpr auto kFields<StagedTarget> =
    std::tuple{field("target", &StagedTarget::target),
               field("source", &StagedTarget::source),
               field("unpacked", &StagedTarget::unpacked),
               field("made_folder", &StagedTarget::made_folder),
               field("real_root", &StagedTarget::real_root),
               field("whole", &StagedTarget::whole),
               field("staged_at", &StagedTarget::staged_at),
               field("by", &StagedTarget::by),
               field("files", &StagedTarget::files),
               field("bytes", &StagedTarget::bytes),
               field("unfinished", &StagedTarget::unfinished),
               field("users", &StagedTarget::users),
               field("problem", &StagedTarget::problem),
               field("failed", &StagedTarget::failed)};
template <>
inline constexpr auto kFields<StageWant> =
    std::tuple{field("entry", &StageWant::entry), field("hashes", &StageWant::hashes)};

template <>
inline constexpr auto kFields<StageKey> = std::tuple{
    field("ticket", &StageKey::ticket), field("up", &StageKey::up), field("down", &StageKey::down)};

template <>
inline constexpr auto kFields<StageAddress> =
    std::tuple{field("address", &StageAddress::address), field("port", &StageAddress::port, kPort)};

template <>
inline constexpr auto kFields<SyncWants::Content> = std::tuple{
    field("entry", &SyncWants::Content::entry), field("hash", &SyncWants::Content::hash)};

// ---- messages, with the structs and local questions that belong to them

template <>
inline constexpr auto kFields<Hello> =
    std::tuple{field("protocol", &Hello::protocol),
               field("build_id", &Hello::build_id),
               field("node_name", &Hello::node_name),
               field("heartbeat_ms", &Hello::heartbeat_ms, kInterval),
               field("fence_after_ms", &Hello::fence_after_ms, kSilence),
               field("keep_on_channel_loss", &Hello::keep_on_channel_loss)};

template <>
inline constexpr auto kFields<Heartbeat> =
    std::tuple{field("at", &Heartbeat::at), field("sent", &Heartbeat::sent),
               field("echo", &Heartbeat::echo), field("held", &Heartbeat::held)};

template <>
inline constexpr auto kFields<Ack> = std::tuple{field("sequence", &Ack::sequence)};

template <>
inline constexpr auto kFields<Bye> = std::tuple{field("stays", &Bye::stays)};

template <>
inline constexpr auto kFields<FactsRequest> =
    std::tuple{field("ports", &FactsRequest::ports, kPorts),
               field("fixed_ports", &FactsRequest::fixed_ports, kPort),
               field("attempt", &FactsRequest::attempt),
               field("output_name", &FactsRequest::output_name),
               field("variables", &FactsRequest::variables),
               field("mpirun", &FactsRequest::mpirun),
               field("search_path", &FactsRequest::search_path),
               field("carried", &FactsRequest::carried),
               field("containers", &FactsRequest::containers),
               field("pmix", &FactsRequest::pmix),
               field("network", &FactsRequest::network)};

template <>
inline constexpr auto kFields<StartRanks> =
    std::tuple{field("attempt", &StartRanks::attempt),
               field("log_folder", &StartRanks::log_folder),
               field("workdir", &StartRanks::workdir),
               field("scrub", &StartRanks::scrub),
               field("env", &StartRanks::env),
               field("commands", &StartRanks::commands),
               field("ranks", &StartRanks::ranks),
               field("output_credit", &StartRanks::output_credit),
               field("last", &StartRanks::last),
               field("files", &StartRanks::files),
               field("carried", &StartRanks::carried),
               field("defaults", &StartRanks::defaults),
               field("join_folder", &StartRanks::join_folder),
               field("are_mpi", &StartRanks::are_mpi),
               field("world", &StartRanks::world),
               field("on_node", &StartRanks::on_node),
               field("containers", &StartRanks::containers),
               field("entry_folder", &StartRanks::entry_folder),
               field("pulse_ms", &StartRanks::pulse_ms),
               field("metrics", &StartRanks::metrics),
               field("preemption_command", &StartRanks::preemption_command),
               field("preemption_ms", &StartRanks::preemption_ms),
               field("preemption_file", &StartRanks::preemption_file),
               field("preload", &StartRanks::preload),
               field("checkpoints", &StartRanks::checkpoints)};

template <>
inline constexpr auto kFields<DiskFact> = std::tuple{
    field("path", &DiskFact::path), field("free_bytes", &DiskFact::free_bytes),
    field("total_bytes", &DiskFact::total_bytes), field("is_read_only", &DiskFact::is_read_only),
    field("problem", &DiskFact::problem)};
template <>
inline constexpr auto kFields<FolderSpeed> = std::tuple{
    field("path", &FolderSpeed::path),           field("file_system", &FolderSpeed::file_system),
    field("files", &FolderSpeed::files),         field("took_ns", &FolderSpeed::took_ns),
    field("lookup_ns", &FolderSpeed::lookup_ns), field("bytes", &FolderSpeed::bytes),
    field("read_ns", &FolderSpeed::read_ns)};
template <>
inline constexpr auto kFields<NodeCondition> =
    std::tuple{field("problem", &NodeCondition::problem),
               field("gpu_findings", &NodeCondition::gpu_findings),
               field("gpu_processes", &NodeCondition::gpu_processes),
               field("gpu_notes", &NodeCondition::gpu_notes),
               field("shm_bytes", &NodeCondition::shm_bytes),
               field("open_files_hard", &NodeCondition::open_files_hard),
               field("disks", &NodeCondition::disks),
               field("code", &NodeCondition::code),
               field("local", &NodeCondition::local),
               field("collectives", &NodeCondition::collectives),
               field("boot_id", &NodeCondition::boot_id),
               field("load_hundredths", &NodeCondition::load_hundredths)};
template <>
inline constexpr auto kFields<Inspect> = std::tuple{
    field("folders", &Inspect::folders),         field("code", &Inspect::code),
    field("programs", &Inspect::programs),       field("gpus", &Inspect::gpus),
    field("collectives", &Inspect::collectives), field("limit_ms", &Inspect::limit_ms, kInterval),
    field("carried", &Inspect::carried),         field("env", &Inspect::env)};
template <>
inline constexpr auto kFields<Inspected> = std::tuple{field("condition", &Inspected::condition)};

template <>
inline constexpr auto kFields<StackFrame> =
    std::tuple{field("kind", &StackFrame::kind), field("function", &StackFrame::function),
               field("file", &StackFrame::file), field("line", &StackFrame::line)};
template <>
inline constexpr auto kFields<ThreadStack> =
    std::tuple{field("id", &ThreadStack::id),         field("name", &ThreadStack::name),
               field("state", &ThreadStack::state),   field("doing", &ThreadStack::doing),
               field("frames", &ThreadStack::frames), field("count", &ThreadStack::count)};
template <>
inline constexpr auto kFields<ProcessStack> = std::tuple{
    field("pid", &ProcessStack::pid),          field("parent", &ProcessStack::parent),
    field("command", &ProcessStack::command),  field("threads", &ProcessStack::threads),
    field("cpu_ms", &ProcessStack::cpu_ms),    field("io_bytes", &ProcessStack::io_bytes),
    field("switches", &ProcessStack::switches),
    field("waited_ms", &ProcessStack::waited_ms)};
template <>
inline constexpr auto kFields<RankStacks> = std::tuple{
    field("rank", &RankStacks::rank, kRank),          field("host", &RankStacks::host),
    field("processes", &RankStacks::processes),       field("remarks", &RankStacks::remarks),
    field("lacks_py_spy", &RankStacks::lacks_py_spy), field("unanswered", &RankStacks::unanswered)};
template <>
inline constexpr auto kFields<StacksQuestion> =
    std::tuple{field("build_id", &StacksQuestion::build_id), field("ranks", &StacksQuestion::ranks),
               field("path", &StacksQuestion::path), field("native", &StacksQuestion::native)};
template <>
inline constexpr auto kFields<StacksReply> =
    std::tuple{field("attempt", &StacksReply::attempt), field("world", &StacksReply::world),
               field("ranks", &StacksReply::ranks), field("silent", &StacksReply::silent)};
template <>
inline constexpr auto kFields<TakeStacks> =
    std::tuple{field("attempt", &TakeStacks::attempt),
               field("id", &TakeStacks::id),
               field("ranks", &TakeStacks::ranks, kRank),
               field("path", &TakeStacks::path),
               field("limit_ms", &TakeStacks::limit_ms, kInterval),
               field("native", &TakeStacks::native)};
template <>
inline constexpr auto kFields<StacksTaken> =
    std::tuple{field("attempt", &StacksTaken::attempt), field("id", &StacksTaken::id),
               field("problem", &StacksTaken::problem), field("ranks", &StacksTaken::ranks)};
template <>
inline constexpr auto kFields<PySpyTaken> =
    std::tuple{field("up_to", &PySpyTaken::up_to), field("problem", &PySpyTaken::problem)};

template <>
inline constexpr auto kFields<MetricPulse> =
    std::tuple{field("metric", &MetricPulse::metric), field("value", &MetricPulse::value)};
template <>
inline constexpr auto kFields<RankPulse> =
    std::tuple{field("rank", &RankPulse::rank, kRank),
               field("output", &RankPulse::output),
               field("quiet_ms", &RankPulse::quiet_ms),
               field("heartbeats", &RankPulse::heartbeats),
               field("heartbeat_ms", &RankPulse::heartbeat_ms),
               field("cpu_ms", &RankPulse::cpu_ms),
               field("io_bytes", &RankPulse::io_bytes),
               field("switches", &RankPulse::switches),
               field("memory", &RankPulse::memory),
               field("processes", &RankPulse::processes),
               field("state", &RankPulse::state),
               field("gpu_percent", &RankPulse::gpu_percent),
               field("gpu_memory", &RankPulse::gpu_memory),
               field("last_line", &RankPulse::last_line),
               field("metrics", &RankPulse::metrics)};
template <>
inline constexpr auto kFields<NodePulse> =
    std::tuple{field("cpu_percent", &NodePulse::cpu_percent),
               field("cores", &NodePulse::cores),
               field("mhz", &NodePulse::mhz),
               field("memory_available", &NodePulse::memory_available),
               field("memory_stall_permille", &NodePulse::memory_stall_permille),
               field("remarks", &NodePulse::remarks),
               field("network_bytes", &NodePulse::network_bytes),
               field("ranks_cpu_percent", &NodePulse::ranks_cpu_percent)};
template <>
inline constexpr auto kFields<Pulse> =
    std::tuple{field("attempt", &Pulse::attempt), field("at", &Pulse::at),
               field("ranks", &Pulse::ranks), field("node", &Pulse::node)};
template <>
inline constexpr auto kFields<NodeStatus> =
    std::tuple{field("host", &NodeStatus::host), field("silent_ms", &NodeStatus::silent_ms),
               field("pulse", &NodeStatus::pulse)};
template <>
inline constexpr auto kFields<SpareStatus> =
    std::tuple{field("host", &SpareStatus::host), field("state", &SpareStatus::state)};
template <>
inline constexpr auto kFields<RankStatus> =
    std::tuple{field("node", &RankStatus::node), field("started", &RankStatus::started),
               field("end", &RankStatus::end), field("cpu_percent", &RankStatus::cpu_percent),
               field("pulse", &RankStatus::pulse)};
template <>
inline constexpr auto kFields<StatusQuestion> =
    std::tuple{field("build_id", &StatusQuestion::build_id)};
template <>
inline constexpr auto kFields<StatusReply> =
    std::tuple{field("run", &StatusReply::run),
               field("name", &StatusReply::name),
               field("state", &StatusReply::state),
               field("attempt", &StatusReply::attempt),
               field("run_ms", &StatusReply::run_ms),
               field("attempt_ms", &StatusReply::attempt_ms),
               field("is_watched", &StatusReply::is_watched),
               field("metrics", &StatusReply::metrics),
               field("nodes", &StatusReply::nodes),
               field("ranks", &StatusReply::ranks),
               field("spares", &StatusReply::spares)};
template <>
inline constexpr auto kFields<StopQuestion> = std::tuple{
    field("build_id", &StopQuestion::build_id), field("now", &StopQuestion::now),
    field("checkpoint", &StopQuestion::checkpoint)};

template <>
inline constexpr auto kFields<StopReply> =
    std::tuple{field("limit_ms", &StopReply::limit_ms)};

template <>
inline constexpr auto kFields<Refusal> =
    std::tuple{field("problem", &Refusal::problem), field("exit_code", &Refusal::exit_code)};
template <>
inline constexpr auto kFields<OpenTerminal> =
    std::tuple{field("attempt", &OpenTerminal::attempt),
               field("id", &OpenTerminal::id),
               field("rank", &OpenTerminal::rank, kRank),
               field("argv", &OpenTerminal::argv),
               field("env", &OpenTerminal::env),
               field("rows", &OpenTerminal::rows, kTerminalSize),
               field("columns", &OpenTerminal::columns, kTerminalSize),
               field("is_terminal", &OpenTerminal::is_terminal)};
template <>
inline constexpr auto kFields<ResizeTerminal> = std::tuple{
    field("id", &ResizeTerminal::id), field("rows", &ResizeTerminal::rows, kTerminalSize),
    field("columns", &ResizeTerminal::columns, kTerminalSize)};
template <>
inline constexpr auto kFields<TerminalTaken> =
    std::tuple{field("id", &TerminalTaken::id), field("up_to", &TerminalTaken::up_to)};
template <>
inline constexpr auto kFields<CloseTerminal> = std::tuple{field("id", &CloseTerminal::id)};
template <>
inline constexpr auto kFields<TerminalEnded> =
    std::tuple{field("id", &TerminalEnded::id), field("problem", &TerminalEnded::problem),
               field("status", &TerminalEnded::status)};

template <>
inline constexpr auto kFields<RanksAwaited> = std::tuple{field("attempt", &RanksAwaited::attempt)};
template <>
inline constexpr auto kFields<StartMpirun> =
    std::tuple{field("attempt", &StartMpirun::attempt), field("argv", &StartMpirun::argv),
               field("env", &StartMpirun::env)};
template <>
inline constexpr auto kFields<MpirunOutput> =
    std::tuple{field("attempt", &MpirunOutput::attempt), field("bytes", &MpirunOutput::bytes)};
template <>
inline constexpr auto kFields<MpirunEnded> =
    std::tuple{field("attempt", &MpirunEnded::attempt), field("status", &MpirunEnded::status),
               field("at", &MpirunEnded::at), field("after_signal", &MpirunEnded::after_signal)};

template <>
inline constexpr auto kFields<Deadline> =
    std::tuple{field("attempt", &Deadline::attempt), field("path", &Deadline::path),
               field("at", &Deadline::at)};

template <>
inline constexpr auto kFields<PreemptionNotice> =
    std::tuple{field("attempt", &PreemptionNotice::attempt),
               field("reason", &PreemptionNotice::reason),
               field("left_ms", &PreemptionNotice::left_ms)};

template <>
inline constexpr auto kFields<CheckpointItem> =
    std::tuple{field("path", &CheckpointItem::path), field("bytes", &CheckpointItem::bytes),
               field("files", &CheckpointItem::files), field("written", &CheckpointItem::written)};

template <>
inline constexpr auto kFields<CheckpointList> = std::tuple{
    field("items", &CheckpointList::items), field("is_whole", &CheckpointList::is_whole)};

template <>
inline constexpr auto kFields<StageBegin> =
    std::tuple{field("id", &StageBegin::id),           field("roots", &StageBegin::roots),
               field("origins", &StageBegin::origins), field("needs", &StageBegin::needs),
               field("by", &StageBegin::by),           field("for_ranks", &StageBegin::for_ranks)};
template <>
inline constexpr auto kFields<StageClaimed> =
    std::tuple{field("id", &StageClaimed::id), field("by", &StageClaimed::by),
               field("target", &StageClaimed::target)};
template <>
inline constexpr auto kFields<SeeStaged> =
    std::tuple{field("clean", &SeeStaged::clean), field("paths", &SeeStaged::paths),
               field("limit_ms", &SeeStaged::limit_ms, kInterval)};
template <>
inline constexpr auto kFields<StagedSeen> =
    std::tuple{field("targets", &StagedSeen::targets), field("problem", &StagedSeen::problem)};
template <>
inline constexpr auto kFields<ServeProgram> =
    std::tuple{field("id", &ServeProgram::id), field("ticket", &ServeProgram::ticket),
               field("limit_ms", &ServeProgram::limit_ms, kInterval)};
template <>
inline constexpr auto kFields<ProgramServed> =
    std::tuple{field("id", &ProgramServed::id), field("at", &ProgramServed::at)};

template <>
inline constexpr auto kFields<StageEntries> =
    std::tuple{field("id", &StageEntries::id), field("entries", &StageEntries::entries),
               field("last", &StageEntries::last)};

template <>
inline constexpr auto kFields<StageStream> = std::tuple{field("id", &StageStream::id),
                                                        field("runs", &StageStream::runs),
                                                        field("same", &StageStream::same),
                                                        field("last", &StageStream::last),
                                                        field("direct", &StageStream::is_direct),
                                                        field("holds", &StageStream::holds)};

template <>
inline constexpr auto kFields<StageHashes> =
    std::tuple{field("id", &StageHashes::id), field("entries", &StageHashes::entries),
               field("words", &StageHashes::words)};

template <>
inline constexpr auto kFields<StageServe> =
    std::tuple{field("id", &StageServe::id),
               field("link", &StageServe::link),
               field("key", &StageServe::key),
               field("addresses", &StageServe::addresses),
               field("limit_ms", &StageServe::limit_ms, kInterval),
               field("guest", &StageServe::guest)};

template <>
inline constexpr auto kFields<StageFeed> = std::tuple{
    field("id", &StageFeed::id), field("link", &StageFeed::link), field("key", &StageFeed::key),
    field("at", &StageFeed::at), field("limit_ms", &StageFeed::limit_ms, kInterval)};

template <>
inline constexpr auto kFields<StageOver> = std::tuple{field("id", &StageOver::id)};

template <>
inline constexpr auto kFields<StageWants> =
    std::tuple{field("id", &StageWants::id), field("wants", &StageWants::wants),
               field("missing", &StageWants::missing), field("looked", &StageWants::looked),
               field("last", &StageWants::last)};

template <>
inline constexpr auto kFields<StageReady> = std::tuple{field("id", &StageReady::id)};

template <>
inline constexpr auto kFields<StageListening> =
    std::tuple{field("id", &StageListening::id), field("link", &StageListening::link),
               field("at", &StageListening::at)};

template <>
inline constexpr auto kFields<StageLinked> =
    std::tuple{field("id", &StageLinked::id), field("link", &StageLinked::link),
               field("position", &StageLinked::position), field("problem", &StageLinked::problem)};

template <>
inline constexpr auto kFields<StageProgress> =
    std::tuple{field("id", &StageProgress::id), field("link", &StageProgress::link),
               field("position", &StageProgress::position), field("taken", &StageProgress::taken),
               field("work", &StageProgress::work)};

template <>
inline constexpr auto kFields<StageDone> =
    std::tuple{field("id", &StageDone::id), field("problem", &StageDone::problem),
               field("removed", &StageDone::removed), field("skipped", &StageDone::skipped)};

template <>
inline constexpr auto kFields<CollectBegin> =
    std::tuple{field("id", &CollectBegin::id), field("items", &CollectBegin::items),
               field("most_bytes", &CollectBegin::most_bytes)};

template <>
inline constexpr auto kFields<CollectDone> =
    std::tuple{field("id", &CollectDone::id),           field("problem", &CollectDone::problem),
               field("files", &CollectDone::files),     field("bytes", &CollectDone::bytes),
               field("missing", &CollectDone::missing), field("special", &CollectDone::special)};

template <>
inline constexpr auto kFields<StagePeer> =
    std::tuple{field("node", &StagePeer::node), field("name", &StagePeer::name),
               field("forwards", &StagePeer::forwards), field("addresses", &StagePeer::addresses)};

template <>
inline constexpr auto kFields<StageFrom> =
    std::tuple{field("id", &StageFrom::id),
               field("items", &StageFrom::items),
               field("peers", &StageFrom::peers),
               field("self", &StageFrom::self),
               field("by", &StageFrom::by),
               field("for_ranks", &StageFrom::for_ranks),
               field("needs_all", &StageFrom::needs_all),
               field("window_ms", &StageFrom::window_ms, kInterval)};

template <>
inline constexpr auto kFields<StageLost> =
    std::tuple{field("id", &StageLost::id), field("node", &StageLost::node)};

template <>
inline constexpr auto kFields<StageSaid> =
    std::tuple{field("id", &StageSaid::id), field("text", &StageSaid::text),
               field("is_note", &StageSaid::is_note)};

template <>
inline constexpr auto kFields<StagedNode> = std::tuple{
    field("node", &StagedNode::node),       field("name", &StagedNode::name),
    field("bytes", &StagedNode::bytes),     field("from_launcher", &StagedNode::from_launcher),
    field("removed", &StagedNode::removed), field("source", &StagedNode::source)};

template <>
inline constexpr auto kFields<StageReported> = std::tuple{
    field("id", &StageReported::id),           field("exit_code", &StageReported::exit_code),
    field("problem", &StageReported::problem), field("nodes", &StageReported::nodes),
    field("files", &StageReported::files),     field("bytes", &StageReported::bytes),
    field("special", &StageReported::special), field("notes", &StageReported::notes)};

template <>
inline constexpr auto kFields<SeeCheckpoints> =
    std::tuple{field("attempt", &SeeCheckpoints::attempt), field("id", &SeeCheckpoints::id)};

template <>
inline constexpr auto kFields<CheckpointsFound> = std::tuple{
    field("at", &CheckpointsFound::at), field("written", &CheckpointsFound::written),
    field("unlisted", &CheckpointsFound::unlisted), field("older", &CheckpointsFound::older),
    field("problem", &CheckpointsFound::problem)};

template <>
inline constexpr auto kFields<CheckpointsSeen> =
    std::tuple{field("attempt", &CheckpointsSeen::attempt), field("id", &CheckpointsSeen::id),
               field("found", &CheckpointsSeen::found)};

template <>
inline constexpr auto kFields<SignalRanks> = std::tuple{
    field("attempt", &SignalRanks::attempt), field("signal", &SignalRanks::signal, kSignal)};
template <>
inline constexpr auto kFields<Signalled> = std::tuple{field("signal", &Signalled::signal, kSignal)};
template <>
inline constexpr auto kFields<StopRanks> =
    std::tuple{field("attempt", &StopRanks::attempt), field("signal", &StopRanks::signal, kSignal),
               field("ranks", &StopRanks::ranks, kRank)};

template <>
inline constexpr auto kFields<KillRanks> =
    std::tuple{field("attempt", &KillRanks::attempt), field("ranks", &KillRanks::ranks, kRank)};

template <>
inline constexpr auto kFields<OutputCredit> =
    std::tuple{field("attempt", &OutputCredit::attempt), field("rank", &OutputCredit::rank, kRank),
               field("stream", &OutputCredit::stream), field("up_to", &OutputCredit::up_to),
               field("keep_last", &OutputCredit::keep_last)};

template <>
inline constexpr auto kFields<Facts> =
    std::tuple{field("facts", &Facts::facts), field("attempt", &Facts::attempt)};

template <>
inline constexpr auto kFields<RanksStarted> =
    std::tuple{field("attempt", &RanksStarted::attempt), field("ranks", &RanksStarted::ranks)};

template <>
inline constexpr auto kFields<RankNotStarted> = std::tuple{
    field("attempt", &RankNotStarted::attempt), field("rank", &RankNotStarted::rank, kRank),
    field("failure", &RankNotStarted::failure), field("at", &RankNotStarted::at)};

template <>
inline constexpr auto kFields<RankExited> =
    std::tuple{field("attempt", &RankExited::attempt), field("rank", &RankExited::rank, kRank),
               field("status", &RankExited::status), field("at", &RankExited::at),
               field("after_signal", &RankExited::after_signal)};

template <>
inline constexpr auto kFields<OutputEnd> =
    std::tuple{field("attempt", &OutputEnd::attempt), field("rank", &OutputEnd::rank, kRank),
               field("stream", &OutputEnd::stream), field("size", &OutputEnd::size),
               field("lost", &OutputEnd::lost)};

template <>
inline constexpr auto kFields<StdinTaken> =
    std::tuple{field("attempt", &StdinTaken::attempt), field("up_to", &StdinTaken::up_to),
               field("closed", &StdinTaken::closed)};

template <>
inline constexpr auto kFields<AttemptEnded> = std::tuple{
    field("attempt", &AttemptEnded::attempt), field("leftovers", &AttemptEnded::leftovers)};

template <>
inline constexpr auto kFields<Notice> = std::tuple{field("text", &Notice::text)};

template <>
inline constexpr auto kFields<PortTaken> =
    std::tuple{field("attempt", &PortTaken::attempt), field("rank", &PortTaken::rank, kRank),
               field("taken", &PortTaken::taken)};

template <>
inline constexpr auto kFields<CheckPrerequisites> =
    std::tuple{field("attempt", &CheckPrerequisites::attempt),
               field("workdir", &CheckPrerequisites::workdir),
               field("carried", &CheckPrerequisites::carried),
               field("programs", &CheckPrerequisites::programs),
               field("files", &CheckPrerequisites::files),
               field("lookups", &CheckPrerequisites::lookups),
               field("folders", &CheckPrerequisites::folders)};

template <>
inline constexpr auto kFields<FetchOutput> =
    std::tuple{field("attempt", &FetchOutput::attempt), field("rank", &FetchOutput::rank, kRank),
               field("part", &FetchOutput::part), field("offset", &FetchOutput::offset),
               field("size", &FetchOutput::size, kFetched)};

template <>
inline constexpr auto kFields<ForgetOutput> = std::tuple{field("attempt", &ForgetOutput::attempt)};

template <>
inline constexpr auto kFields<PrerequisitesMissing> = std::tuple{
    field("attempt", &PrerequisitesMissing::attempt),
    field("missing", &PrerequisitesMissing::missing), field("found", &PrerequisitesMissing::found),
    field("folders", &PrerequisitesMissing::folders)};

template <>
inline constexpr auto kFields<Resume> = std::tuple{
    field("connection", &Resume::connection), field("control_received", &Resume::control_received),
    field("streams", &Resume::streams)};

template <>
inline constexpr auto kFields<OpenDoor> =
    std::tuple{field("id", &OpenDoor::id),
               field("addresses", &OpenDoor::addresses),
               field("any_address", &OpenDoor::any_address),
               field("port", &OpenDoor::port, kPort),
               field("nonce", &OpenDoor::nonce),
               field("answer", &OpenDoor::answer),
               field("limit_ms", &OpenDoor::limit_ms, kInterval)};

template <>
inline constexpr auto kFields<Knock> = std::tuple{field("id", &Knock::id),
                                                  field("addresses", &Knock::addresses),
                                                  field("port", &Knock::port, kPort),
                                                  field("nonce", &Knock::nonce),
                                                  field("answer", &Knock::answer),
                                                  field("limit_ms", &Knock::limit_ms, kInterval)};

template <>
inline constexpr auto kFields<CloseDoor> = std::tuple{field("id", &CloseDoor::id)};

template <>
inline constexpr auto kFields<DoorOpen> =
    std::tuple{field("id", &DoorOpen::id), field("errors", &DoorOpen::errors, kErrno)};

template <>
inline constexpr auto kFields<Knocked::One> =
    std::tuple{field("address", &Knocked::One::address, kCandidates),
               field("error", &Knocked::One::error, kErrno),
               field("round_trip_us", &Knocked::One::round_trip_us),
               field("local_address", &Knocked::One::local_address),
               field("interface", &Knocked::One::interface)};

template <>
inline constexpr auto kFields<Knocked> =
    std::tuple{field("id", &Knocked::id), field("results", &Knocked::results)};

template <>
inline constexpr auto kFields<SyncBegin> =
    std::tuple{field("id", &SyncBegin::id), field("root", &SyncBegin::root),
               field("marker", &SyncBegin::marker), field("origin", &SyncBegin::origin)};

template <>
inline constexpr auto kFields<SyncEntries> =
    std::tuple{field("id", &SyncEntries::id), field("entries", &SyncEntries::entries),
               field("last", &SyncEntries::last)};

template <>
inline constexpr auto kFields<SyncSettled> =
    std::tuple{field("id", &SyncSettled::id), field("same", &SyncSettled::same),
               field("skipped", &SyncSettled::skipped)};

template <>
inline constexpr auto kFields<SyncRemove> =
    std::tuple{field("id", &SyncRemove::id), field("paths", &SyncRemove::paths)};

template <>
inline constexpr auto kFields<SyncEnd> = std::tuple{field("id", &SyncEnd::id)};

template <>
inline constexpr auto kFields<SyncFolder> =
    std::tuple{field("id", &SyncFolder::id), field("is_shared", &SyncFolder::is_shared)};

template <>
inline constexpr auto kFields<SyncWants> =
    std::tuple{field("id", &SyncWants::id), field("wanted", &SyncWants::wanted),
               field("contents", &SyncWants::contents), field("gone", &SyncWants::gone),
               field("last", &SyncWants::last)};

template <>
inline constexpr auto kFields<SyncTaken> =
    std::tuple{field("id", &SyncTaken::id), field("up_to", &SyncTaken::up_to)};

template <>
inline constexpr auto kFields<SyncDone> =
    std::tuple{field("id", &SyncDone::id), field("problem", &SyncDone::problem),
               field("removed", &SyncDone::removed), field("replaced", &SyncDone::replaced),
               field("examples", &SyncDone::examples)};

template <>
inline constexpr auto kFields<RankSpan> =
    std::tuple{field("first", &RankSpan::first, kRank), field("count", &RankSpan::count, kSpan)};

template <>
inline constexpr auto kFields<PreparePmix::Node> =
    std::tuple{field("name", &PreparePmix::Node::name), field("ranks", &PreparePmix::Node::ranks)};

template <>
inline constexpr auto kFields<PreparePmix> = std::tuple{
    field("attempt", &PreparePmix::attempt), field("name_space", &PreparePmix::name_space),
    field("nodes", &PreparePmix::nodes),     field("pmix", &PreparePmix::pmix),
    field("pmi1", &PreparePmix::pmi1),       field("own", &PreparePmix::own, kNodeRank)};

template <>
inline constexpr auto kFields<PmixReady> =
    std::tuple{field("attempt", &PmixReady::attempt), field("refused", &PmixReady::refused)};

template <>
inline constexpr auto kFields<PmixWanted> =
    std::tuple{field("attempt", &PmixWanted::attempt), field("id", &PmixWanted::id),
               field("rank", &PmixWanted::rank, kRank)};

// ---- enumerations that travel as names

inline constexpr std::array<std::pair<MpiEnd, std::string_view>, 5> kMpiEndNames = {{
    {MpiEnd::fine, "fine"},
    {MpiEnd::aborted, "aborted"},
    {MpiEnd::never_connected, "never_connected"},
    {MpiEnd::not_finalized, "not_finalized"},
    {MpiEnd::other_world, "other_world"},
}};

inline constexpr std::array<std::pair<NetworkInterface::Kind, std::string_view>, 9>
    kInterfaceKindNames = {{
        {NetworkInterface::Kind::physical, "physical"},
        {NetworkInterface::Kind::loopback, "loopback"},
        {NetworkInterface::Kind::bridge, "bridge"},
        {NetworkInterface::Kind::bond, "bond"},
        {NetworkInterface::Kind::vlan, "vlan"},
        {NetworkInterface::Kind::veth, "veth"},
        {NetworkInterface::Kind::tunnel, "tunnel"},
        {NetworkInterface::Kind::infiniband, "infiniband"},
        {NetworkInterface::Kind::other, "other"},
    }};

inline constexpr std::array<std::pair<StartFailure::Step, std::string_view>, 7> kStepNames = {{
    {StartFailure::Step::workdir, "workdir"},
    {StartFailure::Step::execute, "execute"},
    {StartFailure::Step::interpreter, "interpreter"},
    {StartFailure::Step::resources, "resources"},
    {StartFailure::Step::file, "file"},
    {StartFailure::Step::container, "container"},
    {StartFailure::Step::module, "module"},
}};

inline constexpr std::array kFrameKindNames{
    std::pair{StackFrame::Kind::python, std::string_view("python")},
    std::pair{StackFrame::Kind::kernel, std::string_view("kernel")},
    std::pair{StackFrame::Kind::native, std::string_view("native")}};

template <class Value>
inline constexpr auto kNamesOf = nullptr;  // not a type whose values have names
template <>
inline constexpr auto kNamesOf<RdmaGid::Type> = kGidTypeNames;
template <>
inline constexpr auto kNamesOf<RdmaPort::LinkLayer> = kLinkLayerNames;
template <>
inline constexpr auto kNamesOf<RdmaPort::State> = kPortStateNames;
template <>
inline constexpr auto kNamesOf<PciFunction> = kPciFunctionNames;

template <>
inline constexpr auto kNamesOf<StackFrame::Kind> = kFrameKindNames;

template <class Value>
concept HasNames = !std::is_same_v<std::remove_cv_t<decltype(kNamesOf<Value>)>, std::nullptr_t>;

template <class T>
concept HasFields = !std::is_same_v<std::remove_cv_t<decltype(kFields<T>)>, std::nullptr_t>;

}  // namespace dlaunch::wire
