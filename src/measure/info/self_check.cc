#include "measure/info/self_check.h"

#include <algorithm>
#include <array>

#include "measure/check/node_checks.h"
#include "text/json_text.h"
#include "text/size_text.h"
#include "text/strings.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

using State = SelfCheckRow::State;
using Rows = std::vector<SelfCheckRow>;

constexpr std::array<std::string_view, 4> kWords{"ok", "missing", "none", "broken"};

std::string_view word_of(State state) {
  return kWords[static_cast<std::size_t>(state)];
}

SelfCheckRow kernel_row(const SelfCheckFacts& facts) {
  if (facts.has_pidfd) return {State::works, "kernel", "Linux " + facts.machine.facts.kernel, ""};
  return {State::broken, "kernel",
          "Linux " + facts.machine.facts.kernel + " lacks pidfd_open(2), or a sandbox forbids it",
          "use Linux 5.3 or newer"};
}

SelfCheckRow ssh_row(const SelfCheckFacts& facts) {
  if (!facts.ssh.empty()) return {State::works, "ssh", facts.ssh, ""};
  return {State::lacking, "ssh", "not found: jobs run on this machine only",
          "install openssh-client (Debian, Ubuntu, Alpine) or openssh-clients (Fedora, RHEL)"};
}

SelfCheckRow py_spy_row(const SelfCheckFacts& facts) {
  if (facts.no_py_spy.empty())
    return {State::works, "py-spy", "dlaunch stacks shows Python frames", ""};
  return {State::lacking, "py-spy",
          "dlaunch stacks shows Python frames only on nodes that have py-spy: " + facts.no_py_spy,
          ""};
}

/// Yama (the kernel's admin-guide/LSM/Yama.rst). With value 1, ranks allow their agent to inspect
/// them.
SelfCheckRow ptrace_row(const SelfCheckFacts& facts) {
  const std::string setting = "kernel.yama.ptrace_scope=" + std::to_string(facts.ptrace_scope);
  const std::string remedy = "set sysctl kernel.yama.ptrace_scope to 1 or 0";
  if (facts.ptrace_scope >= 3)
    return {State::lacking, "ptrace", setting + ": dlaunch stacks shows no frames",
            remedy + ", which needs a reboot"};
  if (facts.ptrace_scope == 0 || facts.is_root)
    return {State::works, "ptrace", "dlaunch stacks may look at all processes of a rank", ""};
  if (facts.ptrace_scope == 1)
    return {
        State::works, "ptrace",
        setting + ": dlaunch stacks may look at ranks, and at frames of Python in what they start",
        ""};
  return {State::lacking, "ptrace", setting + ": dlaunch stacks shows frames only to root", remedy};
}

SelfCheckRow cgroup_row(const SelfCheckFacts& facts) {
  if (facts.has_cgroup)
    return {State::works, "cgroup", "ranks run in a cgroup, which the kernel kills as a whole", ""};
  return {State::lacking, "cgroup",
          "no cgroup is delegated to this user: dlaunch finds the processes of ranks in /proc",
          "start dlaunch under systemd-run --user --scope -p Delegate=yes"};
}

SelfCheckRow namespace_row(const SelfCheckFacts& facts) {
  if (facts.no_pid_namespace.empty())
    return {State::works, "namespaces", "isolation: pid-namespace works", ""};
  const std::string& why = facts.no_pid_namespace;
  const std::size_t line = std::min(why.find('\n'), why.size());
  return {State::lacking, "namespaces",
          "isolation: pid-namespace does not work: " + why.substr(0, line),
          why.substr(std::min(line + 1, why.size()))};
}

SelfCheckRow container_row(const SelfCheckFacts& facts) {
  const auto& programs = facts.machine.facts.containers.programs;
  if (programs.empty())
    return {State::lacking, "containers", "no runtime: jobs that set `container` cannot run here",
            "install podman, docker, apptainer, charliecloud or enroot"};
  return {State::works, "containers",
          joined(programs, ", ", [](const auto& program) { return program.name; }), ""};
}

/// The findings of dlaunch check about this machine's limits.
void add_limits(const SelfCheckFacts& facts, Rows& rows) {
  const std::size_t before = rows.size();
  for (const CheckFinding& finding : check_nodes({facts.machine})) {
    constexpr std::array<std::string_view, 3> kLimits{"memlock", "open-files", "shm"};
    if (contains(kLimits, finding.code))
      rows.push_back({State::lacking, finding.code, finding.text, finding.remedy});
  }
  if (rows.size() != before) return;
  const std::uint64_t files = facts.machine.facts.limits.open_files;
  rows.push_back({State::works, "limits",
                  (files == ResourceLimits::kUnlimited ? "any number of" : std::to_string(files)) +
                      std::string(" open files per process, /dev/shm of ") +
                      size_text(facts.machine.condition.shm_bytes),
                  ""});
}

