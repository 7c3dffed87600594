#include "report/own_messages.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "jobfile/shell_quote.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr bool kCertain = true;

// ssh's words: OpenSSH 9.2, ssh.c, sshconnect.c and sshconnect2.c.
constexpr std::array kMessages = {
    // Before anything starts.
    OwnMessage{"unknown key \"NAME\"", "a key is misspelt, or is in the wrong section",
               "correct the line; dlaunch help KEY explains a key"},
    OwnMessage{"NAME is reserved for dlaunch", "the job sets a variable that dlaunch computes",
               "remove it; with framework: none you may set it", kCertain},
    OwnMessage{"none of the N documents is a job that dlaunch knows",
               "the file is for a system that dlaunch does not know; the lines below say why each "
               "format does not fit",
               "", kCertain},
    OwnMessage{"dlaunch: no job file NAME", "dlaunch run takes a job file, or a command after --",
               "dlaunch run -n 4 -- PROGRAM; dlaunch init writes a job file"},
    OwnMessage{"unknown option \"NAME\"", "dlaunch does not know the option",
               "dlaunch help NAME, also for options of other launchers"},
    OwnMessage{"cannot enter the workdir \"DIR\": No such file or directory",
               "the working directory is missing on a node",
               "the same path there, on shared storage; or --sync", kCertain},
    OwnMessage{"cannot execute \"PROGRAM\": No such file or directory",
               "the program is not in PATH on that node; the PATH follows",
               "install it there, or set PATH in env", kCertain},
    OwnMessage{"cannot execute \"PROGRAM\": the interpreter in its #! line does not exist",
               "the first line of the script names a program that the node does not have",
               "correct the line; #!/usr/bin/env python3 takes the one in PATH", kCertain},
    OwnMessage{"cannot execute \"PROGRAM\": it is neither a program nor a script with a #! line",
               "the system cannot tell how to run the file",
               "python3 PROGRAM or sh PROGRAM as the command; or a #! line as its first one",
               kCertain},
    OwnMessage{"cannot read \"SCRIPT\": No such file or directory", "the script is missing",
               "correct the name; a similar one is suggested"},
    OwnMessage{"no module \"NAME\" for PROGRAM", "this Python lacks the module",
               "PROGRAM -m pip install NAME; or another python in the command"},
    OwnMessage{"DIR, active here, is not there: PROGRAM would be WHAT",
               "ranks would run with another Python than your shell",
               "create the environment on the nodes, or copy it there: dlaunch help stage",
               kCertain},
    OwnMessage{"but the host has only N slot", "the host list does not allow that many ranks",
               "more hosts, more slots in the list, or fewer processes", kCertain},
    OwnMessage{"but the hosts have only N slots", "the host list does not allow that many ranks",
               "more hosts, more slots in the list, or fewer processes", kCertain},
    OwnMessage{"no address of HOST is reached by NODES on port N",
               "a firewall, or a network that only some nodes have",
               "open the port, or --set rendezvous.interface=NAME", kCertain},
    OwnMessage{"isolation: pid-namespace is not possible on HOST",
               "the kernel or a container refuses a PID namespace",
               "change the sysctl that is named, or leave isolation out", kCertain},
    OwnMessage{"sync: the workdir cannot be copied", "too large, or a node cannot write it",
               "correct what the line names; dlaunch help sync", kCertain},
    OwnMessage{"no run \"NAME\" in DIR", "no run folder there has such an id", "dlaunch runs"},
    OwnMessage{"nothing is running in DIR", "no run there is under way", "dlaunch runs"},

    // While dlaunch connects to nodes.
    OwnMessage{"Could not resolve hostname HOST: Temporary failure in name resolution",
               "no name server answers", "getent hosts HOST, until it prints an address", kCertain},
    OwnMessage{"Could not resolve hostname HOST: WHAT",
               "this machine cannot find an address for the name",
               "correct the name in the host list, or add HostName to ~/.ssh/config", kCertain},
    OwnMessage{"connect to host HOST port N: Connection refused",
               "the host is up, but no sshd listens on that port",
               "ssh -p N HOST true; connect.port, or Port in ~/.ssh/config", kCertain},
    OwnMessage{"connect to host HOST port N: Connection timed out",
               "nothing answers there: the host is down, or a firewall drops the packets",
               "ssh -p N HOST true", kCertain},
    OwnMessage{"connect to host HOST port N: No route to host",
               "the host is down, or the network has no route to it", "ssh -p N HOST true",
               kCertain},
    OwnMessage{"connect to host HOST port N: Network is unreachable",
               "this machine has no route to the network of the host", "ip route get HOST",
               kCertain},
    OwnMessage{"Connection timed out during banner exchange",
               "the port is open, but sshd does not send its banner: it is overloaded, or another "
               "program listens there",
               "ssh HOST true", kCertain},
    OwnMessage{"USER@HOST: Permission denied (METHODS)", "sshd there accepts none of your keys",
               "ssh-add -l; connect.user, connect.identity_file; authorized_keys on HOST",
               kCertain},
    OwnMessage{"Too many authentication failures", "ssh offered more keys than sshd allows",
               "connect.identity_file, and IdentitiesOnly yes in ~/.ssh/config", kCertain},
    OwnMessage{"key for HOST has changed", "the host was reinstalled, or another machine answers",
               "ssh-keygen -R HOST, if it was reinstalled", kCertain},
    OwnMessage{"host key for HOST was revoked",
               "known_hosts marks this key as revoked: another machine may answer",
               "ask the administrator of the host for its new key", kCertain},
    OwnMessage{"host key is known for HOST and you have requested strict checking",
               "known_hosts does not have the key of the host yet",
               "ssh -o StrictHostKeyChecking=ask HOST true, and compare the fingerprint", kCertain},
    OwnMessage{"Host key verification failed", "known_hosts does not have the key of the host yet",
               "ssh HOST true, and compare the fingerprint", kCertain},
    OwnMessage{"kex_exchange_identification: Connection closed by remote host",
               "its sshd refuses connections for now",
               "MaxStartups in sshd_config of HOST, or what protects HOST (fail2ban)", kCertain},
    OwnMessage{"kex_exchange_identification: read: Connection reset by peer",
               "its sshd refuses connections for now",
               "MaxStartups in sshd_config of HOST, or what protects HOST (fail2ban)", kCertain},
    OwnMessage{"the command for the node was not run",
               "a forced command (ForceCommand, command= in authorized_keys), or an rc file that "
               "ends the shell",
               "the command in the message, which must print hello", kCertain},
    OwnMessage{"its login shell ended with code N", "an rc file there ends the shell",
               "ssh HOST true, which must return 0", kCertain},
    OwnMessage{"its stdin is WHAT and not the connection",
               "an rc file there redirects stdin (exec </dev/null), or connect.ssh has -n",
               "limit such lines to interactive shells, or remove -n from connect.ssh", kCertain},
    OwnMessage{"dlaunch was started there and WHAT before it answered",
               "a limit (ulimit), a security policy, or too little memory",
               "the command in the message, on HOST", kCertain},
    OwnMessage{"its login shell printed TEXT and does not continue",
               "an rc file there waits for something", "ssh HOST true, which must return 0",
               kCertain},
    OwnMessage{"dlaunch itself was still being copied there", "a slow link",
               "--set timeouts.connect=2m, once", kCertain},
    OwnMessage{"no folder there can hold the program",
               "all folders for it are noexec, full or not yours; the reasons follow", "",
               kCertain},
    OwnMessage{"its processor is NAME, but this dlaunch is for NAME",
               "all nodes of a job need the processor that dlaunch was built for", "", kCertain},
    OwnMessage{"no connection within TIME", "the host, or its login shell, does not answer",
               "ssh HOST true; --set timeouts.connect=2m if it is slow", kCertain},

    // While the job runs.
    OwnMessage{"ranks import for themselves", "they start as they would without preload", ""},
    OwnMessage{"after TIME; restart N of N", "all ranks will be restarted",
               "Ctrl-C to end the run"},
    OwnMessage{"HOST has not answered for TIME; it is being reconnected",
               "the connection broke or the node hangs; its ranks go on until "
               "timeouts.fence_after has passed",
               "", kCertain},
    OwnMessage{"no rank made progress for TIME (timeouts.hang)",
               "the job has been silent for that long",
               "dlaunch logs; stacks/ of the run folder shows where ranks stood", kCertain},
    OwnMessage{"the job is making progress again", "after a silence that dlaunch reported", "",
               kCertain},
    OwnMessage{"waiting up to TIME for NODES to answer again",
               "a restart waits for a lost node (timeouts.node_return)", "", kCertain},
    OwnMessage{"SIGKILL does not end RANKS",
               "a process is blocked in the kernel, usually by a file system that does not answer",
               "", kCertain},
    OwnMessage{"the GPU driver reports FAULT",
               "a rank on that node failed after the GPU driver logged this fault; only where the "
               "agent may read /dev/kmsg",
               ""},
    OwnMessage{"the ranks go on, but output that cannot be stored is lost",
               "the disk of the output is full or failing",
               "free space there, or --set logs.dir=DIR", kCertain},
    OwnMessage{"waits for WHAT; Ctrl-C twice ends the job",
               "the file system of the run folder, or of a node's output, does not answer", "",
               kCertain},
    OwnMessage{"[... SIZE skipped, complete in FILE]",
               "the console was too slow; the file has every byte", ""},

    // In the report.
    OwnMessage{"another rank was gone",
               "this rank's error only says that a peer had ended; the cause is elsewhere", ""},
    OwnMessage{"exited with code 0 while others were still NAME", "a rank finished early",
               "the same number of steps on all ranks"},
    OwnMessage{"cause not known", "every rank lost a peer and none had an error of its own",
               "read the output of the ranks that `logs` names"},
    OwnMessage{"the kernel killed the rank: out of memory",
               "the kernel's out-of-memory killer ended the rank",
               "a smaller batch or fewer workers; the limit of the cgroup, if the line names one",
               kCertain},
    OwnMessage{"port N was taken by WHAT",
               "a process outside the job listens on the port where the ranks meet",
               "--set rendezvous.port=auto takes a free one", kCertain},
    OwnMessage{"no sign of life for TIME", "the node is lost: powered off, cut off, or frozen", "",
               kCertain},
    OwnMessage{"this one did not connect to mpirun",
               "the program is not an MPI program, or was built with another MPI", "", kCertain},
    OwnMessage{"exited without having called MPI_Init",
               "the program is not an MPI program, or was built with another MPI",
               "framework: none, if it needs no MPI", kCertain},
    OwnMessage{"stopped by dlaunch", "ended by the stop signal after the first failure", ""},
};

