#include "samples.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ostream>
#include <set>
#include <string_view>
#include <variant>

namespace dlaunch::wire {

struct Message::Any {
  std::variant<ToAgent, FromAgent, ChannelMessage> message;
};

Message::Message(ToAgent message) : any_(std::make_shared<Any>(Any{std::move(message)})) {}
Message::Message(FromAgent message) : any_(std::make_shared<Any>(Any{std::move(message)})) {}
Message::Message(ChannelMessage message) : any_(std::make_shared<Any>(Any{std::move(message)})) {}

bool Message::operator==(const Message& other) const {
  return any_->message == other.any_->message;
}

Frame encode(const Message& message) {
  return std::visit([](const auto& one) { return encode_message(one); }, message.any_->message);
}

template <class Messages>
Result<Message> decode_as(const FrameView& frame) {
  Result<Messages> message = decode<Messages>(frame);
  if (!message) return tl::unexpected(message.error());
  return Message(*std::move(message));
}

Result<Message> decode(const FrameView& frame) {
  const auto goes_other_way = [](const Result<Message>& message) {
    return !message && message.error().message.ends_with("it is for the other direction");
  };
  Result<Message> message = decode_as<ToAgent>(frame);
  if (goes_other_way(message)) message = decode_as<FromAgent>(frame);
  if (goes_other_way(message)) message = decode_as<ChannelMessage>(frame);
  return message;
}

void PrintTo(const Message& message, std::ostream* out) {
  *out << type_name(encode(message).type);
}

bool is_raw(const Message& message) {
  static const std::set<std::string_view> kRaw = {
      "OutputData",    "StdinData",      "FetchedOutput", "SyncData",  "PmixFence",  "PmixData",
      "TerminalInput", "TerminalOutput", "PySpyData",     "StageData", "StageLetter"};
  return kRaw.contains(type_name(encode(message).type));
}

std::string every_byte() {
  std::string bytes;
  for (int c = 1; c < 256; ++c) bytes.push_back(static_cast<char>(c));
  return bytes;
}

WallTime at(std::int64_t nanoseconds) {
  return WallTime(std::chrono::nanoseconds(nanoseconds));
}

namespace {

FabricFacts sample_fabric() {
  RdmaPort port;
  port.number = 255;
  port.link_layer = RdmaPort::LinkLayer::ethernet;
  port.state = RdmaPort::State::active_defer;
  port.physical_state = "LinkUp";
  port.rate_mbit = 4294967295U;
  port.lanes = 255;
  port.speed = "NDR";
  port.lid = 0xffffffff;
  port.sm_lid = 1;
  port.netdev = "ens1np0";
  port.gids = {
      {0, RdmaGid::Type::v1, "fe80:0000:0000:0000:0ac0:ebff:fe00:0001", ""},
      {65535, RdmaGid::Type::roce_v2, "0000:0000:0000:0000:0000:ffff:0a01:0104", "ens1np0"}};
  FabricFacts facts;
  facts.rdma = {{"mlx5_0",
                 "CA",
                 "b83f:d203:0000:1d2a",
                 "28.39.1002",
                 "ConnectX-7",
                 "mlx5_core",
                 "0000:18:00.0",
                 "pci0000:15/0000:15:01.0/0000:18:00.0",
                 1,
                 PciFunction::physical,
                 true,
                 {port, {}}},
                {"rxe0", "", "", "", "", "", "", "", -1, PciFunction::unknown, false, {}}};
  facts.no_rdma = "why not";
  facts.nics = {{"ens1np0", "mlx5_core", "0000:18:00.0", "pci0000:15/0000:18:00.0", 65535,
                 PciFunction::virtual_function, true, 400000, "bond0", false},
                {}};
  facts.gpu_driver = "550.54.15";
  facts.no_gpus = "none";
  facts.nvswitches = 4;
  facts.peer_memory = true;
  facts.nccl_settings = {{"NCCL_IB_HCA", "=mlx5_0:1"}};
  facts.oddities = {"mlx5_1/1: rate is \"fast\""};
  return facts;
}

}  // namespace

NodeFacts sample_facts() {
  NodeFacts facts;
  facts.hostname = "gpu01";
  facts.architecture = "x86_64";
  facts.kernel = "6.1.0-18-amd64";
  facts.memory_bytes = std::uint64_t{2} << 40;
  facts.cores = {{0, {0, 64}, false}, {1, {32, 96}, true}};
  facts.gpus = {
      {0, "GPU-6f1c0c2e-3a1b-4c55-9f0e-0d1f2a3b4c5d", "0000:1b:00.0", "NVIDIA H100 80GB HBM3", 0},
      {1, "", "0000:43:00.0", "", -1}};
  facts.cuda_visible_devices = "0,1";
  facts.reserved_ports = {20001, 65535};
  facts.taken_ports = {{29500, "pid 8812 (python train.py, user eve)"}, {6105, ""}};
  facts.output_folder = "/var/tmp/dlaunch-1000/20261120-210142-k3f-1";
  facts.output_refused = "No space left on device";
  facts.isolation_refused = "unshare: Operation not permitted";
  facts.memory_available_bytes = std::uint64_t{1} << 40;
  facts.interfaces = {
      {"bond0",
       NetworkInterface::Kind::bond,
       true,
       200000,
       9000,
       "br0",
       {{"10.0.0.4", 24}, {"fd00::4", 64}}},
      {"ib0", NetworkInterface::Kind::infiniband, false, 4294967295U, 2044, "", {}}};
  facts.rdma_devices = {"mlx5_0", "mlx5_1"};
  facts.limits = {1024, 63000, 8 << 20, 1};
  facts.environment = {{"NCCL_SOCKET_IFNAME", "=ib0"}};
  facts.machine = "0a1b net:[1] pid:[2]";
  facts.gpus[0].pci_path = "pci0000:15/0000:15:01.0/0000:1b:00.0";
  facts.fabric = sample_fabric();
  facts.mpirun = "/usr/bin/mpirun";
  facts.mpirun_version = "mpirun (Open MPI) 4.1.4\n";
  facts.no_pmix = "dlaunch-pmix cannot run: libpmix.so.2 not found";
  facts.user_id = 1000;
  facts.mca_settings = {{"OMPI_MCA_btl", "^openib"}};
  facts.containers = {{{"podman", "/usr/bin/podman"}, {"ch-run", "/opt/bin/ch-run"}},
                      "/tmp",
                      "/tmp/dlaunch-1000",
                      1000,
                      100,
                      true,
                      20000,
                      ResourceLimits::kUnlimited,
                      std::uint64_t{16} << 30,
                      true,
                      false,
                      true};
  return facts;
}

StartRanks sample_start() {
  StartRanks start;
  start.attempt = Attempt(3);
  start.log_folder = "/home/me/runs/1/attempt-3";
  start.workdir = "/home/me/\xff\xfe caf\xc3\xa9";
  start.scrub = {"SLURM_*", "PMI_RANK"};
  start.env = {{"EVERY_BYTE", every_byte()}, {"EMPTY", ""}, {"EQUALS", "a=b=c"}};
  start.commands = {{{"/bin/sh", "-c", "echo $RANK\n"}, true},
                    {{"train", every_byte(), ""}, false}};
  start.ranks = {{Rank(0), LocalRank(0), 0, {{"RANK", "0"}}, {0, 1}, {29500}, true, true},
                 {Rank((1 << 20) - 1), LocalRank(7), 1, {}, {}, {}, false, false, 1, true}};
  start.output_credit = 1 << 20;
  start.last = false;
  start.files = {{"/home/me/runs/1/attempt-3/hostfile", "gpu01 slots=8\n"}, {"/empty", ""}};
  start.carried = {{"PATH", "/opt/conda/bin:/usr/bin"}, {"VIRTUAL_ENV", "/home/me/venv"}};
  start.defaults = {{"OMP_NUM_THREADS", "4"}};
  start.join_folder = "/tmp/dlaunch-1000/join-20261120-210142-k3f-0";
  start.are_mpi = true;
  start.world = 1 << 20;
  start.on_node = 128;
  start.containers = {{{"/usr/bin/podman", "run", "--name=dlaunch-1-0-r", "image"},
                       2,
                       {{"TMPDIR", "/tmp"}},
                       {"/usr/bin/podman", "rm"},
                       "dlaunch-1-0-r"}};
  start.entry_folder = "/tmp/dlaunch-enter-20261120-210142-k3f-0-0";
  start.pulse_ms = 1000;
  start.metrics = {"loss ([0-9.]+)", "\xff"};
  start.preemption_command = {"./notice.sh", "\xff"};
  start.preemption_ms = 5000;
  start.preemption_file = "/run/notice";
  start.preload = {"torch", "\xff"};
  return start;
}

std::vector<Message> samples() {
  const StartFailure failure{StartFailure::Step::interpreter, ENOENT, "./train.py",
                             "/bin:/usr/bin"};
  return {
      Hello{kProtocolVersion, "4f2a90", "gpu01", 500, 20000, true},
      Heartbeat{at(1'700'000'000'123'456'789), 1, std::uint64_t{1} << 60, 77},
      Ack{18'446'744'073'709'551'615ULL},
      Bye{},
      FactsRequest{2,
                   {29500, 1},
                   Attempt(3),
                   "20261120-210142-k3f-1",
                   {"NCCL_SOCKET_IFNAME"},
                   {"mpirun"},
                   "/opt/bin",
                   {{"PATH", "/usr/bin"}},
                   {"podman", "ch-run"},
                   true,
                   false},
      sample_start(),
      StopRanks{Attempt(1), SIGTERM, {Rank(2), Rank((1 << 20) - 1)}},
      KillRanks{Attempt(4'294'967'295U), {Rank(5)}},
      OutputCredit{Attempt(1), Rank(5), Stream::err, std::uint64_t{1} << 40, 65536},
      StdinData{Attempt(1), std::string("\0\xff\n", 3)},
      Facts{sample_facts(), Attempt(3)},
      RanksStarted{Attempt(1), {{Rank(0), 4711, at(1)}, {Rank(1), 1 << 22, at(-1)}}},
      RankNotStarted{Attempt(1), Rank(2), failure, at(5)},
      RankExited{Attempt(1),
                 Rank(3),
                 {true, SIGSEGV, true, "cgroup limit 12 GiB", MpiEnd::other_world, 3},
                 at(9),
                 true},
      OutputData{Attempt(1), Rank(3), Stream::err, std::uint64_t{1} << 40,
                 std::string_view("a\0b\xff", 4)},
      OutputEnd{Attempt(1), Rank(3), Stream::out, 1000, 10},
      StdinTaken{Attempt(1), 77, true},
      AttemptEnded{Attempt(1), 2},
      Notice{"the log disk is full"},
      PortTaken{Attempt(1), Rank(0), {20001, "pid 8812 (nc -l 20001, user eve)"}},
      CheckPrerequisites{Attempt(1),
                         "/home/me/job",
                         {{"PATH", "/opt/conda/bin:/usr/bin"}},
                         {{"python", "/opt/bin"}, {"./train", std::nullopt}},
                         {"venv/bin/activate", "train.py"},
                         {{"python3",
                           "/opt/bin",
                           "/home/me/venv/bin/python3",
                           {{"-u"}, "train.py", "trainer"},
                           {{"PYTHONPATH", every_byte()}},
                           true}},
                         {"/home/me/venv"}},
      FetchOutput{Attempt(1), Rank(3), OutputPart::error_file, std::uint64_t{1} << 40,
                  kMostFetched},
      ForgetOutput{Attempt(1)},
      PrerequisitesMissing{
          Attempt(1),
          {failure,
           {StartFailure::Step::file, ENOENT, "trian.py", "", "", "train.py"},
           {StartFailure::Step::module, ENOENT, "/usr/bin/python3", "", "a.b", "a.c"}},
          {{"/usr/bin/python3", "3.11", "leads to nowhere", {"numpy"}, {"torch"}}},
          {"/home/me/venv"}},
      FetchedOutput{Attempt(1), Rank(3), OutputPart::err, std::uint64_t{1} << 40,
                    std::string("a\0b\xff", 4)},
      Resume{2, 99, {{Attempt(1), Rank(3), Stream::err, std::uint64_t{1} << 40}}},
      OpenDoor{7, {"10.0.0.4", "fd00::4"}, true, 20001, "abc", "def", 5000},
      Knock{7, {"10.0.0.4", "fd00::4"}, 20001, "abc", "def", 5000},
      CloseDoor{7},
      DoorOpen{7, {0, EADDRNOTAVAIL}},
      Knocked{7, {{0, 0, 180, "10.0.0.5", "bond0"}, {255, ETIMEDOUT, 4294967295U, "", ""}}},
      SyncBegin{2, "/home/me/job", ".dlaunch-sync-0123456789abcdef0123456789abcdef", "laptop"},
      SyncEntries{
          2,
          {{"src", SyncEntry::Kind::folder, 0755, 0, 0, ""},
           {"src/" + every_byte(), SyncEntry::Kind::file, 0640, std::uint64_t{1} << 40, -1, ""},
           {"data", SyncEntry::Kind::link, 0, 0, 0, "/mnt/data"}},
          true},
      SyncSettled{2, {0, 4294967295U}, {7}},
      SyncRemove{2, {"old/" + every_byte(), "old"}},
      SyncData{2, {{1, 0, std::string("a\0b\xff", 4)}, {2, std::uint64_t{1} << 40, ""}}},
      SyncEnd{2},
      SyncFolder{2, true},
      SyncWants{2, {0, 4294967295U}, {{7, {~std::uint64_t{0}, 1}}}, {"old"}, true},
      SyncTaken{2, std::uint64_t{1} << 40},
      SyncDone{2, "/home/me/job: No space left on device", 3, 2, {"src/a.py"}},
      PreparePmix{Attempt(1),
                  "dlaunch-20261120-210142-k3f-1",
                  {{"gpu01", {{Rank(0), 4}}}, {"gpu02", {{Rank(4), 3}, {Rank(9), 1 << 20}}}},
                  false,
                  true,
                  1},
      PmixReady{Attempt(1), "libpmix.so.2 not found"},
      PmixFence{Attempt(1),
                std::uint64_t{1} << 40,
                -25,
                {{Rank(0), 3}, {Rank(7), 1}},
                std::string("a\0b\xff", 4),
                true},
      PmixWanted{Attempt(1), 4294967295U, Rank(3)},
      PmixData{Attempt(1), 7, -46, std::string("a\0b\xff", 4)},
      SignalRanks{Attempt(1), SIGUSR1},
      Signalled{SIGTERM},
      RanksAwaited{Attempt(1)},
      StartMpirun{Attempt(1), {"mpirun", "-np", "4"}, {{"OMPI_MCA_btl", "self"}}},
      MpirunOutput{Attempt(1), "a\n\xff"},
      MpirunEnded{Attempt(1), {false, 213}, at(9), true},
      Deadline{Attempt(1), "/tmp/deadline", at(10)},
      Inspect{{"/tmp", "/data"},
              {"/opt/venv/lib"},
              {"/opt/venv/bin/python"},
              false,
              false,
              1000,
              {{"LD_LIBRARY_PATH", "/opt/mpi/lib"}},
              {{"A", "b=\xff"}}},
      Inspected{{"late",
                 {"GPU 1: hot"},
                 {"GPU 0: pid 7"},
                 {"not known"},
                 67108864,
                 1048576,
                 {{"/tmp", 5, 10, true, "No such file or directory"}},
                 {{"/opt/venv/lib", "nfs4 at /opt (srv:/opt)", 300, 1'500'000'000, 7, 8, 9}},
                 {"/tmp", "ext4 at /", 100, 2'000'000, 1'000'000, 0, 0},
                 {"mpi: ready"},
                 "a1b2"}},
      TakeStacks{Attempt(1), 3, {Rank(0), Rank(7)}, "/opt/bin:\xff", 1500, true},
      StacksTaken{Attempt(1),
                  3,
                  "late",
                  {{Rank(7),
                    "gpu01",
                    {{4711,
                      12,
                      "python train.py",
                      {{4712,
                        "loader",
                        "S",
                        "reading /mnt/\xff",
                        {{StackFrame::Kind::python, "f", "a.py", 7}},
                        2}},
                      5,
                      6,
                      7}},
                    {"py-spy took too long"},
                    true,
                    {"10.0.0.2"}}}},
      Pulse{
          Attempt(1),
          at(11),
          {{Rank(7),
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            std::uint64_t{1} << 40,
            9,
            "R",
            10,
            11,
            "step\xff",
            {{2, "0.25"}}}},
          {250, 8, 2100, std::uint64_t{1} << 36, 17, {"GPU 0: hot"}, std::uint64_t{1} << 50, 240}},
      OpenTerminal{Attempt(1), 3, Rank(7), {"gdb", "\xff"}, {{"TERM", "xterm"}}, 50, 132, false},
      TerminalInput{3, std::string("ls\n\0\xff", 5)},
      ResizeTerminal{3, 1, 65535},
      TerminalTaken{3, std::uint64_t{1} << 33},
      CloseTerminal{3},
      TerminalOutput{3, Stream::err, std::string("\x1b[0m\0\xff", 6)},
      TerminalEnded{3, "no container", {true, 9}},
      PySpyData{65536, 65541, std::string("\x7f\0\xff\n", 4)},
      PySpyTaken{65541, "no memory"},
      PreemptionNotice{Attempt(1), "Preempt", 30000},
      SeeCheckpoints{Attempt(1), 2},
      CheckpointsSeen{
          Attempt(1),
          2,
          {WallTime(std::chrono::nanoseconds(1'750'000'000'000'000'003)),
           {{"ckpt/\xff", std::uint64_t{1} << 40, 8, WallTime(std::chrono::seconds(7))}},
           3,
           {{"ckpt/old", 1, 1, WallTime()}},
           "no answer in time"}},
      StageBegin{2,
                 {"/local/data", "/"},
                 {{"here:/data", "", "/local/data", true}, {"", "/data/.dlaunch-sync-1"}},
                 {"/usr/bin/python3"},
                 "run 20261120-210142-k3f",
                 true},
      StageEntries{2,
                   {{1,
                     {"a/\xff", SyncEntry::Kind::file, 0640, 9, -1, ""},
                     "data",
                     3,
                     std::uint64_t{1} << 40}},
                   true},
      StageStream{2, {{3, std::uint64_t{1} << 40}}, {0, 4294967295U}, true, true, true},
      StageHashes{2, {7, 8}, {1, 2, 3, 4, 5, 6, 7, ~std::uint64_t{0}}},
      StageServe{2, 3, {"ticket", "up", "down"}, {"10.0.0.4", "fd00::4"}, 5000, NodeId(9)},
      StageFeed{2, 3, {"ticket", "up", "down"}, {{"10.0.0.4", 65535}}, 5000},
      StageData{2, 3, std::string("a\0b\xff", 4)},
      StageOver{2},
      StageWants{2, {{7, {1, ~std::uint64_t{0}}}, {8, {}}}, {0, 3}, 9, true},
      StageReady{2},
      StageListening{2, 3, {{"10.0.0.4", 1}}},
      StageLinked{2, 3, std::uint64_t{1} << 40, "10.0.0.4:1: Connection refused"},
      StageProgress{2, 3, std::uint64_t{1} << 40, std::uint64_t{1} << 50, 7},
      StageDone{2, "/local/data: No space left on device", 0, 3},
      CollectBegin{2, {{"/local/out", "/home/me/results/gpu1/"}}, std::uint64_t{1} << 40},
      CollectDone{2, "/local/out/a: Permission denied", 3, 4096, {0, 7}, {"/local/out/fifo"}},
      StageClaimed{2, "run 20261120-210142-k3f", "/local/data"},
      SeeStaged{true, {"/local/data", "/local/venv"}, 600'000},
      StagedSeen{{{"/local/data",
                   "login:/data",
                   true,
                   true,
                   "/mnt/disk1/data",
                   true,
                   1'700'000'000'000'000'000,
                   "run 20261120-210142-k3f",
                   12,
                   4096,
                   65536,
                   {"run 20261121-090000-aab"},
                   "in use",
                   true}},
                 "more than fits"},
      ServeProgram{7, "0123456789abcdef0123456789abcdef", 15'000},
      ProgramServed{7, {{"10.0.0.4", 40'000}}},
      StageFrom{2,
                {{"/data/a.tar", "/local/a", true, {"*.pt"}, true}},
                {{NodeId(3), "gpu3", true, {"10.0.0.4"}}, {NodeId(0), "gpu1", false, {}}},
                "gpu2",
                "run 20261120-210142-k3f",
                true,
                false,
                250},
      StageLetter{2, NodeId(3), 71, std::string("a\0b\xff", 4)},
      StageSaid{2, "dlaunch: staging 1 GB", true},
      StageReported{2,
                    75,
                    "stage: from gpu2: /data/a.tar: No such file or directory",
                    {{NodeId(3), "gpu3", 4096, 1, 2, "gpu2"}},
                    3,
                    4096,
                    {"/data/fifo"},
                    {"stage: gpu2 could not feed gpu3"}},
      StageLost{2, NodeId(3)},
  };
}

}  // namespace dlaunch::wire
