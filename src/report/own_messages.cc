#include "report/own_messages.h"

#include <algorithm>
#include <array>
#include <vector>

#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::array kMessages = {
    // Before anything starts.
    OwnMessage{"unknown key \"NAME\"", "a key is misspelt, or is in the wrong section",
               "correct the line; dlaunch help KEY explains a key"},
    OwnMessage{"NAME is reserved for dlaunch", "the job sets a variable that dlaunch computes",
               "remove it; with framework: none it is yours"},
    OwnMessage{"none of the N documents is a job that dlaunch knows",
               "the file is for a system that dlaunch does not know; the lines below say why each "
               "format does not fit",
               ""},
    OwnMessage{"no job file NAME", "dlaunch run takes a job file, or a command after --",
               "dlaunch run -n 4 -- PROGRAM; dlaunch init writes a job file"},
    OwnMessage{"unknown option \"NAME\"", "dlaunch does not know the option",
               "dlaunch help OPTION, also for an option of another launcher"},
    OwnMessage{"cannot enter the workdir \"DIR\"", "the working directory is missing on a node",
               "the same path there, on shared storage; or --sync"},
    OwnMessage{"cannot execute \"PROGRAM\"",
               "the program is not in PATH on that node; the PATH follows",
               "install it there, or set PATH in env"},
    OwnMessage{"cannot read \"SCRIPT\"", "the script is missing, or you may not read it",
               "correct the name; a similar one is suggested"},
    OwnMessage{"no module \"NAME\" for PROGRAM", "this Python lacks the module",
               "pip install in that environment, or another python in the command"},
    OwnMessage{"environment DIR, active here", "ranks would run with another Python than your shell",
               "create the environment on the nodes, or copy it there: dlaunch help sync"},
    OwnMessage{"only N slots", "the host list does not allow so many ranks",
               "more hosts, more slots in the list, or fewer processes"},
    OwnMessage{"no address of HOST is reached by NODES on port N",
               "a firewall, or a network that only some nodes have",
               "open the port, or --set rendezvous.interface=NAME"},
    OwnMessage{"isolation: pid-namespace is not possible on HOST",
               "the kernel or a container refuses a PID namespace",
               "change the sysctl that is named, or leave isolation out"},
    OwnMessage{"sync: the workdir cannot be copied", "too large, or a node cannot write it",
               "correct what the line names; dlaunch help sync"},
    OwnMessage{"no run \"NAME\" in DIR", "no run folder there has an id that begins or ends so",
               "dlaunch runs"},
    OwnMessage{"nothing is running in DIR", "no run there is under way", "dlaunch runs"},

    // While nodes are being connected.
    OwnMessage{"Could not resolve hostname HOST", "this machine knows no address for the name",
               "correct the name in the host list, or add HostName to ~/.ssh/config", true},
    OwnMessage{"connect to host HOST port N: Connection refused",
               "the host is up, but no sshd listens on that port",
               "ssh HOST true; Port in ~/.ssh/config for another port", true},
    OwnMessage{"connect to host HOST port N: Connection timed out",
               "nothing answers there: the host is down, or a firewall drops the packets",
               "ssh HOST true", true},
    OwnMessage{"connect to host HOST port N: No route to host",
               "the host is down, or the network has no way to it", "ssh HOST true", true},
    OwnMessage{"Permission denied (METHODS)", "sshd accepts none of your keys",
               "ssh-add -l; connect.user, connect.identity_file; authorized_keys on HOST", true},
    OwnMessage{"Too many authentication failures", "ssh offered more keys than sshd allows",
               "connect.identity_file, and IdentitiesOnly yes in ~/.ssh/config", true},
    OwnMessage{"host key is known for HOST and you have requested strict checking",
               "known_hosts does not have the key of the host yet",
               "ssh HOST true once, and compare the fingerprint", true},
    OwnMessage{"Host key for HOST has changed", "it was installed anew, or another machine answers",
               "ssh-keygen -R HOST, if it was installed anew", true},
    OwnMessage{"Host key verification failed", "known_hosts has no key of the host, or another one",
               "ssh HOST true once, and compare the fingerprint", true},
    OwnMessage{"kex_exchange_identification: Connection closed by remote host",
               "its sshd refuses connections for now",
               "MaxStartups in sshd_config of HOST, or what guards it (fail2ban)", true},
    OwnMessage{"its login shell ended with code N", "an rc file there ends the shell",
               "ssh HOST true must return 0"},
    OwnMessage{"the command for the node was not run",
               "a forced command (ForceCommand, command= in authorized_keys), or an rc file that "
               "ends the shell",
               "the command in the message: it must print hello"},
    OwnMessage{"its stdin is WHAT and not the connection",
               "an rc file there redirects stdin (exec </dev/null), or connect.ssh has -n",
               "such lines for interactive shells only; no -n"},
    OwnMessage{"dlaunch was started there and WHAT before it answered",
               "a limit (ulimit), a security policy, or too little memory",
               "the command in the message, there"},
    OwnMessage{"its login shell has printed TEXT and does not continue",
               "an rc file there waits for something", "ssh HOST true must return 0"},
    OwnMessage{"dlaunch itself was still being copied there", "a slow link",
               "--set timeouts.connect=2m once"},
    OwnMessage{"no folder there can hold the program",
               "all folders for it are noexec, full or not yours; the reasons follow", ""},
    OwnMessage{"its processor is NAME, this dlaunch is for NAME",
               "all nodes of a job need the processor that dlaunch was built for", ""},

    // While the job runs.
    OwnMessage{"the ranks import for themselves", "they start as without preload",
               "docs/how-to/restart-without-importing.md has each reason"},
    OwnMessage{"after TIME; restart N of N", "all ranks will be restarted",
               "Ctrl-C ends the run instead"},
    OwnMessage{"HOST has not answered for TIME; it is being connected again",
               "the connection broke or the node hangs; its ranks go on until "
               "timeouts.fence_after has passed",
               ""},
    OwnMessage{"no rank made progress for TIME (timeouts.hang)",
               "the job has been silent for that long", "dlaunch stacks shows where ranks stand"},
    OwnMessage{"the job makes progress again", "after a silence that dlaunch has looked into", ""},
    OwnMessage{"waiting up to TIME for HOST to answer again",
               "a restart waits for a lost node (timeouts.node_return)", ""},
    OwnMessage{"SIGKILL does not end RANKS",
               "a process is blocked in the kernel, mostly by a file system that does not answer",
               ""},
    OwnMessage{"the GPU driver reports FAULT",
               "a rank of that node has failed, and the kernel's log has this fault since the "
               "start; only where the agent may read /dev/kmsg",
               ""},
    OwnMessage{"the ranks go on, output that cannot be stored is lost",
               "the disk of the output is full or fails", "space there, or --set logs.dir=DIR"},
    OwnMessage{"the launcher, WHAT; the ranks go on; Ctrl-C twice ends the job",
               "the file system of the run folder does not answer",
               "Ctrl-C twice ends the job without it"},
    OwnMessage{"[... SIZE skipped, complete in FILE]",
               "the console was too slow; the file has every byte", ""},

    // In the report.
    OwnMessage{"another rank was gone",
               "this rank's error only says that a peer had ended; the cause is elsewhere", ""},
    OwnMessage{"left with code 0 while others were still NAME", "a rank finished early",
               "the same number of steps on all ranks"},
    OwnMessage{"stopped by dlaunch", "ended by the stop signal after the first failure", ""},
    OwnMessage{"cause not known", "every rank lost a peer and none had an error of its own",
               "the output of the ranks that logs names"},
    OwnMessage{"the kernel ended it: out of memory",
               "the kernel's out-of-memory killer ended the rank",
               "a smaller batch or fewer workers; the limit of the cgroup, if the line names one"},
    OwnMessage{"no sign of life for TIME", "the node is lost: powered off, cut off, or frozen", ""},
    OwnMessage{"this one has not met mpirun",
               "the program is not an MPI program, or was built with another MPI", ""},
    OwnMessage{"exited without having called MPI_Init",
               "the program is not an MPI program, or was built with another MPI",
               "framework: none, if it needs no MPI"},
};