constexpr std::array<std::string_view, 16> kPlaceholders = {
    "DIR",     "FAULT", "FILE",   "HOST", "METHODS", "N",    "NAME", "NODES",
    "PROGRAM", "RANKS", "SCRIPT", "SIZE", "TEXT",    "TIME", "USER", "WHAT"};

/// A piece of a message's text: a placeholder, which stands for the words that differ, or the text
/// between two placeholders.
struct Piece {
  std::string_view text;
  bool is_placeholder = false;
};

/// Removes the next piece from the beginning of `text` and returns it.
Piece take_piece(std::string_view& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = begin;
    while (end < text.size() && is_letter_or_digit(text[end])) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    if (!contains(kPlaceholders, word)) {
      begin = std::max(end, begin + 1);
      continue;
    }
    const bool is_first = begin == 0;
    const Piece piece{text.substr(0, is_first ? end : begin), is_first};
    text.remove_prefix(piece.text.size());
    return piece;
  }
  return {std::exchange(text, {}), false};
}

using Values = std::map<std::string_view, std::string_view>;  // of placeholders

/// What the line has in place of each placeholder that is between two other pieces; nullopt: the
/// line does not match the text.
std::optional<Values> match(std::string_view text, std::string_view line) {
  Values values;
  std::string_view open;  // the placeholder before this piece
  bool is_begun = false;
  while (!text.empty()) {
    const Piece piece = take_piece(text);
    if (piece.is_placeholder) {
      open = piece.text;
      continue;
    }
    const std::size_t at = line.find(piece.text);
    if (at == std::string_view::npos) return std::nullopt;
    if (!open.empty() && is_begun) values.emplace(open, line.substr(0, at));
    line.remove_prefix(at + piece.text.size());
    open = {};
    is_begun = true;
  }
  return values;
}

