// Every available key with good and bad values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;

struct Good {
  const char* text;
  std::function<bool(const JobSpec&)> holds;
};

class GoodValue : public testing::TestWithParam<Good> {};

TEST_P(GoodValue, IsRead) {
  std::string text = GetParam().text;
  if (text.find("command:") == std::string::npos) text += "\ncommand: x\n";
  const auto job = read_text(text);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_TRUE(GetParam().holds(*job)) << text;
}

#define HOLDS(condition) [](const JobSpec& job) { return (condition); }

const Good kGood[] = {
    {"name: cifar", HOLDS(job.name == "cifar")},
    {"name: \"3\"", HOLDS(job.name == "3")},
    // YAML 1.2.2, 10.3.2: no, yes, on and off are strings.
    {"name: no", HOLDS(job.name == "no")},
    {"name: \"null\"", HOLDS(job.name == "null")},
    {"name: 1.2.3", HOLDS(job.name == "1.2.3")},
    {"command: a b", HOLDS(job.command == (Command{true, "a b", {}}))},
    {"command: true", HOLDS(job.command == (Command{true, "true", {}}))},
    {"command: |\n  a\n  b\n", HOLDS(job.command.line == "a\nb\n")},
    {"command: >\n  a\n  b\n", HOLDS(job.command.line == "a b\n")},
    {"command: [a, 1.10, 0x1F, true, 'x y', \"\"]",
     HOLDS((job.command.argv == std::vector<std::string>{"a", "1.10", "0x1F", "true", "x y", ""}))},
    {"command:\n- a\n- b", HOLDS(job.command.argv.size() == 2 && !job.command.is_shell)},
    {"shell: sh", HOLDS(job.shell == Shell::sh)},
    {"shell: 'bash'", HOLDS(job.shell == Shell::bash)},
    {"setup: source a", HOLDS(job.setup == "source a")},
    {"framework: pytorch", HOLDS(job.framework == Framework::pytorch)},
    {"framework: tensorflow", HOLDS(job.framework == Framework::tensorflow && job.roles.empty())},
    {"framework: none", HOLDS(job.framework == Framework::none)},
    {"launch: per-node", HOLDS(job.launch == Launch::per_node)},
    {"workdir: ../a b", HOLDS(job.workdir == "../a b")},
    {"nodes: 3", HOLDS(job.nodes == (NodeRange{3, 3}))},
    {"nodes: 0x10", HOLDS(job.nodes->max == 16)},
    {"nodes: 0o17", HOLDS(job.nodes->max == 15)},
    {"nodes: 017", HOLDS(job.nodes->max == 17)},  // decimal in YAML 1.2
    {"processes_per_node: 4",
     HOLDS(job.processes_per_node == (ProcessesPerNode{ProcessesPerNode::Kind::count, 4}))},
    {"processes_per_node: gpu", HOLDS(job.processes_per_node.kind == ProcessesPerNode::Kind::gpu)},
    {"processes_per_node: auto", HOLDS(job.processes_per_node == ProcessesPerNode{})},
    {"processes: 6", HOLDS(job.processes == 6)},
    {"processes: 6\nprocesses_per_node: auto", HOLDS(job.processes == 6)},
    {"framework: tensorflow\nroles: {ps: 1, worker: 2, chief: 1}",
     HOLDS(job.roles.size() == 3 && job.roles[0].name == "chief" && job.roles[1].name == "worker" &&
           job.roles[1].count == 2 && job.roles[2].name == "ps")},
    {"framework: tensorflow\nroles: {ps: 0, worker: 2}", HOLDS(job.roles.size() == 1)},
    {"name: x", HOLDS(job.success == Success::automatic)},
    {"success: all", HOLDS(job.success == Success::all)},
    {"success: chief", HOLDS(job.success == Success::chief)},
    {"success: workers", HOLDS(job.success == Success::workers)},
    {"restart: {max: 3, backoff: 0s..1s, not_on_exit: [2], reset_after: 1m}",
     HOLDS(job.restart.max == 3 && job.restart.backoff_max == std::chrono::seconds(1) &&
           job.restart.reset_after == std::chrono::minutes(1))},
    {"env: {A: b, B: 1.10, C: True, D: '', E: 0x1f}",
     HOLDS((job.env ==
            Environment{{"A", "b"}, {"B", "1.10"}, {"C", "True"}, {"D", ""}, {"E", "0x1f"}}))},
    {"env: {OMP_NUM_THREADS: 4, PYTHONUNBUFFERED: 1, CUDA_VISIBLE_DEVICES: '0,1', NCCL_IB_HCA: x}",
     HOLDS(job.env.size() == 4)},
    {"env: {}", HOLDS(job.env.empty())},
    {"env_pass: [A, \"NCCL_*\", 'X?']",
     HOLDS((job.env_pass == std::vector<std::string>{"A", "NCCL_*", "X?"}))},
    {"env_pass: []", HOLDS(job.env_pass.empty())},
    {"env_secret: [HF_TOKEN]", HOLDS((job.env_secret == std::vector<std::string>{"HF_TOKEN"}))},
    {"binding: {cpus: none, gpus: one-per-process, threads: 8}",
     HOLDS((job.binding == Binding{Binding::Cpus::none, Binding::Gpus::one_per_process, 8}))},
    {"binding: {cpus: auto, gpus: none, threads: auto}",
     HOLDS(job.binding.gpus == Binding::Gpus::none)},
    {"rendezvous: {port: 29500}", HOLDS(job.rendezvous.port == 29500)},
    {"rendezvous: {port: auto}", HOLDS(job.rendezvous.port == 0)},
    {"timeouts: {run: 1h30m}", HOLDS(job.timeouts.run == minutes(90))},
    {"timeouts: {run: none}", HOLDS(!job.timeouts.run)},
    {"timeouts: {stop: 500ms}", HOLDS(job.timeouts.stop == milliseconds(500))},
    {"timeouts: {stop: 0s}", HOLDS(job.timeouts.stop == seconds(0))},
    {"timeouts: {run: 2d1h}", HOLDS(job.timeouts.run == hours(49))},
    {"timeouts: {fence_after: 20s, lost_after: 24s}",
     HOLDS(job.timeouts.lost_after == seconds(24))},
    {"timeouts: {node_return: 1h}", HOLDS(job.timeouts.node_return == hours(1))},
    {"stop_signal: INT", HOLDS(job.stop_signal == "INT")},
    {"stop_signal: sigusr1", HOLDS(job.stop_signal == "USR1")},
    {"stdin: rank0", HOLDS(job.stdin_for == StdinFor::rank0)},
    {"stdin: rank 3", HOLDS(job.stdin_for == StdinFor::rank && job.stdin_rank == 3)},
    {"pty: 3", HOLDS(job.pty == 3U)},
    {"logs: {dir: /tmp/x, console: none, prefix: never}",
     HOLDS(job.logs.dir == "/tmp/x" && job.logs.console == Logs::Console::none &&
           job.logs.prefix == Logs::Prefix::never)},
    {"logs: {console: auto, prefix: auto, fold_numbers: false}", HOLDS(job.logs == Logs{})},
    {"logs: {console: rank0}", HOLDS(job.logs.console == Logs::Console::rank0)},
    {"logs: {console: merged, fold_numbers: true}",
     HOLDS(job.logs.console == Logs::Console::merged && job.logs.fold_numbers)},
    {"logs: {console: [0, 3]}",
     HOLDS(job.logs.console == Logs::Console::ranks &&
           job.logs.console_ranks == std::vector<std::uint32_t>({0, 3}))},
};

