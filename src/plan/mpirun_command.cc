#include "plan/mpirun_command.h"

#include <algorithm>
#include <utility>

namespace dlaunch {

namespace {

constexpr std::string_view kOrteTmpdir = "OMPI_MCA_orte_tmpdir_base";
constexpr std::string_view kPrteTmpdir = "PRTE_MCA_prte_tmpdir_base";

using Words = std::vector<std::string>;

tl::unexpected<Error> refuse(std::string message) {
  return fail(exit_code::kJobFile, "mpi.launcher: mpirun: " + std::move(message));
}

bool is_open_mpi(MpirunKind kind) {
  return kind != MpirunKind::hydra;
}

void add(Words& words, Words more) {
  for (std::string& word : more) words.push_back(std::move(word));
}

std::uint32_t total(const std::vector<HostSlots>& hosts) {
  std::uint32_t sum = 0;
  for (const HostSlots& host : hosts) sum += host.slots;
  return sum;
}

bool are_even(const std::vector<HostSlots>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](const HostSlots& host) { return host.slots == hosts.front().slots; });
}

/// Cores for each rank; 0: not bound.
std::uint32_t cores_per_rank(const MpirunInput& input) {
  if (input.cpus == Binding::Cpus::none || !are_even(input.hosts)) return 0;
  return input.cores / std::max(input.hosts.front().slots, 1U);
}

Words placement(const MpirunInput& input) {
  const std::uint32_t cores = cores_per_rank(input);
  const std::string per_rank = std::to_string(cores);
  if (!is_open_mpi(input.kind)) return {"-bind-to", cores == 0 ? "none" : "core:" + per_rank};
  if (!are_even(input.hosts)) return {"--map-by", "slot", "--bind-to", "none"};
  const std::string map = "ppr:" + std::to_string(input.hosts.front().slots) + ":node";
  if (cores == 0) return {"--map-by", map, "--bind-to", "none"};
  return {"--map-by", map + ":PE=" + per_rank, "--bind-to", "core"};
}

/// The common value of all hosts; nullopt: they differ.
template <class Member>
std::optional<Member> common(const std::vector<HostSpec>& hosts, Member HostSpec::*member) {
  if (hosts.empty()) return Member{};
  const Member& first = hosts.front().*member;
  const bool same = std::all_of(hosts.begin(), hosts.end(),
                                [&](const HostSpec& host) { return host.*member == first; });
  return same ? std::optional(first) : std::nullopt;
}

struct Ssh {
  std::string program;
  std::string arguments;  // separated by blanks
};

Result<Ssh> ssh_of(const MpirunInput& input) {
  const Connect& connect = input.connect;
  if (!connect.command.empty() && connect.via != Connect::Via::ssh)
    return refuse("it reaches nodes by ssh alone, so connect.command cannot be used");
  const auto user = common(input.host_specs, &HostSpec::user);
  const auto port = common(input.host_specs, &HostSpec::port);
  if (!user || !port) {
    return refuse(
        "users or ports of hosts differ, but mpirun uses one for all; name them in ~/.ssh/config");
  }
  Words words;
  const std::string& login = user->empty() ? connect.user : *user;
  const std::uint16_t number = *port == 0 ? connect.port : *port;
  if (!login.empty()) add(words, {"-l", login});
  if (number != 0) add(words, {"-p", std::to_string(number)});
  if (!connect.identity_file.empty()) add(words, {"-i", connect.identity_file});
  Ssh ssh{connect.ssh, ""};
  if (const auto blank = ssh.program.find(' '); blank != std::string::npos) {
    words.insert(words.begin(), ssh.program.substr(blank + 1));
    ssh.program.erase(blank);
  }
  for (const std::string& word : words) {
    if (word == connect.identity_file && word.find(' ') != std::string::npos)
      return refuse("connect.identity_file has a blank, which mpirun cannot pass to ssh");
    ssh.arguments += (ssh.arguments.empty() ? "" : " ") + word;
  }
  return ssh;
}