bool is_capital(char c) {
  return (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::span<const OwnMessage> own_messages() {
  return kMessages;
}

std::vector<std::string_view> fixed_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && is_capital(text[end])) ++end;
    const bool ends_word = end == text.size() || !is_letter_or_digit(text[end]);
    const bool begins_word = at == 0 || !is_letter_or_digit(text[at - 1]);
    if (end > at && ends_word && begins_word) {
      if (at > begin) parts.push_back(text.substr(begin, at - begin));
      begin = end;
    }
    at = std::max(end, at + 1);
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

const OwnMessage* find_own_message(std::string_view said) {
  const auto stands_in = [said](const OwnMessage& row) {
    std::size_t at = 0;
    for (const std::string_view part : fixed_parts(row.text)) {
      at = said.find(part, at);
      if (at == std::string_view::npos) return false;
      at += part.size();
    }
    return true;
  };
  const auto row = std::find_if(kMessages.begin(), kMessages.end(), stands_in);
  return row == kMessages.end() ? nullptr : &*row;
}

std::string advice_for(const OwnMessage& row, std::string_view host) {
  constexpr std::string_view kHost = "HOST";
  std::string advice(row.advice);
  for (auto at = advice.find(kHost); at != std::string::npos; at = advice.find(kHost, at))
    advice.replace(at, kHost.size(), host);
  return advice;
}

}  // namespace dlaunch
