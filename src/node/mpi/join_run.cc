#include "node/mpi/join_run.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "node/mpi/join_protocol.h"
#include "os/containment.h"
#include "os/own_machine.h"
#include "os/packet.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

Error cannot(const std::string& what, int error_number) {
  return {exit_code::kPreflight, what + ": " + errno_text(error_number)};
}

/// The socket to Hydra's proxy (MPICH wiki, "PMI-1 wire protocol"); -1 if there is none.
int pmi_descriptor(const Environment& environment) {
  const auto text = find_variable(environment, "PMI_FD");
  int number = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::optional<JoinAnswer> wait_for_answer(int socket) {
  std::vector<UniqueFd> ignored;
  const auto packet = receive_packet(socket, kMostJoinBytes, 0, ignored, true);
  return packet ? decode_join_answer(*packet) : std::nullopt;
}

/// Ends as the rank did, without a second core file.
[[noreturn]] void end_as(const ExitStatus& status) {
  if (!status.signaled) ::_exit(status.value);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(status.value, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::kill(::getpid(), status.value);
  ::_exit(exit_code::kSignalBase + status.value);
}

}  // namespace

Error join_run(const std::string& folder, const Environment& environment) {
  auto joining = joining_from(environment);
  if (!joining) return joining.error();
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed mpirun leaves no proxy behind
  const UniqueFd launcher(open_pidfd(parent));
  if (!launcher || ::getppid() != parent) ::_exit(exit_code::kInternal);
  joining->parent = static_cast<std::uint32_t>(parent);
  joining->cpus = allowed_cpus(0);
  const int pmi = pmi_descriptor(environment);
  joining->has_pmi = pmi >= 0;
  const std::string text = encode(*joining);
  if (text.size() > kMostJoinBytes)
    return cannot("cannot pass on the environment variables that mpirun set", E2BIG);
  const auto socket = connect_packets(join_socket(folder));
  if (!socket) return cannot("dlaunch's agent cannot be reached (" + folder + ')', socket.error());
  std::vector<int> handed{launcher.get()};
  if (joining->has_pmi) handed.push_back(pmi);
  if (!send_packet(socket->get(), text, handed))
    return cannot("cannot tell dlaunch's agent about rank " + std::to_string(joining->rank.value),
                  errno);
  // Only the rank may hold it: when it closes, Hydra knows that the rank has ended.
  if (pmi >= 0) ::close(pmi);
  const auto answer = wait_for_answer(socket->get());
  if (!answer) return {exit_code::kPreflight, "dlaunch's agent ended"};
  if (answer->refused.empty()) end_as(answer->status);
  return {exit_code::kPreflight,
          "rank " + std::to_string(joining->rank.value) + " was not started: " + answer->refused};
}

}  // namespace dlaunch