std::string filled(std::string_view advice, const Values& values) {
  std::string out;
  while (!advice.empty()) {
    const Piece piece = take_piece(advice);
    const auto value = piece.is_placeholder ? values.find(piece.text) : values.end();
    if (value == values.end()) {
      out += piece.text;
    } else {
      out += jobfile::shell_quote(plain_line(value->second));
    }
  }
  return out;
}

}  // namespace

std::span<const OwnMessage> own_messages() {
  return kMessages;
}

std::optional<FoundMessage> find_own_message(std::string_view said, std::string_view host) {
  for (const bool certain : {true, false}) {
    for (const OwnMessage& row : kMessages) {
      if (row.certain != certain) continue;
      for (std::string_view rest = said; !rest.empty();) {
        auto values = match(row.text, take_line(rest));
        if (!values) continue;
        if (host != "HOST") values->emplace("HOST", host);
        return FoundMessage{&row, filled(row.advice, *values)};
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string> connection_advice(const std::vector<HostTrouble>& hosts) {
  constexpr std::size_t kMost = 3;
  std::vector<const OwnMessage*> known;
  std::vector<std::string> lines;
  for (const HostTrouble& one : hosts) {
    const auto found = find_own_message(one.said, one.host);
    if (!found || found->advice.empty() || contains(known, found->row)) continue;
    known.push_back(found->row);
    lines.push_back("try: " + found->advice);
    if (lines.size() == kMost) break;
  }
  return lines;
}

std::string trouble_text(const std::vector<HostTrouble>& hosts) {
  std::vector<std::string> lines;
  lines.reserve(hosts.size());
  for (const HostTrouble& one : hosts) lines.push_back(one.host + ": " + one.said);
  for (std::string& advice : connection_advice(hosts)) lines.push_back(std::move(advice));
  return joined(lines, "\n         ");
}

}  // namespace dlaunch