INSTANTIATE_TEST_SUITE_P(AllKeys, GoodValue, testing::ValuesIn(kGood));

struct Bad {
  const char* text;
  const char* error;
};

class BadValue : public testing::TestWithParam<Bad> {};

TEST_P(BadValue, IsOneError) {
  std::string text = GetParam().text;
  if (!text.starts_with("command:")) text += "\ncommand: x\n";
  const auto job = read_text(text);
  ASSERT_FALSE(job) << text;
  EXPECT_EQ(job.error().exit_code, exit_code::kJobFile);
  EXPECT_THAT(errors_of(job), ElementsAre("job.yaml:" + std::string(GetParam().error)));
}

const Bad kBad[] = {
    {"name: 3", "1:7: error: name must be a string, not the number 3; put it in quotes: \"3\""},
    {"name: true",
     "1:7: error: name must be a string, not the boolean true; put it in quotes: \"true\""},
    {"name: ''", "1:7: error: name must not be empty"},
    {"name:", "1:1: error: name has no value; remove the key, or give it a string"},
    {"name: [a]", "1:1: error: name must be a string, not a list"},
    {"name: {a: b}", "1:1: error: name must be a string, not a mapping"},
    {"command: []", "1:1: error: command must begin with the program to run"},
    {"command: ['']", "1:1: error: command must begin with the program to run"},
    {"command: ' '", "1:10: error: command must not be empty"},
    {"command: {a: b}", "1:1: error: command must be a string or a list of strings, not a mapping"},
    {"command: [a, [b]]", "1:14: error: command[1] must be a string, not a list"},
    {"command: [a, ~]", "1:14: error: command[1] must be a string, not nothing; put it in quotes"},
    {"command: ~",
     "1:1: error: command has no value; remove the key, or give it a string or a list of strings"},
    {"shell: zsh", "1:8: error: shell must be one of sh, bash, not \"zsh\", did you mean \"sh\"?"},
    {"shell: Bash",
     "1:8: error: shell must be one of sh, bash, not \"Bash\", did you mean \"bash\"?"},
    {"setup: [a]", "1:1: error: setup must be a string, not a list"},
    {"framework: pytroch",
     "1:12: error: framework must be one of pytorch, tensorflow, mpi, horovod, deepspeed, jax, "
     "gcp, "
     "none, not \"pytroch\", did you mean \"pytorch\"?"},
    {"mpi: {launcher: mpiexec}",
     "1:17: error: mpi.launcher must be one of dlaunch, mpirun, not \"mpiexec\""},
    {"mpi: {init: never}",
     "1:13: error: mpi.init must be one of required, optional, not \"never\""},
    {"launch: per_node",
     "1:9: error: launch must be one of per-process, per-node, once, not \"per_node\", did you "
     "mean "
     "\"per-node\"?"},
    {"nodes: 0", "1:8: error: nodes must be a whole number from 1 to 100000, not the number 0"},
    {"nodes: -1", "1:8: error: nodes must be a whole number from 1 to 100000, not the number -1"},
    {"nodes: 1.5", "1:8: error: nodes must be a whole number from 1 to 100000, not the number 1.5"},
    {"nodes: 99999999999999999999999",
     "1:8: error: nodes must be a whole number from 1 to 100000, not the number "
     "99999999999999999999999"},
    {"nodes: \"2\"",
     "1:8: error: nodes must be a whole number from 1 to 100000, not the string \"2\"; remove the "
     "quotes"},
    {"nodes: two", "1:8: error: nodes must be a whole number from 1 to 100000, not \"two\""},
    {"processes_per_node: 0",
     "1:21: error: processes_per_node must be a whole number from 1 to 100000, or one of auto, "
     "gpu, not the number 0"},
    {"processes_per_node: gpus",
     "1:21: error: processes_per_node must be a whole number from 1 to 100000, or one of auto, "
     "gpu, not \"gpus\", "
     "did you mean \"gpu\"?"},
    {"processes: auto",
     "1:12: error: processes must be a whole number from 1 to 100000, not \"auto\""},
    {"framework: tensorflow\nroles: {chief: 2}",
     "2:16: error: roles.chief must be a whole number from 0 to 1, not the number 2"},
    {"framework: tensorflow\nroles: {worker: 1, evaluator: 2}",
     "2:31: error: roles.evaluator must be a whole number from 0 to 1, not the number 2"},
    {"framework: tensorflow\nroles: {worker: {count: 1, container: {runtime: podman}}}",
     "2:28: error: roles.worker.container needs the key image"},
    {"container: {image: a, mounts: [/a, 'b']}",
     "1:36: error: container.mounts[1]: \"b\" is not an absolute path, so give its path in the "
     "container: HOST:CONTAINER"},
    {"container:\n  image: a\n  mounts:\n    - /a:/b\n    - /a:b:ro",
     "5:7: error: container.mounts[1]: the path in the container must be absolute, not \"b\""},
    {"container: {image: -v}", "1:20: error: container.image: the value cannot begin with '-'"},
    {"container: {image: a, runtime: dockr}",
     "1:32: error: container.runtime must be one of auto, podman, docker, apptainer, singularity, "
     "charliecloud, enroot, not \"dockr\", did you mean \"docker\"?"},
    {"container: {image: a}\nisolation: pid-namespace",
     "2:1: error: dlaunch must see a container's processes to end it; leave out isolation: "
     "containers are always ended completely (container.image, line 1)"},
    {"framework: tensorflow\nroles: {worker: {nodes: 1}}",
     "2:9: error: roles.worker needs the key count"},
    {"framework: tensorflow\nroles: {worker: {count: 1, comand: a}}",
     "2:28: error: unknown key \"comand\" in roles.worker, did you mean \"command\"?"},
    {"framework: tensorflow\nroles: {wrker: 1, worker: 1}",
     "2:9: error: unknown key \"wrker\" in roles, did you mean \"worker\"?"},
    // A name that other launchers use in the same section, rather than the same name in another
    // one.
    {"framework: tensorflow\nroles: {worker: {count: 1, command: x, processes: 2}}",
     "2:40: error: unknown key \"processes\" in roles.worker; it is a key of the whole job, known "
     "here: count, command, nodes, env, container"},
    {"run: python train.py", "1:1: error: unknown key \"run\", did you mean \"command\"?"},
    {"framework: tensorflow\nroles: 3",
     "2:8: error: roles must be a mapping with the keys chief, worker, ps, evaluator, not the "
     "number 3"},
    {"framework: tensorflow\nroles: {ps: 1}\nsuccess: chief",
     "3:1: error: success needs a chief or a worker, and roles has neither (roles, line 2)"},
    {"env: [A=1]", "1:1: error: env must be a mapping such as {NCCL_DEBUG: WARN}, not a list"},
    {"env: {9A: 1}", "1:7: error: env: \"9A\" is not a variable name"},
    {"env: {A: ~}", "1:7: error: env.A has no value; write \"\" for an empty one"},
    {"env: {A: [1]}", "1:7: error: env.A must be a string, not a list"},
    {"env:",
     "1:1: error: env has no value; remove the key, or give it a mapping such as {NCCL_DEBUG: "
     "WARN}"},
    {"env_pass: A",
     "1:11: error: env_pass must be a list of variable names or patterns, not \"A\"; write [A]"},
    {"env_pass: A\tB",
     "1:11: error: env_pass must be a list of variable names or patterns, not \"A\\tB\"; write "
     "[...]"},
    {"env_pass: A, B",
     "1:11: error: env_pass must be a list of variable names or patterns, not \"A, B\"; write "
     "[\"A, B\"]"},
    {"env_pass: [A=1]",
     "1:12: error: env_pass[0]: \"A=1\" is not a variable name; values are given in env"},
    {"env_pass: [1]",
     "1:12: error: env_pass[0] must be a string, not the number 1; put it in quotes: \"1\""},
    {"env_secret: [\"A*\"]",
     "1:14: error: env_secret[0]: \"A*\" is not a variable name; patterns are for env_pass"},
    {"binding: {cpus: yes}", "1:17: error: binding.cpus must be one of auto, none, not \"yes\""},
    {"binding: {threads: 0}",
     "1:20: error: binding.threads must be a whole number from 1 to 65536, or auto, not the "
     "number 0"},
    {"binding: {gpu: all}", "1:11: error: unknown key \"gpu\" in binding, did you mean \"gpus\"?"},
    {"binding: auto",
     "1:10: error: binding must be a mapping with the keys cpus, gpus, threads, not \"auto\""},
    {"rendezvous: {port: 65536}",
     "1:20: error: rendezvous.port must be a whole number from 1 to 65535, or auto, not the number "
     "65536"},
    {"rendezvous: {interface: 'eth0;x'}",
     "1:25: error: rendezvous.interface: \";\" cannot be part of the name of an interface"},
    {"rendezvous: {interface: 'eth0,10.1.0.0/33'}",
     "1:25: error: rendezvous.interface: \"10.1.0.0/33\" is not a subnet such as 10.1.0.0/16"},
    {"rendezvous: {interface: 'eth0,'}",
     "1:25: error: rendezvous.interface: the name of an interface must not be empty"},
    {"rendezvous: {address: '[fe80::1]:29500'}",
     "1:23: error: rendezvous.address: write an IPv6 address without brackets here, and its "
     "port under the key port"},
    {"rendezvous: {address: '10.0.0.1:29500'}",
     "1:23: error: rendezvous.address: give the port under the key port, not after the address"},
    {"connect: {user: -oProxyCommand=x}",
     "1:17: error: connect.user: a user name cannot begin with '-'"},
    {"connect: {user: 'a b'}", "1:17: error: connect.user: \" \" cannot be part of a user name"},
    {"connect: {ssh: -x}", "1:16: error: connect.ssh: the value cannot begin with '-'"},
    {"connect: {identity_file: -x}",
     "1:26: error: connect.identity_file: the value cannot begin with '-'"},
    {"hosts: [-lroot]", "1:9: error: hosts[0]: a host name cannot begin with '-'"},
    {"hosts: [a, 'b;c']", "1:12: error: hosts[1]: \";\" cannot be part of a host name"},
    {"hosts: [{name: a, address: '$(x)'}]",
     "1:28: error: hosts[0].address: \"$\" cannot be part of an address"},
    {"hosts: [{name: a, user: 'x y'}]",
     "1:25: error: hosts[0].user: \" \" cannot be part of a user name"},
    {"hosts: gpu[1-", "1:8: error: hosts: this '[' is not closed with ']'"},
    {"hosts: ', ,'", "1:8: error: hosts: no host is named"},
    {"hosts: [1]",
     "1:9: error: hosts[0] must be a string, not the number 1; put it in quotes: \"1\""},
    {"timeouts: {run: 30}",
     "1:17: error: timeouts.run must be a duration such as 30s, 5m or 1h30m, or none, not the "
     "number 30; add a unit, "
     "for example 30s"},
    {"timeouts: {stop: none}",
     "1:18: error: timeouts.stop must be a duration such as 30s, 5m or 1h30m, not \"none\""},
    {"timeouts: {stop: 1m1h}",
     "1:18: error: timeouts.stop must be a duration such as 30s, 5m or 1h30m, not \"1m1h\""},
    {"timeouts: {stop: \"30\"}",
     "1:18: error: timeouts.stop must be a duration such as 30s, 5m or 1h30m, not the string "
     "\"30\"; add a unit, for "
     "example 30s"},
    {"timeouts: {stop: 99999999999999999d}",
     "1:18: error: timeouts.stop must be a duration such as 30s, 5m or 1h30m, not "
     "\"99999999999999999d\""},
    {"timeouts: {run: 0s}", "1:17: error: timeouts.run must be at least 1ms"},
    {"stop_signal: 15",
     "1:14: error: stop_signal must be a signal name such as TERM, INT or USR1, not the number 15"},
    {"stop_signal: FOO",
     "1:14: error: stop_signal must be a signal name such as TERM, INT or USR1, not \"FOO\""},
    {"stdin: ranks", "1:8: error: stdin: \"ranks\" is not one of auto, none, rank0, rank1, ..."},
    {"processes: 2\nstdin: rank2",
     "2:1: error: there is no rank 2: processes is 2 (processes, line 1)"},
    {"pty: 1\nstdin: rank0",
     "2:1: error: the rank of pty reads dlaunch's standard input; leave out stdin (pty, line 1)"},
    {"logs: {console: rank1}",
     "1:17: error: logs.console must be one of auto, all, merged, rank0, none, or a list of "
     "whole numbers, not \"rank1\""},
    {"logs: {prefix: yes}",
     "1:16: error: logs.prefix must be one of auto, always, never, not \"yes\""},
    {"spares: nonsense",
     "1:9: error: spares must be a whole number from 0 to 100000, not \"nonsense\""},
    {"preflight: {checks: [nodes]}",
     "1:22: error: preflight.checks[0] must be one of node, reach, fabric, not \"nodes\", did you "
     "mean "
     "\"node\"?"},
};

INSTANTIATE_TEST_SUITE_P(AllKeys, BadValue, testing::ValuesIn(kBad));

}  // namespace
}  // namespace dlaunch::jobfile