void add_libraries(const SelfCheckFacts& facts, Rows& rows) {
  const bool has_gpus = !facts.machine.facts.gpus.empty();
  for (const LibraryFact& one : facts.libraries) {
    const bool is_of_gpus = one.name == "nccl" || one.name == "nvml";
    const std::string use = one.name == "pmix"   ? "MPI programs start without mpirun"
                            : one.name == "nvml" ? "dlaunch status shows what GPUs do"
                                                 : "dlaunch check and bench can measure with it";
    if (one.is_ready) {
      rows.push_back({State::works, one.name, one.says.empty() ? use : one.says + ": " + use, ""});
    } else {
      rows.push_back(
          {is_of_gpus && !has_gpus ? State::absent : State::lacking, one.name,
           one.name == "nvml" && has_gpus ? one.says + "; nvidia-smi is asked instead" : one.says,
           ""});
    }
  }
}

void add_hardware(const NodeFacts& facts, Rows& rows) {
  const FabricFacts& fabric = facts.fabric;
  if (facts.gpus.empty()) {
    rows.push_back({State::absent, "gpus", fabric.no_gpus, ""});
  } else {
    rows.push_back({State::works, "gpus",
                    counted(facts.gpus.size(), "GPU") +
                        (fabric.gpu_driver.empty() ? "" : ", driver " + fabric.gpu_driver),
                    ""});
  }
  if (fabric.rdma.empty()) {
    rows.push_back({State::absent, "rdma", fabric.no_rdma, ""});
    return;
  }
  const bool is_locked = std::any_of(fabric.rdma.begin(), fabric.rdma.end(),
                                     [](const RdmaDevice& device) { return !device.is_usable; });
  rows.push_back(
      {is_locked ? State::lacking : State::works, "rdma",
       joined(fabric.rdma, ", ", [](const RdmaDevice& device) { return device.name; }) +
           (is_locked ? ": processes here cannot open some of these devices" : ""),
       is_locked ? "give this user or container access to the files in /dev/infiniband" : ""});
}

std::string verdict(const Rows& rows) {
  std::vector<std::string> lacking;
  std::vector<std::string> broken;
  for (const SelfCheckRow& row : rows) {
    if (row.state == State::lacking) lacking.push_back(row.name);
    if (row.state == State::broken) broken.push_back(row.name);
  }
  if (!broken.empty()) return "dlaunch does not work here: " + joined(broken);
  if (lacking.empty()) return "dlaunch works here; nothing is missing";
  return "dlaunch works here; missing for some jobs: " + joined(lacking);
}

}  // namespace

std::vector<SelfCheckRow> self_check(const SelfCheckFacts& facts) {
  Rows rows{kernel_row(facts), ssh_row(facts),       py_spy_row(facts),   ptrace_row(facts),
            cgroup_row(facts), namespace_row(facts), container_row(facts)};
  add_limits(facts, rows);
  add_libraries(facts, rows);
  add_hardware(facts.machine.facts, rows);
  return rows;
}

std::string self_check_text(const std::vector<SelfCheckRow>& rows) {
  constexpr std::size_t kState = 9;
  constexpr std::size_t kName = 12;
  const std::string indent(kState + kName, ' ');
  std::string out;
  for (const SelfCheckRow& row : rows) {
    append_wrapped(out, padded(word_of(row.state), kState) + padded(row.name, kName), indent,
                   row.says);
    if (!row.remedy.empty()) append_wrapped(out, indent + "try: ", indent + "     ", row.remedy);
  }
  append_wrapped(out, "", "", verdict(rows));
  return out;
}

std::string self_check_json(const std::vector<SelfCheckRow>& rows) {
  std::string out;
  JsonText json(out);
  json.begin_object().line(1).key("format").number(1).line(1).key("parts").begin_array();
  for (const SelfCheckRow& row : rows) {
    json.line(2).begin_object().key("name").string(row.name).key("state").string(
        word_of(row.state));
    json.key("says").string(row.says).key("try").string_or_null(row.remedy).end_object();
  }
  json.line(1).end_array().line(0).end_object();
  out += '\n';
  return out;
}

}  // namespace dlaunch