void add_ssh(const MpirunInput& input, const Ssh& ssh, MpirunCommand& command) {
  const bool is_usual = ssh.program == "ssh";
  if (input.kind == MpirunKind::hydra) {
    add(command.argv, {"-launcher", "ssh"});
    if (!is_usual) add(command.argv, {"-launcher-exec", ssh.program});
    if (!ssh.arguments.empty()) command.environment["HYDRA_LAUNCHER_EXTRA_ARGS"] = ssh.arguments;
    return;
  }
  // The component is called rsh in Open MPI 4, ssh in PRRTE.
  const bool is_4 = input.kind == MpirunKind::open_mpi_4;
  const char* option = is_4 ? "--mca" : "--prtemca";
  const std::string name = is_4 ? "plm_rsh" : "plm_ssh";
  if (!is_usual) add(command.argv, {option, name + "_agent", ssh.program});
  if (!ssh.arguments.empty()) add(command.argv, {option, name + "_args", ssh.arguments});
}

/// Limits TCP between ranks to the network of the meeting: otherwise Open MPI tries every address
/// of every node, including those of local bridges.
void add_network(const MpirunInput& input, Words& argv) {
  if (!is_open_mpi(input.kind) || input.network.empty() || input.hosts.size() < 2) return;
  for (const char* own : {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"}) {
    if (input.environment.contains(own)) return;
  }
  add(argv, {"--mca", "btl_tcp_if_include", input.network});
}

/// Puts mpirun's files into a folder that is always deleted, even after mpirun was killed.
void add_temporary(const MpirunInput& input, Words& argv) {
  if (!is_open_mpi(input.kind) || input.temporary.empty()) return;
  const bool is_4 = input.kind == MpirunKind::open_mpi_4;
  if (input.environment.contains(is_4 ? kOrteTmpdir : kPrteTmpdir)) return;
  add(argv, {is_4 ? "--mca" : "--prtemca", is_4 ? "orte_tmpdir_base" : "prte_tmpdir_base",
             input.temporary});
}

}  // namespace

std::optional<MpirunKind> mpirun_kind(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("(Open MPI) 5.") || has("(PRRTE)")) return MpirunKind::open_mpi_5;
  if (has("(Open MPI) 4.") || has("(OpenRTE) 4.")) return MpirunKind::open_mpi_4;
  if (has("HYDRA build details") || has("Intel(R) MPI")) return MpirunKind::hydra;
  return std::nullopt;
}

HostfileDialect hostfile_dialect(MpirunKind kind) {
  return is_open_mpi(kind) ? HostfileDialect::slots : HostfileDialect::hydra;
}

Result<MpirunCommand> mpirun_command(const MpirunInput& input) {
  const auto ssh = ssh_of(input);
  if (!ssh) return tl::unexpected(ssh.error());
  MpirunCommand command;
  Words& argv = command.argv;
  argv = {input.program};
  const bool open_mpi = is_open_mpi(input.kind);
  add(argv, {open_mpi ? "--hostfile" : "-f", input.hostfile});
  add(argv, {open_mpi ? "-np" : "-n", std::to_string(total(input.hosts))});
  add(argv, placement(input));
  if (open_mpi && input.is_root) argv.emplace_back("--allow-run-as-root");
  if (!input.workdir.empty()) add(argv, {open_mpi ? "--wdir" : "-wdir", input.workdir});
  if (input.hosts.size() > 1) add_ssh(input, *ssh, command);
  if (!open_mpi && !input.address.empty()) add(argv, {"-localhost", input.address});
  add_network(input, argv);
  add_temporary(input, argv);
  // Hydra passes its whole environment without options.
  for (const std::string& name : open_mpi ? input.pass : Words()) add(argv, {"-x", name});
  add(argv, input.command);
  return command;
}

}  // namespace dlaunch
